"""Sets of values of one column, and what the conditions of SQL let through.

Trust: kernel.  A set that leaves out a value leaves out the people who have it.

Definition.  The kinds are number, text, bool, date, datetime (without a time zone) and instant
(with one).  Values of different kinds are never compared.  The key of a number is the exact number
that it denotes: a float stands for its decimal text, so 1, 1.0 and Fraction(1) are one value, and
0.1 is one tenth; infinities are the smallest and the largest number.  Text is ordered by code
points, instants by the moment that they name, regardless of their zone.

Definition.  The keys of one kind are on a line.  A cut is a key and a side: 0 is just below the
key, 1 just above.  A set is what is between rising cuts: it is entered and left by turns,
starting inside if ``below`` holds; ``null`` says whether SQL's NULL belongs.  Nothing is below
minus infinity, NaN is above every number, and a bool is True or False.  The form is canonical: no
cut is at an end of the line, and no two cuts mark one place, so that sets that hold the same
points of the line are equal objects.  Integers, dates and text are held to be on an unbroken line,
so that a set means the same regardless of the type its column is cast to.

A set that is not ``exact`` merely encloses the set that is meant.  Ranges of text are such: which
text is between two others depends on the collation of the engine, so they enclose everything but
NULL.  What is left out by such a set may be anything, so its complement encloses everything.

Each function below the class is a condition of SQL; a record whose value makes the condition
unknown is not let through.

Assumes: engines that hold text to be equal only if its code points are, and that sort NaN above
every number, as DuckDB, PostgreSQL and Spark do.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, Self, cast, final

import numpy as np

from discreet.accounting.amounts import require_stored, stored_fields
from discreet.errors import InputError, OutOfRange, WrongKind
from discreet.exact import decimal, rational

Key = int | float | Fraction | str | bool | date
"""An exact, ordered stand-in for a value (a datetime is a date to the type checker)."""

_FLOATS: Final = (float, np.float32, np.float16)
_NUMBERS: Final = (int, np.integer, Fraction, Decimal, *_FLOATS)


def kind_and_key(value: object) -> tuple[str, Key]:
    """Return the kind and the key of a value."""
    match value:
        case bool() | np.bool_():
            return "bool", bool(value)
        case str():
            return "text", str.__str__(value)
        case datetime():
            return _moment(value)
        case date():
            return "date", date(value.year, value.month, value.day)
        case _ if isinstance(value, _NUMBERS):
            return "number", _number(value)
        case _:
            raise WrongKind(
                f"a value is a {type(value).__name__}; give a number, text, a bool, a date or a "
                "datetime; for NULL use is_null()."
            )


def is_nan(value: object) -> bool:
    """Whether a value is not a number in the sense of floats."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, _FLOATS) and math.isnan(value)


def common_kind(first: str | None, second: str | None) -> str | None:
    """Return the kind that two sets share; a set without any value has no kind of its own."""
    if first is not None and second is not None and first != second:
        raise WrongKind(
            f"values of two kinds meet: {first} and {second}; use values of the kind of the "
            "column; dates, datetimes and instants (datetimes with a time zone) are three kinds, "
            "and a bool is not a number."
        )
    return second if first is None else first


def _number(value: object) -> Key:
    if is_nan(value):
        raise OutOfRange(
            "a condition compares with NaN; leave it out: NaN is above every number, in "
            "at_least() and in above()."
        )
    endless = isinstance(value, Decimal) and value.is_infinite()
    if endless or (isinstance(value, _FLOATS) and math.isinf(value)):
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    return _reduced(decimal(value, name="a value"))


def _reduced(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number


def _moment(value: datetime) -> tuple[str, Key]:
    if getattr(value, "nanosecond", 0):
        raise OutOfRange("a datetime has nanoseconds; give datetimes in whole microseconds.")
    plain = datetime.combine(value.date(), value.timetz())
    if plain.tzinfo is None or plain.utcoffset() is None:
        return "datetime", plain.replace(tzinfo=None, fold=0)
    try:
        return "instant", plain.astimezone(UTC).replace(fold=0)
    except OverflowError:
        raise OutOfRange(
            "a datetime with a time zone is outside the years 1 to 9999 of world time; give a "
            "datetime within these years."
        ) from None


Cut = tuple[Any, int]
"""A key, and a side of it."""

Cuts = tuple[Cut, ...]

_LOWEST: Final = (None, 0)
_HIGHEST: Final = (None, 1)


def _normalized(kind: str | None, cuts: Iterable[Cut], *, inside: bool) -> tuple[bool, Cuts]:
    """Bring rising cuts into canonical form; also return whether one starts inside."""
    kept: list[Cut] = []
    for cut in cuts:
        place = _place(kind, cut)
        if place == _LOWEST:
            inside = not inside
        elif kept and kept[-1] == place:
            kept.pop()
        elif place != _HIGHEST:
            kept.append(place)
    return inside, tuple(kept)


def _place(kind: str | None, cut: Cut) -> Cut:
    """Return the one name of a place that has several."""
    match kind, cut:
        case "bool", (False, 0):
            return _LOWEST
        case "bool", (False, 1):
            return (True, 0)
        case "bool", (True, 1):
            return _HIGHEST
        case "number", (key, 0) if key == -math.inf:
            return _LOWEST
        case _:
            return cut


def _is_canonical(kind: str, cuts: Cuts) -> bool:
    """Whether cuts are in canonical form; those of text must surround single values."""
    return (
        all(_is_cut(kind, cut) for cut in cuts)
        and all(here < there for here, there in pairwise(cuts))
        and _normalized(kind, cuts, inside=False) == (False, cuts)
        and (kind != "text" or _surround(cuts))
    )


def _is_cut(kind: str, cut: object) -> bool:
    match cut:
        case (key, side) if type(side) is int and side in {0, 1}:
            found = kind_and_key(key)
            return found == (kind, key) and type(found[1]) is type(key)
        case _:
            return False


def _surround(cuts: Cuts) -> bool:
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return len(cuts) % 2 == 0 and all((low[0], 1) == high for low, high in pairs)


def _stretch(low: Cut | None, high: Cut | None) -> str:
    """Say which values are between two cuts."""
    match low, high:
        case (key, 0), (other, 1) if key == other:
            return _shown(key)
        case None, (key, side):
            return f"{('below', 'up to')[side]} {_shown(key)}"
        case (key, side), None:
            return f"{('from', 'above')[side]} {_shown(key)}"
        case (key, side), (other, end):
            start = f"{('from', 'above')[side]} {_shown(key)}"
            return f"{start} {('to below', 'to')[end]} {_shown(other)}"
        case _:
            return "not NULL"


def _shown(key: object) -> str:
    return repr(key) if isinstance(key, str) else str(key)


def encode_cuts(cuts: Iterable[Cut]) -> list[list[object]]:
    """Return a form that JSON keeps exactly."""
    return [
        [
            key
            if isinstance(key, bool | str)
            else key.isoformat()
            if isinstance(key, date)
            else str(key),
            side,
        ]
        for key, side in cuts
    ]


def decode_cuts(data: object, kind: str | None) -> Cuts:
    """Read what ``encode_cuts`` wrote, and refuse everything else."""
    try:
        cuts = tuple((_read_key(text, kind), side) for text, side in cast("Any", data))
        known = (not cuts if kind is None else _is_canonical(kind, cuts)) and isinstance(data, list)
    except (ValueError, TypeError, InputError):
        known = False
    require_stored(known and encode_cuts(cuts) == data)
    return cuts


def _read_key(text: object, kind: str | None) -> Key:
    match kind, text:
        case ("bool", bool(key)) | ("text", str(key)):
            return key
        case "number", "inf" | "-inf":
            return float(text)
        case "number", str():
            return _reduced(rational(text, name="a stored number"))
        case "date", str():
            return date.fromisoformat(text)
        case "datetime" | "instant", str():
            return datetime.fromisoformat(text)
        case _:
            raise ValueError(kind)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A set of values of one column.

    >>> from discreet.accounting.values import at_least, below
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
        known = isinstance(self.cuts, tuple) and (self.kind is None) == (not self.cuts)
        if self.kind is None:
            known = known and (self.exact or not self.empty)
        else:
            known = known and _is_canonical(self.kind, self.cuts)
        if not known or not all(isinstance(flag, bool) for flag in flags):
            raise WrongKind(
                "a set of values is not in canonical form; make sets with equals, one_of, "
                "between and their kin."
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
        """Whether no value is in both, for sure.

        >>> from discreet.accounting.values import at_least, below
        >>> below(5).disjoint(at_least(5))
        True
        """
        return (self & other).empty

    def covers(self, other: Values) -> bool:
        """Whether every value of the other is in this one, for sure.

        >>> from discreet.accounting.values import at_least, between
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
        ends: list[Cut | None] = [None] * self.below + list(self.cuts)
        ends += [None] * (len(ends) % 2)
        text = ", ".join(map(_stretch, ends[::2], ends[1::2]))
        if self.cuts and self.below and _surround(self.cuts):
            text = f"other than {', '.join(_shown(key) for key, _ in self.cuts[::2])}"
        if self.kind == "bool":  # one cut, between False and True
            text = str(not self.below)
        if self.null:
            text = f"{text}, or NULL" if text else "NULL"
        text = "anything" if self.region.is_anything else text or "nothing"
        return text if self.exact else f"perhaps {text}"

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly.

        >>> from discreet.accounting.values import equals
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

        >>> from discreet.accounting.values import equals
        >>> Values.read(equals(0.1).written()) == equals(0.1)
        True
        """
        stored = stored_fields(data, "kind", "below", "cuts", "null", "exact")
        return cls(**{**stored, "cuts": decode_cuts(stored["cuts"], stored["kind"])})


def _canonical(
    kind: str | None, cuts: Iterable[Cut], *, inside: bool, null: bool = False, exact: bool = True
) -> Values:
    """Make the set that starts inside or outside, and changes sides at each cut."""
    start, kept = _normalized(kind, cuts, inside=inside)
    return Values(
        kind=kind if kept else None,
        below=start,
        cuts=kept,
        null=null,
        exact=exact or not (kept or start or null),
    )


def _combined(here: Values, there: Values, rule: Callable[[bool, bool], bool]) -> Values:
    if not isinstance(there, Values):
        raise WrongKind(
            f"a set of values meets a {type(there).__name__}; wrap single values in equals() or "
            "one_of()."
        )
    kind = common_kind(here.kind, there.kind)
    one, other = here.below, there.below
    start = now = rule(one, other)
    ours, theirs = set(here.cuts), set(there.cuts)
    cuts = []
    for cut in sorted(ours | theirs):  # change sides wherever the rule does
        one ^= cut in ours
        other ^= cut in theirs
        if rule(one, other) != now:
            now = not now
            cuts.append(cut)
    null, exact = rule(here.null, there.null), here.exact and there.exact
    return _canonical(kind, cuts, inside=start, null=null, exact=exact)


ANYTHING: Final = Values(below=True, null=True)
"""The set that lets everything through, NULL included."""


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
    return _canonical(kind, cuts, inside=False)


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
    return _canonical(kind, cuts, inside=low is None)
