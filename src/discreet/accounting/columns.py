"""Columns cut into atoms: the finest differences that a tree can see.

Trust: kernel.

Definition.  The conditions of a tree on a column are sets of values.  Two values that lie in the
same of these sets cannot be told apart by the tree; such values form an atom.  A set is then a
union of atoms, kept as a mask of bits.
A set that merely encloses what is meant has values that it may or may not let through: they give
two atoms, one on each side, so that both cases are priced.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import pairwise
from typing import final

from discreet.accounting.value_set import Values
from discreet.accounting.values import anything

__all__ = ["Columns"]


@final
class Columns:
    """The atoms of each column.

    >>> from discreet.accounting.values import at_least, between
    >>> columns = Columns({"age": [between(0, 17), at_least(10)]})
    >>> columns.count("age"), columns.mask("age", at_least(10)).bit_count()
    (4, 2)
    """

    def __init__(self, sets: Mapping[str, Iterable[Values]]) -> None:
        """Cut each column along all sets that are used."""
        self._atoms: dict[str, list[Values]] = {}
        self._masks: dict[str, dict[Values, int]] = {}
        for column, used in sets.items():
            distinct = list(dict.fromkeys(used))
            atoms = _apart(distinct) if _disjoint(distinct) else _crossing(distinct)
            self._atoms[column] = [atom for atom, _ in atoms]
            self._masks[column] = {
                values: sum(1 << at for at, (_, inside) in enumerate(atoms) if inside >> index & 1)
                for index, values in enumerate(distinct)
            }

    def names(self) -> list[str]:
        """List the columns."""
        return list(self._atoms)

    def count(self, column: str) -> int:
        """Return the number of atoms."""
        return len(self._atoms[column])

    def full(self, column: str) -> int:
        """Return the mask of all atoms: no condition at all."""
        return (1 << self.count(column)) - 1

    def atom(self, column: str, at: int) -> Values:
        """Return the values of an atom."""
        return self._atoms[column][at]

    def points(self, column: str, at: int) -> int | None:
        """Count the values of an atom, NULL among them; None where it holds a range."""
        values = self._atoms[column][at]
        if not values.exact:
            return None
        if values.kind == "bool":
            return sum(truth in values for truth in (False, True)) + values.null
        ends = values.cuts
        whole = not values.below and len(ends) % 2 == 0
        if not whole or any(ends[i][0] != ends[i + 1][0] for i in range(0, len(ends), 2)):
            return None
        return len(ends) // 2 + values.null

    def mask(self, column: str, values: Values) -> int:
        """Return which atoms lie in a set that was used for cutting."""
        return self._masks[column][values]


def _disjoint(sets: list[Values]) -> bool:
    """Say whether sets are seen to be disjoint at a glance: bounded ranges, side by side."""
    if any(values.below or not values.exact or len(values.cuts) % 2 for values in sets):
        return False
    if sum(values.null for values in sets) > 1 or len({values.kind for values in sets}) > 1:
        return False
    ranges = sorted(
        (values.cuts[at], values.cuts[at + 1])
        for values in sets
        for at in range(0, len(values.cuts), 2)
    )
    return all(before[1] <= after[0] for before, after in pairwise(ranges))


def _apart(sets: list[Values]) -> list[tuple[Values, int]]:
    rest = (~_united(sets), 0)
    atoms = [(values, 1 << index) for index, values in enumerate(sets) if not values.empty]
    return atoms if rest[0].empty else [*atoms, rest]


def _united(sets: list[Values]) -> Values:
    """Unite by halves, since the cuts of a union are gone through again each time."""
    if len(sets) <= 2:
        return reduce(operator.or_, sets)
    half = len(sets) // 2
    return _united(sets[:half]) | _united(sets[half:])


def _crossing(sets: list[Values]) -> list[tuple[Values, int]]:
    atoms = [(anything(), 0)]
    for index, values in enumerate(sets):
        inside, outside = values.region, ~values
        pieces = [
            piece
            for atom, signature in atoms
            for piece in (
                (atom & inside, signature | 1 << index),
                ((atom & outside).region, signature),
            )
        ]
        atoms = [(atom, signature) for atom, signature in pieces if not atom.empty]
    return list(dict.fromkeys(atoms))
