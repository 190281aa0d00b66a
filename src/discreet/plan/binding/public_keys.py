"""Public values of keys: declared, listed in the question, or images of such values.

Trust: kernel.  A list of groups that came from the data would show who is in it.

Definition.  A *step function* is FLOOR, CEIL, ROUND or a cast to INTEGER of a column that is moved
and scaled by literals.  Arithmetic with a literal rises or falls with the column, as floats too.
So a step function takes whole numbers alone, and all of them are between those at the two bounds.
Everything else is computed from each value of the column, as engines do it.

Definition.  The values of a key are public if they follow from the question, the schema and public
tables alone: declared categories, truth values, bins, parts of a date, values that the question
lists, columns of a public table that was joined, and functions of one such column, of a bounded
number or of a bounded day (:mod:`discreet.plan.binding.public_keys`).  Rows with another value are
left out before anything is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, final

from discreet.plan.binding.value_facts import Facts, as_keys, facts_of
from discreet.query.expression_types import ColumnTypes, typed
from discreet.query.expressions import Call, Case, Cast, Column, Expression, Literal, conjuncts
from discreet.query.functions import CAST_VALUES, FUNCTIONS, TIME_PARTS
from discreet.query.types import LARGEST, SMALLEST, Type
from discreet.requests.engine_request import KeyColumn, KeyValue

Image = list[Any]
"""Different values in some order; None is NULL."""

MOST_VALUES: Final = 1000
"""So many values of a key are listed, at most, if they follow from bounds."""
_MOST_NUMBERS: Final = 1 << 14
_MOST_DAYS: Final = 1 << 15


@final
@dataclass(frozen=True, slots=True)
class KeyImages:
    """What is known of columns, and which values those of public tables hold.

    >>> age = Facts(type=Type.INTEGER, low=Fraction(18), high=Fraction(44), nullable=False)
    >>> decade = Call("*", (Call("FLOOR", (Call("/", (Column("age"), Literal(10))),)), Literal(10)))
    >>> KeyImages({"age": age}).of(Cast(decade, Type.INTEGER))
    [10, 20, 30, 40]
    """

    facts: Mapping[str, Facts]
    public: Callable[[str], Image | None] = lambda _: None

    def of(self, key: Expression) -> Image | None:
        """Return all values of a key, or None if they are not known, or too many to be groups.

        Categories, and texts of public tables, are groups however many they are.
        """
        image = self._image(key)
        if image is None or image == [None]:
            return None
        known = facts_of(key, self.facts)
        listed = known.categories is not None or known.type not in {Type.INTEGER, Type.DATE}
        return image if len(image) <= MOST_VALUES or (isinstance(key, Column) and listed) else None

    def _image(self, node: Expression) -> Image | None:  # noqa: PLR0911  one a node
        known = facts_of(node, self.facts)
        if known.type is Type.BOOLEAN and not isinstance(node, Column | Case):
            return [False, True, *([None] if known.nullable else [])]
        match node:
            case Column(name=name):
                return self._column(name)
            case Case():
                default = Literal(None) if node.default is None else node.default
                return self._union([*(value for _, value in node.branches), default])
            case Call(function="COALESCE", arguments=arguments):
                found, last = self._union(arguments), self._image_or_literal(arguments[-1])
                if found is None or last is None or None in last:
                    return found
                return [value for value in found if value is not None]
            case Call() | Cast():
                return self._called(node)
            case _:
                return None

    def _column(self, name: str) -> Image | None:
        known = self.facts[name]
        listed = self.public(name)
        if listed is not None:
            return listed
        missing = [None] if known.nullable else []
        if known.categories is not None:
            return [*as_keys(known.categories, known.type), *missing]
        if known.type is Type.BOOLEAN:
            return [False, True, *missing]
        if known.type is Type.INTEGER and known.bounds is not None:
            low, high = math.ceil(known.bounds[0]), math.floor(known.bounds[1])
            if high - low < _MOST_NUMBERS:
                return [*range(low, high + 1), *missing]
        if known.type is Type.DATE and known.days is not None:
            return _days(known.days, missing)
        return None

    def _union(self, parts: Iterable[Expression]) -> Image | None:
        found: Image = []
        for part in parts:
            image = self._image_or_literal(part)
            if image is None:
                return None
            found += image
        return _different(found)

    def _image_or_literal(self, part: Expression) -> Image | None:
        return [part.value] if isinstance(part, Literal) else self._image(part)

    def _called(self, node: Call | Cast) -> Image | None:
        """Compute a function of one part from all values of that part."""
        children = node.children()
        places = [at for at, child in enumerate(children) if not isinstance(child, Literal)]
        if len(places) != 1:
            return None
        inner = children[places[0]]
        values = self._of_days(node, inner) or self._image(inner)
        compute = self._function(node)
        if values is None or compute is None:
            return self._between(node)
        arguments = [getattr(child, "value", None) for child in children]
        results: Image = []
        for value in values:
            arguments[places[0]] = value
            results.append(compute(arguments))
        return _different(results)

    def _of_days(self, node: Call | Cast, moment: Expression) -> Image | None:
        """Return the midnights of a moment between public days, if only the day matters."""
        known = facts_of(moment, self.facts)
        if known.type is not Type.TIMESTAMP or known.days is None:
            return None
        match node:
            case Call(function="EXTRACT", arguments=(Literal(value=part), _)):
                daily = part not in TIME_PARTS
            case Call(function="DATE_TRUNC"):
                daily = True
            case _:
                daily = isinstance(node, Cast) and node.to is Type.DATE
        days = _days(known.days, [None] if known.nullable else []) if daily else None
        if days is None:
            return None
        return [None if day is None else datetime(day.year, day.month, day.day) for day in days]  # noqa: DTZ001

    def _function(self, node: Call | Cast) -> Callable[[Sequence[Any]], Any] | None:
        """Return what computes a function or a cast as every engine does, if it is known here."""
        kind = self._type(node)
        if isinstance(node, Cast):
            start = self._type(node.argument)
            compute = CAST_VALUES.get((start, kind)) if start is not kind else lambda value: value
        else:
            compute = FUNCTIONS[node.function].compute
        if compute is None:
            return None
        turned = isinstance(node, Call) and kind is Type.FLOAT

        def result(arguments: Sequence[Any]) -> Any:
            if any(argument is None for argument in arguments):
                return None
            found = compute(*(map(float, arguments) if turned else arguments))
            if kind is Type.INTEGER and found is not None:
                return found if SMALLEST <= found <= LARGEST else None
            return None if isinstance(found, float) and not math.isfinite(found) else found

        return result

    def _between(self, node: Call | Cast) -> Image | None:
        """Return all whole numbers between the bounds of a bin, a part of a date, or a quotient."""
        match node:
            case Call(function="RANGE_BUCKET" | "EXTRACT" | "DIV", arguments=(_, *rest)):
                known = facts_of(node, self.facts)
                free = node.function == "DIV" and not isinstance(rest[0], Literal)
                if free or known.bounds is None or known.bounds[1] - known.bounds[0] >= MOST_VALUES:
                    return None
                low, high = map(int, known.bounds)
                return [*range(low, high + 1), *([None] if known.nullable else [])]
            case Call(function="FLOOR" | "CEIL" | "ROUND") | Cast(to=Type.INTEGER):
                return self._steps(node)
            case _:
                return None

    def _steps(self, node: Call | Cast) -> Image | None:
        """Return all values of a step function between those at the bounds of its column."""
        column = _moved(node)
        known = None if column is None else self.facts[column.name]
        if column is None or known is None or known.bounds is None or not known.type.is_number:
            return None
        turn = float if known.type is Type.FLOAT else math.ceil
        ends = [self._at(node, column, turn(end)) for end in known.bounds]
        if None in ends or abs(ends[1] - ends[0]) >= MOST_VALUES:
            return None
        kind = type(ends[0])
        values = [kind(each) for each in range(int(min(ends)), int(max(ends)) + 1)]
        return [*values, None] if known.nullable else values

    def _at(self, node: Expression, column: Column, value: Any) -> Any:
        """Return an expression of one column at a value of it."""
        if node == column:
            return value
        if isinstance(node, Literal):
            return node.value
        assert isinstance(node, Call | Cast)  # noqa: S101 (of which chains are made)
        compute = self._function(node)
        below = [self._at(child, column, value) for child in node.children()]
        return None if compute is None else compute(below)

    def _type(self, node: Expression) -> Type:
        types = ColumnTypes((name, facts.type) for name, facts in self.facts.items())
        return typed(node, types)


def _moved(node: Expression) -> Column | None:
    """Return the column of which a chain of steps, and arithmetic with literals, is made."""
    match node:
        case Column():
            return node
        case Cast(argument=inner, to=Type.INTEGER | Type.FLOAT):
            return _moved(inner)
        case Call(function="FLOOR" | "CEIL" | "ROUND" | "NEGATE", arguments=(inner,)):
            return _moved(inner)
        case Call(
            function="+" | "-" | "*" | "/", arguments=(inner, Literal(value=int() | Fraction()))
        ):
            return _moved(inner)
        case Call(function="+" | "-" | "*", arguments=(Literal(value=int() | Fraction()), inner)):
            return _moved(inner)
        case _:
            return None


def is_whole(key: Expression, types: Mapping[str, Type]) -> bool:
    """Whether a FLOAT is a whole number by the way it is computed.

    >>> is_whole(Call("FLOOR", (Column("x"),)), {"x": Type.FLOAT})
    True
    """
    match key:
        case Call(function="FLOOR" | "CEIL" | "ROUND"):
            return True
        case Call(function="+" | "-" | "*" | "NEGATE" | "ABS", arguments=parts):
            return all(
                typed(part, types) is Type.INTEGER or is_whole(part, types) for part in parts
            )
        case _:
            return False


def _days(ends: tuple[date, date], missing: list[None]) -> Image | None:
    count = (ends[1] - ends[0]).days + 1
    if count > _MOST_DAYS:
        return None
    return [*(ends[0] + timedelta(days=at) for at in range(count)), *missing]


def _different(values: Iterable[Any]) -> Image:
    """Return each value once: numbers and days as they rise, NULL last."""
    found = list(dict.fromkeys(values))
    there = [value for value in found if value is not None]
    if not any(isinstance(value, str) for value in there):
        there.sort()
    return [*there, None] if None in found else there


@final
@dataclass(frozen=True, slots=True)
class GroupKey:
    """One key: its name and expression, what is declared of it, and its values if public."""

    key: KeyColumn
    facts: Facts
    values: tuple[KeyValue, ...] | None


def public_values(
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
    return _keys(KeyImages(facts, tables).of(key), kind)


def fine_keys(keys: Iterable[GroupKey]) -> Iterator[str]:
    """Warn of floats that distinguish groups and are not listed.

    >>> weight = GroupKey(
    ...     KeyColumn("w", Column("w"), Type.FLOAT), Facts(type=Type.FLOAT), values=None)
    >>> [words[:27] for words in fine_keys([weight])]
    ['each distinct value of w is']
    """
    for each in keys:
        if each.values is None and each.key.type is Type.FLOAT:
            yield (
                f"each distinct value of {each.key.name} is a group of its own, and few will be "
                "shown; RANGE_BUCKET(x, [0, 10]) and FLOOR(x / 10) * 10 make public bins"
            )


def _keys(image: Image | None, kind: Type) -> tuple[KeyValue, ...] | None:
    """Return values as keys; broken numbers are keys of a float alone."""
    if image is None:
        return None
    if kind is not Type.FLOAT and any(isinstance(value, float | Fraction) for value in image):
        return None
    try:
        return tuple(dict.fromkeys(as_keys(image, kind)))
    except OverflowError:  # no float is as large
        return None


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
    """Return literals, each once, without NULL."""
    listed = [value.value for value in values if isinstance(value, Literal)]
    return _keys([value for value in listed if value is not None], kind)
