"""Sets of values of one column: what a condition on that column lets through.

Trust: kernel.  A set that leaves out a value leaves out the people who have it.

Definition.  The values of one kind lie on a line (:mod:`discreet.accounting.scopes.ordered_keys`).
A set is what lies between cuts (:mod:`discreet.accounting.scopes.cuts`): it is entered and left by
turns, starting inside if ``below`` holds; ``null`` says whether SQL's NULL belongs.  NaN lies above
every number. The form is canonical: sets that hold the same points of the line are equal objects.
Integers, dates and text are held to lie on an unbroken line, so that a set means the same whatever
its column is cast to.

A set that is not ``exact`` merely encloses the set that is meant.  Ranges of text are such: which
text lies between two others depends on the collation of the engine, so they enclose everything but
NULL.  What is left out by such a set may be anything, so its complement encloses everything.

Assumes: engines that hold text to be equal only if its code points are, and that sort NaN above
every number, as DuckDB, PostgreSQL and Spark do.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Self, final

from discreet.accounting.scopes.cuts import (
    Cut,
    are_normalized,
    combine_cuts,
    decode_cuts,
    describe_cuts,
    encode_cuts,
    normalize_cuts,
)
from discreet.accounting.scopes.ordered_keys import common_kind, is_nan, kind_and_key
from discreet.accounting.storage.decoding import stored_fields
from discreet.errors import WrongKind


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A set of values of one column.

    >>> from discreet.accounting.scopes.column_conditions import at_least, below
    >>> adults = at_least(18) & below(65)
    >>> 18 in adults, 65 in adults, None in adults
    (True, False, False)
    >>> (adults | at_least(65)) == at_least(18)
    True
    >>> print(~adults)
    below 18, from 65, or NULL
    """

    kind: str | None = None
    below: bool = False
    cuts: tuple[Cut, ...] = ()
    null: bool = False
    exact: bool = True

    def __post_init__(self) -> None:
        """Refuse what is not in canonical form."""
        flags = (self.below, self.null, self.exact)
        if not all(isinstance(flag, bool) for flag in flags) or not _is_canonical(self):
            raise WrongKind(
                what="a set of values is not in canonical form.",
                why="sets are compared, merged and stored in one form only.",
                do="make sets with equals, one_of, between and their kin.",
            )

    @property
    def empty(self) -> bool:
        """Whether nothing belongs, not even NULL."""
        return not (self.cuts or self.below or self.null)

    @property
    def is_anything(self) -> bool:
        """Whether everything is let through, NULL included, for sure."""
        return self.below and not self.cuts and self.null and self.exact

    @property
    def region(self) -> Values:
        """The same set, held to be exact: where a charge goes, however the set came about."""
        return self if self.exact else replace(self, exact=True)

    @property
    def widened(self) -> Values:
        """A set that encloses this one and everything else."""
        return Values(below=True, null=True, exact=self.is_anything)

    def disjoint(self, other: Values) -> bool:
        """Whether no value lies in both, for sure.

        >>> from discreet.accounting.scopes.column_conditions import at_least, below
        >>> below(5).disjoint(at_least(5))
        True
        """
        return (self & other).empty

    def covers(self, other: Values) -> bool:
        """Whether every value of the other lies in this one, for sure.

        >>> from discreet.accounting.scopes.column_conditions import at_least, between
        >>> at_least(18).covers(between(20, 30))
        True
        """
        return other.empty or (self.exact and other.disjoint(~self))

    def __contains__(self, value: object) -> bool:
        """Whether a value may belong; None stands for NULL."""
        if value is None:
            return self.null
        if is_nan(value):
            common_kind(self.kind, "number")
            return self.below == (len(self.cuts) % 2 == 0)
        kind, key = kind_and_key(value)
        common_kind(self.kind, kind)
        return self.below == (bisect_right(self.cuts, (key, 0)) % 2 == 0)

    def __and__(self, other: Values) -> Values:
        return _combined(self, other, operator.and_)

    def __or__(self, other: Values) -> Values:
        return _combined(self, other, operator.or_)

    def __invert__(self) -> Values:
        if not self.exact:
            return Values(below=True, null=True, exact=False)
        return replace(self, below=not self.below, null=not self.null)

    def __str__(self) -> str:
        """Say which values belong."""
        text = ", ".join(describe_cuts(self.cuts, inside=self.below))
        if self.kind == "bool":  # one cut, between False and True
            text = str(not self.below)
        if self.null:
            text = f"{text}, or NULL" if text else "NULL"
        text = "anything" if self.region.is_anything else text or "nothing"
        return text if self.exact else f"perhaps {text}"

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly.

        >>> from discreet.accounting.scopes.column_conditions import equals
        >>> equals("CA").written()["cuts"]
        [['CA', 0], ['CA', 1]]
        """
        return {
            "kind": self.kind,
            "below": self.below,
            "cuts": encode_cuts(self.cuts),
            "null": self.null,
            "exact": self.exact,
        }

    @classmethod
    def read(cls, data: object) -> Self:
        """Read what ``written`` wrote, and refuse everything else.

        >>> from discreet.accounting.scopes.column_conditions import equals
        >>> Values.read(equals(0.1).written()) == equals(0.1)
        True
        """
        stored = stored_fields(data, "kind", "below", "cuts", "null", "exact")
        return cls(**{**stored, "cuts": decode_cuts(stored["cuts"], stored["kind"])})


def canonical(
    kind: str | None, cuts: Iterable[Cut], *, inside: bool, null: bool = False, exact: bool = True
) -> Values:
    """Make the set that starts inside or outside, and changes sides at each cut.

    >>> canonical("bool", [(False, 0), (True, 1)], inside=False) == Values(below=True)
    True
    """
    start, kept = normalize_cuts(kind, cuts, inside=inside)
    return Values(
        kind=kind if kept else None,
        below=start,
        cuts=kept,
        null=null,
        exact=exact or not (kept or start or null),
    )


def _is_canonical(values: Values) -> bool:
    """Whether the fields are what ``canonical`` makes of them."""
    if not isinstance(values.cuts, tuple) or (values.kind is None) != (not values.cuts):
        return False
    if values.kind is None:
        return values.exact or not values.empty
    return are_normalized(values.kind, values.cuts)


def _combined(here: Values, there: Values, rule: Callable[[bool, bool], bool]) -> Values:
    if not isinstance(there, Values):
        raise WrongKind(
            what=f"a set of values meets a {type(there).__name__}.",
            why="only sets of values can be joined and cut with each other.",
            do="wrap single values in equals() or one_of().",
        )
    kind = common_kind(here.kind, there.kind)
    start, cuts = combine_cuts((here.below, here.cuts), (there.below, there.cuts), rule)
    return canonical(
        kind, cuts, inside=start, null=rule(here.null, there.null), exact=here.exact and there.exact
    )


ANYTHING: Final = Values(below=True, null=True)
"""The set that lets everything through, NULL included."""
