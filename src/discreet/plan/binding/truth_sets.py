"""Truth sets: for which values of a column a condition can be true, false or NULL.

Trust: kernel.  A value that is missing from a set leaves out the people who have it.  What a
condition made from a set lets through is what a scope charges for.

Definition.  For a column of a type and a condition on it alone, :class:`ComparedValues` holds three
sets that enclose the values for which the condition is true, false and NULL.
A comparison with NULL is always NULL.  NULL compared with any other literal is NULL, and every
other value makes the comparison true or false.  A FLOAT that is not finite is read as NULL, so no
NaN is ever compared.  A FLOAT is compared with the nearest FLOAT.  An INTEGER that is compared with
a number that is not whole becomes a FLOAT first, and so does that number: 3 is equal to
3.0000000000000000001.  INTEGERs up to 2**53 are exact as FLOATs, and larger ones stay beyond them,
so a literal below 2**52 divides INTEGERs as the FLOAT next to it does.  Of a comparison with a
larger one nothing is said.  Ranges of text depend on how an engine sorts text: nothing is said of
them, except that NULL is in none.

Definition.  The condition is a disjunction of comparisons of one column with literals of its own
type, and perhaps IS NULL.
Theorem (key ``membership``).  For every value that a column of the type can have, the condition is
true if the value is in the set, and false or NULL otherwise.
Proof.  A set is made of stretches between cuts.  A value is in a stretch if it is between the
first and the last value of its type there; both are literals that the type holds exactly, so no
engine rounds them.  Texts are only ever compared for equality.  No literal is NULL, so for a value
that is not NULL every comparison is true or false; for NULL each of them is NULL, and the condition
is true only if IS NULL is among its parts.  FLOATs are finite, because what is not finite is read
as NULL; zero has one value, regardless of its sign.

Definition.  A *region* names columns, and for each of them the values that it may have; columns
that are not named may have any value.  None is the region that nothing is in.  The *truth sets*
of a condition are three regions: every row for which the condition is true is in ``true``, every
row for which it is false in ``false``, and every row for which it is NULL in ``null``.  Regions may
overlap, because each is an upper bound and none is the complement of another.
Theorem (key ``truth-sets``).  The truth sets of a condition enclose the rows for which it is true,
false and NULL.
Proof, by induction.  Comparisons of one column with literals are in
:mod:`discreet.plan.binding.truth_sets`.  NOT exchanges the first two regions.  IS TRUE, IS FALSE
and IS NULL are true on one region, false on the hull of the other two, and never NULL.  AND is true
only if both arguments are, false only if one of them is, and NULL only if one is NULL and
the other is NULL or true; OR is AND with true and false exchanged.  Every other expression has
three regions that hold everything.

Definition.  A unit is in the box if its values in the columns that all its rows share satisfy
every condition of the box.  If each row is a unit, its rows share all columns.
Only units with an output row count.  A row passes a filter only if its predicate is true, and then
the row is in the true set of the predicate (key ``truth-sets``).  If a condition of that set is
on an unchanged column of a private table, in which all rows of the unit agree, then the unit's
value satisfies it, and the condition is taken into the box.  Everything else is left out, which
makes the box larger.  If the true set is empty, no row passes, and the box is empty.
An inner join has output rows only for units that have rows on both sides, an outer join for those
of a side that is kept, and a union for those of any part: there the box is kept only if all
parts agree.
Columns stand in the box under names that say what they are read from, and how
(:mod:`discreet.accounting.box`); those that name the unit have one name in all
tables.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

from discreet.accounting import Box
from discreet.accounting.values import (
    Cut,
    Values,
    above,
    anything,
    at_least,
    at_most,
    below,
    between,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.plan.binding.value_facts import Facts
from discreet.query.expressions import Call, Column, Expression, Literal
from discreet.query.types import LARGEST, SMALLEST, Scalar, Type

_RANGES: Final[dict[str, Callable[[object], Values]]] = {
    "=": equals,
    "<>": lambda value: is_not_null() & ~equals(value),
    "<": below,
    "<=": at_most,
    ">": above,
    ">=": at_least,
}
_NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SAFE: Final = 2**52
_HUGE: Final = 2**1000


@final
class ComparedValues(NamedTuple):
    """Sets of values of one column that enclose where a condition is true, false and NULL."""

    true: Values
    false: Values
    null: Values


_NULL: Final = ComparedValues(nothing(), nothing(), anything())
"""A condition that is NULL regardless of the value."""


def compared_values(sign: str, value: Scalar, kind: Type) -> ComparedValues | None:
    """Return where a column of a type compares with a literal, or None if that is unclear.

    >>> print(compared_values("<", 5, Type.INTEGER).false)
    from 5
    """
    if value is None:
        return _NULL
    effective = _effective(value, kind)
    if effective is None:
        return None
    return ComparedValues(_RANGES[sign](effective), _RANGES[_NEGATED[sign]](effective), is_null())


def listed_values(items: Sequence[Expression], kind: Type) -> ComparedValues | None:
    """Return where a column of a type equals one of some literals, or None if that is unclear.

    A value that equals none of them is not in the list, unless NULL is listed: then it is unknown
    whether it is.  One number that is not whole makes FLOATs of all of them.

    >>> print(listed_values([Literal(1), Literal(None)], Type.INTEGER).null)
    other than 1, or NULL
    """
    literals = [item.value for item in items if isinstance(item, Literal)]
    if len(literals) != len(items):
        return None
    as_floats = any(isinstance(value, Fraction) for value in literals)
    values: list[Scalar] = []
    for literal in literals:
        if literal is not None:
            value = _effective(_as_fraction(literal) if as_floats else literal, kind)
            if value is None:
                return None
            values.append(value)
    listed = one_of(*values)
    others = is_not_null() & ~listed
    if None in literals:
        return ComparedValues(listed, nothing(), others | is_null())
    return ComparedValues(listed, others, is_null())


def _effective(value: Scalar, kind: Type) -> Scalar:
    """Return the value with which a column is compared in effect, or None if that is unclear."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value
    if kind is Type.INTEGER and isinstance(value, int):
        return value
    limit = _SAFE if kind is Type.INTEGER else _HUGE
    return Fraction(float(value)) if abs(Fraction(value)) < limit else None


def _as_fraction(value: Scalar) -> Scalar:
    """Return a whole number in the form that is compared as a FLOAT."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return Fraction(value) if whole else value  # type: ignore[arg-type]


_KINDS: Final = {
    Type.INTEGER: "number",
    Type.FLOAT: "number",
    Type.TEXT: "text",
    Type.BOOLEAN: "bool",
    Type.DATE: "date",
    Type.TIMESTAMP: "datetime",
}
_ENDS: Final[dict[Type, tuple[Any, Any]]] = {
    Type.INTEGER: (SMALLEST, LARGEST),
    Type.FLOAT: (-Fraction(sys.float_info.max), Fraction(sys.float_info.max)),
    Type.BOOLEAN: (False, True),
    Type.DATE: (date.min, date.max),
    Type.TIMESTAMP: (datetime.min, datetime.max),  # noqa: DTZ901 (moments have no time zone here)
}
"""The first and the last value of each type that has an order."""

_STEPS: Final = {
    Type.BOOLEAN: 1,
    Type.DATE: timedelta(days=1),
    Type.TIMESTAMP: timedelta(microseconds=1),
}


def membership(column: str, kind: Type, values: Values) -> Expression | None:
    """Return the condition that a column of a type holds one of some values.

    None stands for a set of values of another kind, which no column of this type can be held
    against.  ``Literal(False)`` stands for a set that holds no value of the type.

    >>> from discreet.accounting.values import above, between, equals, is_null
    >>> from discreet.query.expression_text import said
    >>> said(membership("age", Type.INTEGER, between(17.5, 64)))
    'age >= 18 AND age <= 64'
    >>> said(membership("sex", Type.TEXT, equals("f") | is_null()))
    "sex IN ('f') OR sex IS NULL"
    >>> membership("sex", Type.TEXT, above(3)) is None
    True
    """
    if values.kind not in {None, _KINDS[kind]}:
        return None
    held = Column(column)
    parts = list(_parts(held, kind, values))
    if values.null:
        parts.append(Call("IS NULL", (held,)))
    if not parts:
        return Literal(False)
    return parts[0] if len(parts) == 1 else Call("OR", tuple(parts))


def _parts(column: Column, kind: Type, values: Values) -> Iterator[Expression]:
    """Yield conditions: one of them holds for each value of the set, and none for another."""
    if not values.cuts:
        if values.below:
            yield _negated(Call("IS NULL", (column,)))
    elif kind is Type.TEXT:  # cuts surround single texts
        texts = Call("IN", (column, *(Literal(key) for key, _ in values.cuts[::2])))
        yield _negated(texts) if values.below else texts
    else:
        stretches = [_stretch(kind, low, high) for low, high in _pairs(values)]
        ranges = [ends for ends in stretches if ends is not None]
        single = [Literal(first) for first, last in ranges if first == last]
        if single:
            yield Call("IN", (column, *single))
        for first, last in ranges:
            if first != last:
                yield _between(column, kind, first, last)


def _negated(condition: Expression) -> Expression:
    return Call("NOT", (condition,))


def _pairs(values: Values) -> Iterator[tuple[Cut | None, Cut | None]]:
    """Yield the cuts at which the set is entered and left; None is an end of the line."""
    ends: list[Cut | None] = [*([None] if values.below else []), *values.cuts]
    ends += [None] * (len(ends) % 2)
    yield from zip(ends[::2], ends[1::2], strict=True)


def ends_of(kind: Type, values: Values) -> tuple[Any, Any] | None:
    """Return the first and the last value of a type in a set; None for an end that is open.

    >>> from discreet.accounting.values import above
    >>> ends_of(Type.INTEGER, above(5))
    (6, None)
    """
    if kind not in _ENDS or values.kind not in {None, _KINDS[kind]}:
        return None
    found = [ends for low, high in _pairs(values) if (ends := _stretch(kind, low, high))]
    if not found:
        return None
    first, last = found[0][0], found[-1][1]
    smallest, largest = _ENDS[kind]
    return None if first == smallest else first, None if last == largest else last


def _stretch(kind: Type, low: Cut | None, high: Cut | None) -> tuple[Any, Any] | None:
    """Return the first and the last value of a type between two cuts, if there is one."""
    smallest, largest = _ENDS[kind]
    first = smallest if low is None else _nearest(kind, low[0], up=True, strict=low[1] == 1)
    last = largest if high is None else _nearest(kind, high[0], up=False, strict=high[1] == 0)
    return None if first is None or last is None or first > last else (first, last)


def _nearest(kind: Type, key: Any, *, up: bool, strict: bool) -> Any:
    """Return the nearest value of a type at or above a key, or at or below it, if there is one.

    If ``strict``, the key itself does not count.
    """
    smallest, largest = _ENDS[kind]
    last = largest if up else smallest
    if (key > last if up else key < last) or (strict and key == last):
        return None
    if not smallest <= key <= largest:
        return smallest if up else largest
    if kind is Type.INTEGER:
        whole = math.ceil(key) if up else math.floor(key)
        return whole + (1 if up else -1) if strict and whole == key else whole
    if kind is Type.FLOAT:
        return _nearest_float(key, up=up, strict=strict)
    if not strict:
        return key
    moved = key + _STEPS[kind] if up else key - _STEPS[kind]
    return bool(moved) if kind is Type.BOOLEAN else moved


def _nearest_float(key: Fraction, *, up: bool, strict: bool) -> Fraction:
    near = float(key)
    short = Fraction(near) < key if up else Fraction(near) > key
    if short or (strict and Fraction(near) == key):
        near = math.nextafter(near, math.inf if up else -math.inf)
    return Fraction(near)


def _between(column: Column, kind: Type, first: Any, last: Any) -> Expression:
    smallest, largest = _ENDS[kind]
    parts = []
    if first > smallest:
        parts.append(Call(">=", (column, Literal(first))))
    if last < largest:
        parts.append(Call("<=", (column, Literal(last))))
    if not parts:
        return _negated(Call("IS NULL", (column,)))
    return parts[0] if len(parts) == 1 else Call("AND", tuple(parts))


Region = Mapping[str, Values] | None
"""What each column may hold; None if nothing is in the region."""

_EVERYWHERE: Final[Region] = {}
"""The region of all rows."""

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Signs with their sides exchanged."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TruthSets:
    """Three regions that enclose where a condition is true, false and NULL.

    >>> TruthSets(true={}, false=None, null=None).true
    {}
    """

    true: Region
    false: Region
    null: Region


_UNKNOWN: Final = TruthSets(true=_EVERYWHERE, false=_EVERYWHERE, null=_EVERYWHERE)


def truth_sets(  # noqa: PLR0911  one for each kind of condition
    condition: Expression, facts: Mapping[str, Facts]
) -> TruthSets:
    """Return regions that enclose where a condition over columns is true, false and NULL.

    >>> born = {"born": Facts(type=Type.INTEGER)}
    >>> differs = Call("<>", (Column("born"), Literal(5)))
    >>> found = truth_sets(Call("NOT", (Call("IS TRUE", (differs,)),)), born)
    >>> print(found.true["born"])
    5, or NULL
    """
    match condition:
        case Literal(value=None):
            return TruthSets(true=None, false=None, null=_EVERYWHERE)
        case Literal(value=True):
            return _two_valued(_EVERYWHERE, None)
        case Literal(value=False):
            return _two_valued(None, _EVERYWHERE)
        case Column(name=name) if facts[name].type is Type.BOOLEAN:
            return _about(name, ComparedValues(equals(True), equals(False), is_null()))
        case Call(function="AND", arguments=parts):
            return _all([truth_sets(part, facts) for part in parts])
        case Call(function="OR", arguments=parts):
            return _not(_all([_not(truth_sets(part, facts)) for part in parts]))
        case Call(function="NOT" | "IS TRUE" | "IS FALSE" as word, arguments=(inner,)):
            return _turned(word, truth_sets(inner, facts))
        case Call(function="IS NULL" as word, arguments=(Call() | Literal() as inner,)):
            return _turned(word, truth_sets(inner, facts))
        case _:
            looked, compared = compared_with_literals(
                condition, lambda node: facts[node.name].type if isinstance(node, Column) else None
            )
            return _about(looked.name, compared) if isinstance(looked, Column) else _UNKNOWN


def compared_with_literals(
    condition: Expression, type_of: Callable[[Expression], Type | None]
) -> tuple[Expression, ComparedValues | None]:
    """Return what a condition compares with literals, and where that is true, false and NULL.

    None stands for any other condition, and for what has no type.
    """
    match condition:
        case Call(function="IS NULL", arguments=(looked,)):
            return looked, ComparedValues(is_null(), is_not_null(), nothing())
        case Call(function="IN", arguments=(looked, *items)) if kind := type_of(looked):
            return looked, listed_values(items, kind)
        case Call(function=sign, arguments=(looked, Literal(value=value))) if sign in _RANGES:
            kind = type_of(looked)
        case Call(function=sign, arguments=(Literal(value=value), looked)) if sign in _RANGES:
            sign, kind = _FLIPPED.get(sign, sign), type_of(looked)
        case _:
            return condition, None
    return looked, None if kind is None else compared_values(sign, value, kind)


def _about(column: str, compared: ComparedValues | None) -> TruthSets:
    """Return the truth sets of a condition on one column, or None if nothing is known of it."""
    if compared is None:
        return _UNKNOWN
    true, false, null = (_checked({column: values}) for values in compared)
    return TruthSets(true=true, false=false, null=null)


def _turned(word: str, inner: TruthSets) -> TruthSets:
    match word:
        case "NOT":
            return _not(inner)
        case "IS TRUE":
            return _two_valued(inner.true, _either(inner.false, inner.null))
        case "IS FALSE":
            return _two_valued(inner.false, _either(inner.true, inner.null))
        case _:
            return _two_valued(inner.null, _either(inner.true, inner.false))


def _two_valued(true: Region, false: Region) -> TruthSets:
    return TruthSets(true=true, false=false, null=None)


def _not(inner: TruthSets) -> TruthSets:
    return TruthSets(true=inner.false, false=inner.true, null=inner.null)


def _all(parts: Sequence[TruthSets]) -> TruthSets:
    """Return the AND of all parts, by halves: long lists of values are merged few times."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _and(_all(parts[:middle]), _all(parts[middle:]))


def _and(left: TruthSets, right: TruthSets) -> TruthSets:
    return TruthSets(
        true=_both(left.true, right.true),
        false=_either(left.false, right.false),
        null=_either(
            _both(left.null, _either(right.null, right.true)), _both(left.true, right.null)
        ),
    )


def _both(one: Region, other: Region) -> Region:
    """Return the region of rows that are in both."""
    if one is None or other is None:
        return None
    shared = {name: one[name] & other[name] for name in one.keys() & other.keys()}
    return _checked({**one, **other, **shared})


def _either(one: Region, other: Region) -> Region:
    """Return a region that encloses both."""
    if one is None or other is None:
        return other if one is None else one
    return _checked({name: one[name] | other[name] for name in one if name in other})


def _checked(region: Mapping[str, Values]) -> Region:
    """Return a region without columns that may hold anything; None if a column can hold nothing."""
    if any(values.empty for values in region.values()):
        return None
    return {name: values for name, values in region.items() if not values.region.is_anything}


def narrowed(predicate: Expression, facts: Mapping[str, Facts]) -> dict[str, Facts]:
    """Return what is known of columns in rows for which a predicate is true, if it is more.

    Bounds that a condition gives are enforced like declared ones: values are clamped to them, which
    moves no value of a row that passed.  If a condition contradicts what is declared, or leaves
    a single value, bounds stay as they are.

    >>> between = Call("AND", (Call(">", (Column("x"), Literal(0))),
    ...     Call("<=", (Column("x"), Literal(9)))))
    >>> narrowed(between, {"x": Facts(type=Type.INTEGER)})["x"].bounds
    (Fraction(1, 1), Fraction(9, 1))
    """
    region = truth_sets(predicate, facts).true or {}
    found = {}
    for name, values in region.items():
        known = replace(facts[name], nullable=facts[name].nullable and values.null)
        ends = ends_of(known.type, values)
        if ends is not None and known.type.is_number:
            low, high = (None if end is None else Fraction(end) for end in ends)
            low = max((end for end in (low, known.low) if end is not None), default=None)
            high = min((end for end in (high, known.high) if end is not None), default=None)
            if low is None or high is None or low < high:
                known = replace(known, low=low, high=high)
        elif ends is not None and known.type in {Type.DATE, Type.TIMESTAMP}:
            known = replace(known, days=_days(ends, known.days))
        found[name] = known
    return found


def _days(ends: tuple[Any, Any], known: tuple[date, date] | None) -> tuple[date, date] | None:
    """Return the days between which a moment lies, if both are known."""
    days = [end.date() if isinstance(end, datetime) else end for end in ends]
    if known is not None:
        first, last = (days[0] or known[0]), (days[1] or known[1])
        days = [max(first, known[0]), min(last, known[1])]
    if days[0] is None or days[1] is None:
        return known
    return (days[0], days[1]) if days[0] <= days[1] else known


def scope_box(
    predicate: Expression, facts: Mapping[str, Facts], unit: tuple[str, ...] | None
) -> Box:
    """Return what a predicate says about the units of a private relation, by their own columns.

    The columns are those of private tables that all rows of a unit share: those that name it, and
    constant ones; if each row is a unit (``unit`` is empty), all of them.

    >>> from discreet.plan.binding.value_facts import ColumnSource
    >>> from discreet.query.expressions import Call, Column, Literal
    >>> from discreet.query.types import Type
    >>> ward = Facts(type=Type.TEXT, source=ColumnSource("visits", "Ward", scope="ward"))
    >>> only = Call("=", (Column("ward_2"), Literal("A")))
    >>> print(scope_box(only, {"ward_2": ward}, unit=()))
    ward 'A'
    >>> print(scope_box(only, {"ward_2": ward}, unit=("patient",)))
    everything
    """
    if unit is None:
        return Box.everything()
    region = truth_sets(predicate, facts).true
    if region is None:
        return Box({"": nothing()})
    box = Box.everything()
    for name, values in region.items():
        source = facts[name].source
        if source is not None and not source.public and (not unit or facts[name].constant):
            box = box if source.scope is None else box & Box({source.scope: values})
    return box


_FEW: Final = 8


def unmet_conditions(predicates: Sequence[Expression], facts: Mapping[str, Facts]) -> Iterator[str]:
    """Say for which columns no declared value meets some conditions, all of which must hold.

    Values outside may be in the data all the same: it is a warning, and no fact.

    >>> ward = Facts(type=Type.TEXT, categories=("A", "B"), nullable=False)
    >>> list(unmet_conditions([Call("=", (Column("ward"), Literal("a")))], {"ward": ward}))
    ["no declared value of ward meets the conditions: its categories are 'A', 'B'"]
    """
    met: dict[str, Values] = {}
    for predicate in predicates:
        region = truth_sets(predicate, facts).true or {}
        met |= {name: met.get(name, anything()) & values for name, values in region.items()}
    for name, values in met.items():
        known, declared = facts[name], _declared(facts[name])
        if declared is not None and values & declared == nothing():
            shown = name if known.source is None else known.source.column
            yield f"no declared value of {shown} meets the conditions: {_told(known)}"


def _declared(facts: Facts) -> Values | None:
    """Return the values that a column is declared to have, if it is."""
    if facts.categories is None and facts.bounds is not None:
        declared = between(*facts.bounds)
        return declared | is_null() if facts.nullable else declared
    return None if facts.categories is None else declared_values(facts)


def declared_values(facts: Facts) -> Values:
    """Return the values that a column may have by its categories, and by whether it may be NULL.

    >>> sex = Facts(type=Type.TEXT, categories=("f", "m"), nullable=False)
    >>> print(declared_values(sex))
    'f', 'm'
    >>> print(declared_values(Facts(type=Type.BOOLEAN)))
    anything
    """
    listed = is_not_null() if not facts.categories else one_of(*facts.categories)
    return listed | is_null() if facts.nullable else listed


def _told(facts: Facts) -> str:
    if facts.categories is None:
        low, high = (f"{float(end):.6g}" for end in facts.bounds or ())
        return f"its bounds are {low} and {high}"
    listed = [repr(value) if isinstance(value, str) else str(value) for value in facts.categories]
    more = f" and {len(listed) - _FEW} more" if len(listed) > _FEW else ""
    return f"its categories are {', '.join(listed[:_FEW])}{more}"
