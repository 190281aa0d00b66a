"""Where a condition is true, false and NULL, and the box of units that follows from it.

Trust: kernel.  A value that is missing from the true set leaves out the people who have it.  The
box is an inference, and only a proposal: what is charged is what :mod:`discreet.plan.binding.scope`
makes the engine enforce.

Definition.  A *region* names columns, and for each of them the values that it may have; columns
that are not named may have any value.  None is the region that nothing lies in.  The *truth sets*
of a condition are three regions: every row for which the condition is true lies in ``true``, every
row for which it is false in ``false``, and every row for which it is NULL in ``null``.  Regions may
overlap, because each is an upper bound and none is the complement of another.
Theorem (key ``truth-sets``).  The truth sets of a condition enclose the rows for which it is true,
false and NULL.
Proof, by induction.  Comparisons of one column with literals are in
:mod:`discreet.plan.binding.value_sets`.  NOT exchanges the first two regions.  IS TRUE, IS FALSE
and IS NULL are true on one region, false on the hull of the other two, and never NULL.  AND is true
only where both arguments are, false only where one of them is, and NULL only where one is NULL and
the other is NULL or true; OR is AND with true and false exchanged.  Every other expression has
three regions that hold everything.

Definition.  A unit lies in the box if its values in the columns that all its rows share satisfy
every condition of the box.  Where each row is a unit, its rows share all columns.
Only units with an output row count.  A row passes a filter only if its predicate is true, and then
the row lies in the true set of the predicate (key ``truth-sets``).  If a condition of that set is
on an unchanged column of a private table, in which all rows of the unit agree, then the unit's
value satisfies it, and the condition is taken into the box.  Everything else is left out, which
makes the box larger.  If the true set is empty, no row passes, and the box is empty.
An inner join has output rows only for units that have rows on both sides, an outer join for those
of a side that is kept, and a union for those of any part: there the box is kept only where all
parts agree.
Columns stand in the box under names that say what they are read from, and how
(:mod:`discreet.accounting.box`); those that name the unit have one name in all
tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting import Box
from discreet.accounting.values import (
    Values,
    anything,
    between,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.plan.binding.value_facts import Facts
from discreet.plan.binding.value_sets import ComparedValues, compared_values, ends_of, listed_values
from discreet.query.expressions import Call, Column, Expression, Literal
from discreet.query.types import Type

Region = Mapping[str, Values] | None
"""What each column may hold; None if nothing lies in the region."""

_EVERYWHERE: Final[Region] = {}
"""The region of all rows."""

_SIGNS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})


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


def truth_sets(  # noqa: C901, PLR0911  one for each kind of condition
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
        case Call(function="IS NULL", arguments=(Column(name=name),)):
            return _two_valued({name: is_null()}, {name: is_not_null()})
        case Call(function="NOT" | "IS TRUE" | "IS FALSE" | "IS NULL" as word, arguments=(inner,)):
            return _turned(word, truth_sets(inner, facts))
        case Call(function="AND", arguments=parts):
            return _all([truth_sets(part, facts) for part in parts])
        case Call(function="OR", arguments=parts):
            return _not(_all([_not(truth_sets(part, facts)) for part in parts]))
        case Call(function="IN", arguments=(Column(name=name), *items)):
            return _about(name, listed_values(items, facts[name].type))
        case Call(function=sign, arguments=(Column(name=name), Literal(value=value))) if (
            sign in _SIGNS
        ):
            return _about(name, compared_values(sign, value, facts[name].type))
        case Call(function=sign, arguments=(Literal(value=value), Column(name=name))) if (
            sign in _SIGNS
        ):
            return _about(name, compared_values(_flipped(sign), value, facts[name].type))
        case _:
            return _UNKNOWN


def _flipped(sign: str) -> str:
    """Return the sign with its sides exchanged."""
    return {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)


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
    """Return the region of rows that lie in both."""
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
    """Return what is known of columns in rows for which a predicate is true, where it is more.

    Bounds that a condition gives are enforced like declared ones: values are clamped to them, which
    moves no value of a row that passed.  Where a condition contradicts what is declared, or leaves
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
    constant ones; where each row is a unit (``unit`` is empty), all of them.

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
    if facts.categories is not None:
        declared = one_of(*facts.categories)
    elif facts.bounds is not None:
        declared = between(*facts.bounds)
    else:
        return None
    return declared | is_null() if facts.nullable else declared


def _told(facts: Facts) -> str:
    if facts.categories is None:
        low, high = (f"{float(end):.6g}" for end in facts.bounds or ())
        return f"its bounds are {low} and {high}"
    listed = [repr(value) if isinstance(value, str) else str(value) for value in facts.categories]
    more = f" and {len(listed) - _FEW} more" if len(listed) > _FEW else ""
    return f"its categories are {', '.join(listed[:_FEW])}{more}"
