"""Which values a group key can have, where that is public.

Trust: kernel.  A list of groups that came from the data would show who is in it.

Definition.  The values of a key are public if they follow from the question, the schema and public
tables alone: declared categories, truth values, bins, parts of a date, values that the question
lists, columns of a public table that was joined, and functions of one such column, of a bounded
number or of a bounded day (:mod:`discreet.plan.binding.key_images`).  Rows with another value are
left out before anything is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.plan.binding.joins import conjuncts
from discreet.plan.binding.key_images import MOST_VALUES, Image, KeyImages
from discreet.plan.binding.value_facts import Facts, as_keys, facts_of
from discreet.plan.binding.value_ranges import DATE_PARTS
from discreet.query.expressions import Call, Case, Column, Expression, Literal
from discreet.query.types import Type
from discreet.requests.engine_request import KeyColumn, KeyValue


@final
@dataclass(frozen=True, slots=True)
class GroupKey:
    """One key: its name and expression, what is declared of it, and its values where public."""

    key: KeyColumn
    facts: Facts
    values: tuple[KeyValue, ...] | None


def public_values(  # noqa: C901, PLR0911  one for each kind of key
    key: Expression,
    facts: Mapping[str, Facts],
    predicates: Sequence[Expression] = (),
    tables: Callable[[str], Image | None] = lambda _: None,
) -> tuple[KeyValue, ...] | None:
    """Return the values that a key can have, in order, or None if only the data could tell.

    ``predicates`` hold for all rows; ``tables`` lists the values of columns of public tables.

    >>> paid = Facts(type=Type.BOOLEAN, nullable=False)
    >>> public_values(Column("paid"), {"paid": paid})
    (False, True)
    """
    kind = facts_of(key, facts).type
    listed = _listed(key, predicates, kind)
    if listed is not None:
        return listed
    match key:
        case Column(name=name) if (declared := facts[name].categories) is not None:
            return _and_null(as_keys(declared, kind), nullable=facts[name].nullable)
        case Column(name=name) if facts[name].type is Type.BOOLEAN:
            return _and_null((False, True), nullable=facts[name].nullable)
        case Case() if (results := _branches(key, kind)) is not None:
            return results
        case Call(function="RANGE_BUCKET", arguments=(_, *edges)):
            return _and_null(range(len(edges) + 1), nullable=_nullable(key, facts))
        case Call(function="EXTRACT", arguments=(Literal(value=str() as part), _)):
            known, image = DATE_PARTS.get(part), KeyImages(facts, tables).of(key)
            if image is not None or known is None:
                return _keys(image, kind)
            return _and_null(known, nullable=_nullable(key, facts))
        case Call(function="DIV", arguments=(_, Literal())):
            image = KeyImages(facts, tables).of(key)
            return _between(facts_of(key, facts)) if image is None else _keys(image, kind)
        case Call(function="IS NULL" | "IS TRUE" | "IS FALSE"):
            return (False, True)
        case Column(name=name) if kind not in {Type.INTEGER, Type.DATE}:
            return _keys(tables(name), kind)
        case _:
            return _keys(KeyImages(facts, tables).of(key), kind)


def fine_keys(keys: Iterable[GroupKey]) -> Iterator[str]:
    """Warn of floats that tell groups apart and are not listed.

    >>> weight = GroupKey(
    ...     KeyColumn("w", Column("w"), Type.FLOAT), Facts(type=Type.FLOAT), values=None)
    >>> [words[:27] for words in fine_keys([weight])]
    ['every distinct number of w ']
    """
    for each in keys:
        if each.values is None and each.key.type is Type.FLOAT:
            yield (
                f"every distinct number of {each.key.name} is a group of its own, and few may be "
                "shown; RANGE_BUCKET(x, [0, 10]) and FLOOR(x / 10) * 10 are public bins"
            )


def _keys(image: Image | None, kind: Type) -> tuple[KeyValue, ...] | None:
    """Return values as keys; broken numbers are keys of a float alone."""
    if image is None:
        return None
    if kind is not Type.FLOAT and any(isinstance(value, float | Fraction) for value in image):
        return None
    return tuple(as_keys(image, kind))


def _between(known: Facts) -> tuple[KeyValue, ...] | None:
    """Return all whole numbers between public bounds, unless there are too many."""
    if known.bounds is None or known.bounds[1] - known.bounds[0] >= MOST_VALUES:
        return None
    low, high = map(int, known.bounds)
    return _and_null(range(low, high + 1), nullable=known.nullable)


def _listed(
    key: Expression, predicates: Sequence[Expression], kind: Type
) -> tuple[KeyValue, ...] | None:
    """Return the values that the question itself allows the key."""
    for predicate in predicates:
        for part in conjuncts(predicate):
            match part:
                case Call(function="IN" | "=", arguments=(compared, *values)) if compared == key:
                    if all(isinstance(value, Literal) for value in values):
                        return _literals(values, kind)
                case Call(function="=", arguments=(Literal() as value, compared)) if (
                    compared == key
                ):
                    return _literals([value], kind)
                case Call(function="IS NULL", arguments=(compared,)) if compared == key:
                    return (None,)
    return None


def _literals(values: Sequence[Expression], kind: Type) -> tuple[KeyValue, ...] | None:
    """Return literals, each once, without NULL; broken numbers are keys of a float alone."""
    distinct: list[KeyValue] = []
    for value in values:
        if not isinstance(value, Literal) or (value.type is Type.FLOAT and kind is not Type.FLOAT):
            return None
        try:
            (key,) = as_keys([value.value], kind)
        except OverflowError:  # no float is as large
            return None
        if key is not None and key not in distinct:
            distinct.append(key)
    return tuple(distinct)


def _branches(case: Case, kind: Type) -> tuple[KeyValue, ...] | None:
    values = [value for _, value in case.branches]
    values.append(case.default if case.default is not None else Literal(None))
    if not all(isinstance(value, Literal) for value in values):
        return None
    null = any(isinstance(value, Literal) and value.value is None for value in values)
    results = _literals(values, kind)
    return None if results is None else _and_null(results, nullable=null)


def _nullable(key: Call, facts: Mapping[str, Facts]) -> bool:
    """Whether a bin or a part of a date may be NULL: not if its column is declared otherwise."""
    inner = key.arguments[1] if key.function == "EXTRACT" else key.arguments[0]
    return not (isinstance(inner, Column) and not facts[inner.name].nullable)


def _and_null(values: Sequence[object] | None, *, nullable: bool) -> tuple[KeyValue, ...]:
    known: tuple[Any, ...] = tuple(values or ())
    return (*known, None) if nullable else known
