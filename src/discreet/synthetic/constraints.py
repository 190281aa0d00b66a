"""Constraints: combinations of values that no row has, as the owner states in public.

Trust: public.  A constraint changes no sensitivity and lowers no price.  It is part of the request,
and the model assigns zero mass to the cells that it names; if it is false of the data, the
synthetic table is wrong there, but privacy is not affected.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from discreet.errors import OutOfRange, TooLarge, WrongKind
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.inference import ImpossibleCells, Marginal

_MOST_LINKED: Final = 1 << 24
"""So many combinations of values are looked at."""


@final
@dataclass(frozen=True, slots=True)
class Forbidden:
    """A combination of values that no row has, by names of columns.

    >>> forbid({"sex": "male", "pregnant": True}).values
    (('sex', 'male'), ('pregnant', True))
    """

    values: tuple[tuple[str, Any], ...]

    def cells(self, domain: Domain) -> ImpossibleCells:
        """Return the cell that has no mass."""
        names = [name for name, _ in self.values]
        marginal = domain.numbers(names)
        codes = [
            _code(domain, name, value)
            for name, value in sorted(self.values, key=lambda pair: domain.numbers([pair[0]]))
        ]
        place = np.ravel_multi_index(tuple(codes), domain.coded.shape(marginal))
        return ImpossibleCells(marginal=marginal, cells=np.array([place], dtype=np.int64))


@final
@dataclass(frozen=True, slots=True)
class Determined:
    """A public map: the value of one column says that of another.

    >>> determines("city", "region", {"Ulm": "south", "Kiel": "north"}).other
    'region'
    """

    column: str
    other: str
    values: tuple[tuple[Any, Any], ...]

    def cells(self, domain: Domain) -> ImpossibleCells:
        """Return the cells that contradict the map."""
        marginal = domain.numbers([self.column, self.other])
        first = domain.numbers([self.column])[0]
        shape = domain.coded.shape(marginal)
        allowed = {
            _code(domain, self.column, value): _code(domain, self.other, image)
            for value, image in self.values
        }
        wrong = []
        for one, two in itertools.product(*map(range, shape)):
            code, image = (one, two) if first == marginal[0] else (two, one)
            if code in allowed and allowed[code] != image:
                wrong.append(one * shape[1] + two)
        return ImpossibleCells(marginal=marginal, cells=np.array(wrong, dtype=np.int64))


Constraint = Forbidden | Determined


def forbid(values: Mapping[str, Any]) -> Forbidden:
    """State that no row has all of these values.

    Args:
        values: values by the names of at least two columns.

    >>> forbid({"ward": "children", "age": 40}).values[0]
    ('ward', 'children')
    """
    if not isinstance(values, Mapping) or len(values) < 2:
        raise WrongKind(
            "a forbidden combination does not name two columns; write "
            "forbid({'sex': 'male', 'pregnant': True}), say."
        )
    return Forbidden(tuple(values.items()))


def determines(column: str, other: str, values: Mapping[Any, Any]) -> Determined:
    """State that the value of one column says that of another.

    Args:
        column: the column that decides.
        other: the column that follows.
        values: the value of the other one for each value of the first.

    >>> determines("ward", "building", {"A": 1, "B": 1}).values
    (('A', 1), ('B', 1))
    """
    if column == other or not isinstance(values, Mapping) or not values:
        raise WrongKind(
            "a map between two columns is missing; write determines('city', 'region', "
            "{'Ulm': 'south'}), say."
        )
    return Determined(column, other, tuple(values.items()))


def _code(domain: Domain, name: str, value: object) -> int:
    (place,) = domain.numbers([name])
    code = domain.columns[place].code(value)
    if code is None:
        raise OutOfRange(
            f"a constraint names a value that column {name} cannot have; use declared categories, "
            "and numbers and days within their bounds."
        )
    return code


def impossible(domain: Domain, constraints: tuple[Constraint, ...]) -> tuple[ImpossibleCells, ...]:
    """Return the cells without mass; refuse constraints that leave no row possible."""
    cells = tuple(constraint.cells(domain) for constraint in constraints)
    linked: list[tuple[set[int], list[ImpossibleCells]]] = []
    for one in cells:
        columns, group = set(one.marginal), [one]
        for other in [known for known in linked if known[0] & columns]:
            linked.remove(other)
            columns, group = columns | other[0], group + other[1]
        linked.append((columns, group))
    for columns, group in linked:
        _check_possible(domain, tuple(sorted(columns)), group)
    return cells


def _check_possible(domain: Domain, columns: Marginal, group: Sequence[ImpossibleCells]) -> None:
    """Refuse constraints on some columns that no combination of their values meets."""
    shape = domain.coded.shape(columns)
    if math.prod(shape) > _MOST_LINKED:
        raise TooLarge(
            f"constraints link columns with more than {_MOST_LINKED} combinations of values; state "
            "fewer of them, or use fewer bins."
        )
    possible = np.ones(shape, dtype=np.bool_)
    for one in group:
        own = domain.coded.shape(one.marginal)
        allowed = np.ones(math.prod(own), dtype=np.bool_)
        allowed[one.cells] = False
        places = [columns.index(column) for column in one.marginal]
        spread = [own[places.index(at)] if at in places else 1 for at in range(len(columns))]
        possible &= allowed.reshape(spread)
    if not possible.any():
        raise OutOfRange("the constraints leave no row possible; take back some of them.")
