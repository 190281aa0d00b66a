"""The scope of a question: the units that its answer can depend on, as a box.

Trust: kernel.  A unit that is missing from the box would not pay for the question.

Definition.  A unit lies in the box if its values in the columns that all its rows share satisfy
every condition of the box.  Where each row is a unit, its rows share all columns.
Theorem (key ``question-scope``).  The answer does not depend on units outside the box.
Proof, by induction over the relation.  Only units with an output row count.  A row passes a filter
only if every part of its conjunction is true; if such a part compares a column of a private table
that is unchanged and that all rows of the unit share, then the unit's value satisfies it, and the
part is taken into the box.  Everything else is left out, which makes the box larger.  An inner join
has output rows only for units that have rows on both sides, an outer join for those of a side that
is kept, and a union for those of any part: there the box is kept only where all parts agree.
Columns stand in the box under names that say what they are read from, and how
(:mod:`discreet.accounting.scope_column`); those that name the unit have one name in all tables.
NULL satisfies no comparison, so that it is in none of these sets except that of IS NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from discreet.accounting import Box, Values
from discreet.accounting.values import above, at_least, at_most, below, equals, is_null, one_of
from discreet.plan.facts import Facts
from discreet.plan.joins import conjuncts
from discreet.query.expressions import Call, Column, Expression, Literal
from discreet.query.types import Scalar, Type

__all__ = ["conditions", "shared_box", "values_of"]

Found = tuple[str, Values]

_RANGES: Final[dict[str, Callable[[object], Values]]] = {
    "=": equals,
    "<": below,
    "<=": at_most,
    ">": above,
    ">=": at_least,
}
_FLIPPED: Final = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_SAFE: Final = 2**52
_HUGE: Final = 2**1000


def conditions(predicate: Expression, facts: Mapping[str, Facts]) -> Box:
    """Return the box of what a predicate says, conjunct by conjunct, about single columns.

    A box that nothing satisfies is empty.

    >>> age = Facts(type=Type.INTEGER)
    >>> over = Call(">=", (Column("age"), Literal(65)))
    >>> print(conditions(Call("AND", (over, Column("paid"))), {
    ...     "age": age, "paid": Facts(type=Type.BOOLEAN)}))
    age from 65; paid True
    """
    box = Box.everything()
    for part in conjuncts(predicate):
        found = values_of(part, facts)
        if found is not None:
            column, values = found
            box = box & Box({column: values})
    return box


def shared_box(
    predicate: Expression, facts: Mapping[str, Facts], unit: tuple[str, ...] | None
) -> Box:
    """Return what a predicate says about the units of a private relation, by their own columns.

    The columns are those of private tables that all rows of a unit share: those that name it, and
    constant ones; where each row is a unit (``unit`` is empty), all of them.

    >>> from discreet.plan.facts import Source
    >>> ward = Facts(type=Type.TEXT, source=Source("visits", "Ward", scope="ward"))
    >>> only = Call("=", (Column("ward_2"), Literal("A")))
    >>> print(shared_box(only, {"ward_2": ward}, unit=()))
    ward 'A'
    >>> print(shared_box(only, {"ward_2": ward}, unit=("patient",)))
    everything
    """
    if unit is None:
        return Box.everything()
    box = Box.everything()
    for name, values in conditions(predicate, facts).conditions:
        source = facts[name].source
        if source is not None and not source.public and (not unit or facts[name].constant):
            box = box if source.scope is None else box & Box({source.scope: values})
    return box


def values_of(  # noqa: PLR0911  one for each kind of condition
    expression: Expression, facts: Mapping[str, Facts]
) -> Found | None:
    """Return a column, and values of which it has one wherever the condition is true."""
    match expression:
        case Column(name=name) if facts[name].type is Type.BOOLEAN:
            return name, equals(True)
        case Call(function="IS NULL", arguments=(Column(name=name),)):
            return name, is_null()
        case Call(function="IS TRUE", arguments=(inner,)):
            return values_of(inner, facts)
        case Call(function="NOT", arguments=(inner,)):
            return _negated(values_of(inner, facts))
        case Call(function="OR" | "AND" as how, arguments=parts):
            return _together(how, [values_of(part, facts) for part in parts])
        case Call(function="IN", arguments=(Column(name=name), *listed)):
            return _listed(name, facts[name].type, listed)
        case Call(function="<>", arguments=arguments):
            return _negated(_compared("=", arguments, facts))
        case Call(function=sign, arguments=arguments) if sign in _RANGES:
            return _compared(sign, arguments, facts)
        case _:
            return None


def _compared(
    sign: str, arguments: tuple[Expression, ...], facts: Mapping[str, Facts]
) -> Found | None:
    match arguments:
        case (Column(name=name), Literal() as literal):
            pass
        case (Literal() as literal, Column(name=name)):
            sign = _FLIPPED[sign]
        case _:
            return None
    value = _comparable(literal.value, facts[name].type)
    return None if value is None else (name, _RANGES[sign](value))


def _comparable(value: Scalar, kind: Type) -> Scalar:
    """Return the value with which a column is compared in effect, or None if that is unclear.

    A FLOAT is compared with the nearest FLOAT.  An INTEGER that is compared with a broken number
    becomes a FLOAT first, and so does that number: 3 is equal to 3.0000000000000000001.  Whole
    numbers that are not too large stay what they are, and all others are beyond them on their side.
    """
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value
    if kind is Type.INTEGER and isinstance(value, int):
        return value
    limit = _SAFE if kind is Type.INTEGER else _HUGE
    return Fraction(float(value)) if abs(Fraction(value)) < limit else None


def _listed(name: str, kind: Type, listed: list[Expression]) -> Found | None:
    """Return the values of a list; one broken number in it makes FLOATs of all of them."""
    literals = [item.value for item in listed if isinstance(item, Literal)]
    if len(literals) != len(listed):
        return None
    broken = any(isinstance(value, Fraction) for value in literals)
    values = []
    for literal in literals:
        if literal is None:
            continue  # NULL equals nothing
        value = _comparable(_broken(literal) if broken else literal, kind)
        if value is None:
            return None
        values.append(value)
    return name, one_of(*values)


def _broken(value: Scalar) -> Scalar:
    """Return a whole number as one that is compared as a FLOAT."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return Fraction(value) if whole else value  # type: ignore[arg-type]


def _negated(found: Found | None) -> Found | None:
    return None if found is None else (found[0], ~found[1])


def _together(how: str, parts: list[Found | None]) -> Found | None:
    """Join conditions on one column; others say nothing."""
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or len({name for name, _ in known}) != 1:
        return None
    name, values = known[0]
    for _, more in known[1:]:
        values = values | more if how == "OR" else values & more
    return name, values
