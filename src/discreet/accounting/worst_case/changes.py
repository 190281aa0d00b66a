"""Which rows of one unit can change: cells of the public domain, and ways to hand rows out to them.

Trust: kernel.  A change that is not listed is a neighbor that nobody pays for.

Definition.  A cell says in which atoms of each column a record lies: one atom, or up to r of them
where a record has up to r values of a key.  Atoms that the tree treats alike are told apart only as
far as different rows may lie in different ones of them.
Theorem (key ``contribution``).  Let one unit have at most c rows, of which at most m share a value
of a column, and at most p values of it occur.  The price is the largest over all ways to hand out
the rows to cells within the limits; a row that is added never lowers it.
Columns that no condition links go together in every way, so that nodes which depend on different
columns may be given their worst rows apart, if as many rows change for each.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from discreet.accounting.scopes.atoms import ColumnAtoms
from discreet.accounting.scopes.box import Box
from discreet.accounting.scopes.contribution import Contribution
from discreet.accounting.tree.node import Node
from discreet.accounting.tree.parallel import Parallel, Where
from discreet.accounting.worst_case.fold import Cell, Rows, bits

_MOST_CELLS: Final = 50_000


@final
@dataclass(frozen=True, slots=True)
class Domain:
    """The cells of some columns, and what one unit can have in them."""

    columns: ColumnAtoms
    overlaps: Mapping[str, int]
    contribution: Contribution
    impossible: tuple[Box, ...]

    def cells(
        self, used: Collection[str], like: Mapping[str, list[list[int]]], rows: int
    ) -> list[Cell] | None:
        """Return the cells of some columns, as many alike as rows can tell apart; None if many.

        ``like`` lists for each column the atoms that are treated alike.
        """
        choices: list[list[int]] = []
        size = 1
        for column in self.columns.names():
            if column not in used:
                choices.append([0])
                continue
            most = self.overlaps.get(column, 1)
            atoms = [atom for alike in like[column] for atom in alike[: rows * most]]
            masks = [
                sum(1 << atom for atom in some)
                for count in range(1, most + 1)
                for some in itertools.combinations(sorted(atoms), count)
            ]
            choices.append(masks)
            size *= len(masks)
            if size > _MOST_CELLS:
                return None
        return [cell for cell in itertools.product(*choices) if not self._is_impossible(cell)]

    def _is_impossible(self, cell: Cell) -> bool:
        for box in self.impossible:
            places = {column: at for at, column in enumerate(self.columns.names())}
            met = (
                cell[places[column]] & self.columns.mask(column, values)
                for column, values in box.conditions
            )
            if all(met):
                return True
        return False

    def placings(self, cells: Sequence[Cell], size: int) -> list[Rows] | None:
        """Return the ways in which so many rows of a unit can lie in cells; fewer if they must.

        None if there are too many of them to look at.
        """
        if size == 0:
            return [()]
        if math.comb(len(cells) + size - 1, size) > _MOST_CELLS:
            return None
        for count in range(size, 0, -1):
            ways = [
                tuple(sorted(Counter(way).items()))
                for way in itertools.combinations_with_replacement(cells, count)
                if self._fits(way)
            ]
            if ways:
                return ways
        return []

    def _fits(self, rows: Sequence[Cell]) -> bool:
        if len(rows) == 1:
            return True
        for at, column in enumerate(self.columns.names()):
            if not self.contribution.limits(column) or not any(cell[at] for cell in rows):
                continue
            times = self.overlaps.get(column, 1)
            counts = Counter(atom for cell in rows for atom in bits(cell[at]))
            if len(counts) > self.contribution.most_parts(column) * times:
                return False
            most = self.contribution.most_rows(column)
            for atom, count in counts.items():
                values = self.columns.points(column, atom)
                if values is not None and count > most * values:
                    return False
        return True


def alike(  # noqa: C901  (two kinds of conditions, and boxes)
    tree: Node, columns: ColumnAtoms, impossible: Sequence[Box], number: Callable[[Node], int]
) -> dict[str, list[list[int]]]:
    """Group the atoms of each column that a tree and impossible boxes treat alike."""
    marks: dict[str, list[list[object]]] = {
        column: [[columns.points(column, atom)] for atom in range(columns.count(column))]
        for column in columns.names()
    }

    def note(column: str, mask: int, mark: object) -> None:
        for atom in bits(mask):
            marks[column][atom].append(mark)

    for at, node in enumerate(tree.walk()):
        match node:
            case Parallel(key=key):
                for part in node.parts:
                    note(key, columns.mask(key, part.values), (at, number(part.child)))
            case Where(box=box):
                for column, values in box.conditions:
                    note(column, columns.mask(column, values), at)
    for box in impossible:
        for column, values in box.conditions:
            note(column, columns.mask(column, values), box)
    found = {}
    for column, atoms in marks.items():
        groups: dict[tuple[object, ...], list[int]] = {}
        for atom, mark in enumerate(atoms):
            groups.setdefault(tuple(mark), []).append(atom)
        found[column] = list(groups.values())
    return found


def is_first(masks: Sequence[Sequence[int]], old: Rows, new: Rows) -> bool:
    """Return whether a change is the first of those that differ in the names of atoms alone.

    ``masks`` are the groups of atoms of each column that are treated alike.  The old rows take the
    first atoms of a group, and the new ones the first that are left; a single old row shares its
    first atoms.
    """
    for at, groups in enumerate(masks):
        left, entered = (_union(rows, at) for rows in (old, new))
        for group in groups:
            mine = left & group
            apart, shared = entered & group & ~mine, entered & mine
            if not (_is_prefix(mine, group) and _is_prefix(apart, group & ~mine)):
                return False
            if len(old) == 1 and old[0][1] == 1 and not _is_prefix(shared, mine):
                return False
    return True


def _union(rows: Rows, at: int) -> int:
    union = 0
    for cell, _ in rows:
        union |= cell[at]
    return union


def _is_prefix(some: int, every: int) -> bool:
    """Return whether some atoms come before all others."""
    rest = every & ~some
    return not some or not rest or (rest & -rest) > some


def independent(
    parts: Sequence[Sequence[str]], linked: Sequence[Sequence[str]]
) -> list[tuple[frozenset[str], list[int]]]:
    """Group the places of parts by the columns on which they depend, if they share any.

    >>> [places for _, places in independent([["a"], ["b"], ["a", "c"], []], [])]
    [[0, 2], [1], [3]]
    """
    groups: list[tuple[frozenset[str], list[int]]] = []
    sets: list[tuple[frozenset[str], list[int]]] = [(frozenset(names), []) for names in linked]
    sets += [(frozenset(part), [at]) for at, part in enumerate(parts)]
    for names, places in sets:
        touching = [group for group in groups if group[0] & names]
        columns = names.union(*(group[0] for group in touching))
        together = sorted([*places, *(at for group in touching for at in group[1])])
        groups = [group for group in groups if group not in touching] + [(columns, together)]
    return sorted((group for group in groups if group[1]), key=lambda group: group[1])
