"""Conditions on one column, as the sets of values that they let through.

Trust: kernel.  A condition that is held to let fewer values through than it does leaves people out.

Definition.  The sets are those of :mod:`discreet.accounting.scopes.value_set`.  Each function below
is a condition of SQL; a record whose value makes the condition unknown is not let through.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.accounting.scopes.cuts import Cut
from discreet.accounting.scopes.ordered_keys import Key, common_kind, kind_and_key
from discreet.accounting.scopes.value_set import ANYTHING, Values, canonical

__all__ = [
    "Values",
    "above",
    "anything",
    "at_least",
    "at_most",
    "below",
    "between",
    "but_not",
    "equals",
    "is_not_null",
    "is_null",
    "nothing",
    "one_of",
]


def equals(value: object) -> Values:
    """Let one value through.

    >>> 1.0 in equals(1)
    True
    """
    return one_of(value)


def one_of(*values: object) -> Values:
    """Let each of these values through (SQL's IN; NULL is never in a list).

    >>> one_of("CA", "NY") == equals("CA") | equals("NY")
    True
    """
    kind: str | None = None
    keys: set[Key] = set()
    for value in values:
        here, key = kind_and_key(value)
        kind = common_kind(kind, here)
        keys.add(key)
    cuts = [(key, side) for key in sorted(keys) for side in (0, 1)]
    return canonical(kind, cuts, inside=False)


def between(low: object, high: object) -> Values:
    """Let everything from one value to another through, both included.

    >>> print(between(18, 64))
    from 18 to 64
    """
    return _range((low, 0), (high, 1))


def at_least(low: object) -> Values:
    """Let a value and everything above it through, with NaN.

    >>> float("nan") in at_least(3)
    True
    """
    return _range((low, 0), None)


def above(low: object) -> Values:
    """Let everything above a value through, with NaN.

    >>> 3 in above(3)
    False
    """
    return _range((low, 1), None)


def at_most(high: object) -> Values:
    """Let a value and everything below it through.

    >>> 3 in at_most(3)
    True
    """
    return _range(None, (high, 1))


def below(high: object) -> Values:
    """Let everything below a value through.

    >>> 3 in below(3)
    False
    """
    return _range(None, (high, 0))


def is_null() -> Values:
    """Let NULL through, and nothing else.

    >>> None in is_null()
    True
    """
    return Values(null=True)


def is_not_null() -> Values:
    """Let everything but NULL through.

    >>> print(is_not_null())
    not NULL
    """
    return Values(below=True)


def anything() -> Values:
    """Let everything through, NULL included.

    >>> anything() == is_null() | is_not_null()
    True
    """
    return ANYTHING


def nothing() -> Values:
    """Let nothing through.

    >>> nothing() == ~anything()
    True
    """
    return Values()


def but_not(values: Values) -> Values:
    """Let through what SQL's NOT lets through: the other values, and never NULL.

    Right for conditions that are unknown when the value is NULL: comparisons, BETWEEN, IN, and
    what AND and OR make of them.  ``NOT (x IS NOT NULL)`` is not such a condition; the complement
    ``~values`` encloses every kind of NOT.

    >>> print(but_not(between(18, 64)))
    below 18, above 64
    """
    rest = ~values
    return replace(rest, null=rest.null and rest == is_null())


def _range(low: tuple[object, int] | None, high: tuple[object, int] | None) -> Values:
    """Let everything between two ends through; without an end, everything on that side."""
    kind: str | None = None
    cuts: list[Cut] = []
    for end in (low, high):
        if end is not None:
            here, key = kind_and_key(end[0])
            kind = common_kind(kind, here)
            cuts.append((key, end[1]))
    if kind == "text":
        return replace(is_not_null(), exact=False)
    if len(cuts) == 2 and cuts[0] > cuts[1]:
        return nothing()
    return canonical(kind, cuts, inside=low is None)
