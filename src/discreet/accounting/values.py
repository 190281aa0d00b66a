"""Sets of values of one column: ordered keys, cuts between them, and what conditions let through.

Trust: kernel.

Two values that are wrongly held equal, or wrongly ordered, send a charge to the
wrong people.

Definition.  The kinds are number, text, bool, date, datetime (without a time zone) and instant
(with one).  Values of different kinds are never compared.  The key of a number is the exact number
that it denotes: a float stands for its decimal text, so 1, 1.0 and Fraction(1) are one value, and
0.1 is one tenth; infinities are the smallest and the largest number.  Text is ordered by code
points, instants by the moment that they name, whatever their zone.

A cut that is moved moves people into a set or out of it.

Definition.  A cut is a key and a side: 0 lies just below the key, 1 just above.  A rising list of
cuts, with the word whether one starts inside, is a set of points of the line.  In settled form no
cut lies at an end of the line and no two cuts mark the same place, so equal sets have equal cuts.
Nothing lies below minus infinity; NaN lies above infinity.  A bool is True or False.

A set that leaves out a value leaves out the people who have it.

Definition.  The values of one kind lie on a line (:mod:`discreet.accounting.values`).
A set is what lies between cuts (:mod:`discreet.accounting.values`): it is entered and left by
turns, starting inside if ``below`` holds; ``null`` says whether SQL's NULL belongs.  NaN lies above
every number. The form is canonical: sets that hold the same points of the line are equal objects.
Integers, dates and text are held to lie on an unbroken line, so that a set means the same whatever
its column is cast to.

A set that is not ``exact`` merely encloses the set that is meant.  Ranges of text are such: which
text lies between two others depends on the collation of the engine, so they enclose everything but
NULL.  What is left out by such a set may be anything, so its complement encloses everything.

Assumes: engines that hold text to be equal only if its code points are, and that sort NaN above
every number, as DuckDB, PostgreSQL and Spark do.

A condition that is held to let fewer values through than it does leaves people out.

Definition.  The sets are those of :mod:`discreet.accounting.values`.  Each function below
is a condition of SQL; a record whose value makes the condition unknown is not let through.
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
from typing import Any, Final, Self, final

import numpy as np

from discreet.accounting.amounts import stored_fields, undecodable_map
from discreet.errors import InputError, OutOfRange, WrongKind
from discreet.exact import decimal, rational

Key = int | float | Fraction | str | bool | date
"""An exact, ordered stand-in for a value (a datetime is a date to the type checker)."""

KINDS: Final = ("number", "text", "bool", "date", "datetime", "instant")

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "number": (int, Fraction, float),
    "text": (str,),
    "bool": (bool,),
    "date": (date,),
    "datetime": (datetime,),
    "instant": (datetime,),
}
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


def is_key_of_kind(key: object, kind: str) -> bool:
    """Whether a key is one that ``kind_and_key`` gives for this kind."""
    if type(key) not in _TYPES[kind]:
        return False
    match key:
        case float():
            return math.isinf(key)
        case Fraction():
            return key.denominator != 1
        case datetime():
            return key.tzinfo == (UTC if kind == "instant" else None) and key.fold == 0
        case _:
            return True


def encode_key(key: Key) -> str | bool:
    """Return a key as something that JSON keeps exactly."""
    match key:
        case bool() | str():
            return key
        case date():
            return key.isoformat()
        case _:
            return str(key)


def decode_key(text: object, kind: str) -> Key:
    """Read what ``encode_key`` wrote."""
    try:
        key = _read_key(text, kind)
    except (ValueError, InputError):
        key = None
    if key is None or not is_key_of_kind(key, kind) or encode_key(key) != text:
        raise WrongKind(
            f"a stored {kind} is not in its written form; read only what was written by this "
            "library."
        )
    return key


def _read_key(text: object, kind: str) -> Key | None:
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
            return None


def _number(value: object) -> Key:
    if is_nan(value):
        raise OutOfRange(
            "a condition compares with NaN; leave it out: NaN lies above every number, in "
            "at_least() and in above()."
        )
    if _is_infinite(value):
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    return _reduced(decimal(value, name="a value"))


def _is_infinite(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_infinite()
    return isinstance(value, _FLOATS) and math.isinf(value)


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
            "a datetime with a time zone lies outside the years 1 to 9999 of world time; give a "
            "datetime within these years."
        ) from None


Cut = tuple[Any, int]
"""A key, and a side of it."""

Cuts = tuple[Cut, ...]

_LOWEST: Final = (None, 0)
_HIGHEST: Final = (None, 1)


def normalize_cuts(kind: str | None, cuts: Iterable[Cut], *, inside: bool) -> tuple[bool, Cuts]:
    """Bring rising cuts into settled form; also return whether one starts inside."""
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


def are_normalized(kind: str, cuts: Cuts) -> bool:
    """Whether cuts are in settled form; those of text must surround single values."""
    return (
        kind in KINDS
        and all(_is_cut(kind, cut) for cut in cuts)
        and all(here < there for here, there in pairwise(cuts))
        and (kind != "text" or _surround(cuts))
    )


def combine_cuts(
    first: tuple[bool, Cuts], second: tuple[bool, Cuts], rule: Callable[[bool, bool], bool]
) -> tuple[bool, Cuts]:
    """Walk along two sets at once, and change sides wherever the rule does."""
    here, there = first[0], second[0]
    start = now = rule(here, there)
    ours, theirs = set(first[1]), set(second[1])
    cuts = []
    for cut in sorted(ours | theirs):
        here ^= cut in ours
        there ^= cut in theirs
        if rule(here, there) != now:
            now = not now
            cuts.append(cut)
    return start, tuple(cuts)


def describe_cuts(cuts: Cuts, *, inside: bool) -> list[str]:
    """Say which stretches of the line belong."""
    if cuts and inside and _surround(cuts):
        return [f"other than {', '.join(_shown(key) for key, _ in cuts[::2])}"]
    ends: list[Cut | None] = [None] * inside + list(cuts)
    ends += [None] * (len(ends) % 2)
    return [_stretch(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True)]


def encode_cuts(cuts: Cuts) -> list[list[object]]:
    """Return a form that JSON keeps exactly."""
    return [[encode_key(key), side] for key, side in cuts]


def decode_cuts(data: object, kind: str | None) -> Cuts:
    """Read what ``encode_cuts`` wrote; the caller checks that it is in settled form."""
    if not isinstance(data, list) or (kind is not None and kind not in KINDS):
        raise undecodable_map()
    return tuple(_read_cut(item, kind) for item in data)


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


def _is_cut(kind: str, cut: object) -> bool:
    if not isinstance(cut, tuple) or len(cut) != 2:
        return False
    key, side = cut
    return _is_side(side) and is_key_of_kind(key, kind) and _place(kind, cut) == cut


def _is_side(side: object) -> bool:
    return type(side) is int and side in {0, 1}


def _surround(cuts: Cuts) -> bool:
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return len(cuts) % 2 == 0 and all((low[0], 1) == high for low, high in pairs)


def _stretch(low: Cut | None, high: Cut | None) -> str:
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


def _read_cut(data: object, kind: str | None) -> Cut:
    if kind is None or not isinstance(data, list) or len(data) != 2 or not _is_side(data[1]):
        raise undecodable_map()
    return decode_key(data[0], kind), data[1]


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
        if not all(isinstance(flag, bool) for flag in flags) or not _is_canonical(self):
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
        """Whether no value lies in both, for sure.

        >>> from discreet.accounting.values import at_least, below
        >>> below(5).disjoint(at_least(5))
        True
        """
        return (self & other).empty

    def covers(self, other: Values) -> bool:
        """Whether every value of the other lies in this one, for sure.

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


def canonical(
    kind: str | None, cuts: Iterable[Cut], *, inside: bool, null: bool = False, exact: bool = True
) -> Values:
    """Make the set that starts inside or outside, and changes sides at each cut."""
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
            f"a set of values meets a {type(there).__name__}; wrap single values in equals() or "
            "one_of()."
        )
    kind = common_kind(here.kind, there.kind)
    start, cuts = combine_cuts((here.below, here.cuts), (there.below, there.cuts), rule)
    return canonical(
        kind, cuts, inside=start, null=rule(here.null, there.null), exact=here.exact and there.exact
    )


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
