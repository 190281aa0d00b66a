"""Cells: the kinds of records that a tree can distinguish, and where the rows of a unit can lie.

Trust: kernel.

Values of one atom are charged alike, for better or worse.

Definition.  The conditions of a tree on a column are sets of values.  Two values that are in the
same of these sets cannot be distinguished by the tree; such values form an atom.  A set is then a
union of atoms, kept as a mask of bits.  A set that merely encloses what is meant has values that it
may or may not let through: they give two atoms, one on each side, so that both cases are priced.
A cell says in which atoms of each column a record lies: one atom, or up to r of them if a record
has up to r values of a key.  Atoms that the tree treats alike are distinguished only as far as
different rows may be in different ones of them.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Final, final

from discreet.accounting.box import Box, Contribution
from discreet.accounting.nodes import Node
from discreet.accounting.parts_and_samples import Parallel, Where, overlapping_keys
from discreet.accounting.values import ANYTHING, Values

Cell = tuple[int, ...]
"""For each column the atoms in which a record lies, as bits; 0 if the column does not matter."""

Rows = tuple[tuple[Cell, int], ...]
"""Rows by cell, in order."""

Groups = Mapping[str, Sequence[Sequence[int]]]
"""For each column its atoms, those together that are treated alike."""

_MOST_CELLS: Final = 50_000


@final
class Domain:
    """The atoms of the columns of a tree, and the cells in which the rows of one unit can lie."""

    def __init__(self, tree: Node, boxes: Sequence[Box], contribution: Contribution) -> None:
        self._boxes, self._contribution = boxes, contribution
        self._overlaps = overlapping_keys(tree, boxes)
        self._atoms: dict[str, list[Values]] = {}
        self._masks: dict[str, dict[Values, int]] = {}
        self.most_vague = 0
        for column, used in _conditions(tree, boxes).items():
            distinct = list(dict.fromkeys(used))
            atoms = _disjoint(distinct) or _crossing(distinct)
            self._atoms[column] = [atom for atom, _ in atoms]
            self._masks[column] = {
                values: sum(1 << n for n, (_, inside) in enumerate(atoms) if inside >> index & 1)
                for index, values in enumerate(distinct)
            }
            vague = sum(not values.exact for values in used)
            self.most_vague = max(self.most_vague, vague)

    def names(self) -> list[str]:
        return list(self._atoms)

    def atom(self, column: str, number: int) -> Values:
        return self._atoms[column][number]

    def mask(self, column: str, values: Values) -> int:
        """Return which atoms are in a set that the tree or a box names."""
        return self._masks[column][values]

    def cell(self, record: Mapping[str, object]) -> Cell:
        """Return in which atoms a record lies, which has a value or a tuple of them by column."""
        cell = []
        for column, atoms in self._atoms.items():
            values = record[column] if isinstance(record[column], tuple) else (record[column],)
            met = (any(each in atom for each in values) for atom in atoms)  # type: ignore[attr-defined]
            cell.append(sum(1 << at for at, inside in enumerate(met) if inside))
        return tuple(cell)

    def alike(  # noqa: C901  (two kinds of conditions, and boxes)
        self, tree: Node, number: Callable[[Node], int]
    ) -> Groups:
        """Group the atoms of each column that a tree and impossible boxes treat alike."""
        marks: dict[str, list[list[object]]] = {
            column: [[self._points(values)] for values in atoms]
            for column, atoms in self._atoms.items()
        }

        def note(column: str, values: Values, mark: object) -> None:
            for atom in bits(self.mask(column, values)):
                marks[column][atom].append(mark)

        for at, node in enumerate(tree.walk()):
            match node:
                case Parallel(key=key):
                    for place, (values, child) in enumerate(node.parts):
                        several = self.mask(key, values).bit_count() > 1  # they stay together
                        note(key, values, (at, number(child), place if several else -1))
                case Where(box=box):
                    for column, values in box.conditions:
                        note(column, values, at)
        for box in self._boxes:
            for column, values in box.conditions:
                note(column, values, box)
        groups: dict[str, dict[tuple[object, ...], list[int]]] = {}
        for column, atoms in marks.items():
            mine = groups.setdefault(column, {})
            for atom, mark in enumerate(atoms):
                mine.setdefault(tuple(mark), []).append(atom)
        return {column: list(mine.values()) for column, mine in groups.items()}

    def cells(self, used: Collection[str], like: Groups, rows: int) -> list[Cell] | None:
        """Return the cells of some columns, as many alike as rows can distinguish; None if many."""
        choices: list[list[int]] = []
        for column in self.names():
            if column not in used:
                choices.append([0])
                continue
            most = self._overlaps.get(column, 1)
            atoms = [atom for alike in like[column] for atom in alike[: rows * most]]
            choices.append(
                [
                    sum(1 << atom for atom in some)
                    for count in range(1, most + 1)
                    for some in itertools.combinations(sorted(atoms), count)
                ]
            )
            if math.prod(map(len, choices)) > _MOST_CELLS:
                return None
        at = {column: place for place, column in enumerate(self._atoms)}
        impossible = [
            [(at[column], self.mask(column, values)) for column, values in box.conditions]
            for box in self._boxes
        ]
        return [
            cell
            for cell in itertools.product(*choices)
            if not any(all(cell[place] & mask for place, mask in box) for box in impossible)
        ]

    def placings(self, cells: Sequence[Cell], size: int) -> list[Rows] | None:
        """Return the ways in which so many rows of a unit can be in cells; fewer if they must.

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

    def first_changes(
        self, old: Sequence[Rows], new: Sequence[Rows], like: Groups, most: int
    ) -> list[tuple[Rows, Rows]] | None:
        """Return the pairs of old and new rows, of those that are treated alike the first.

        None if there are more than ``most`` to look at.
        """
        groups = [[sum(1 << atom for atom in alike) for alike in like[c]] for c in self.names()]
        first = [rows for rows in old if _is_first(groups, rows, ())]
        if len(first) * len(new) > most:
            return None
        return [pair for pair in itertools.product(first, new) if _is_first(groups, *pair)]

    def _points(self, atom: Values) -> int | None:
        """Count the values of an atom, NULL among them; None if it holds a range."""
        if not atom.exact:
            return None
        if atom.kind == "bool":
            return sum(truth in atom for truth in (False, True)) + atom.null
        ends = atom.cuts
        pairs = zip(ends[::2], ends[1::2], strict=False)
        if atom.below or len(ends) % 2 or any(low[0] != high[0] for low, high in pairs):
            return None
        return len(ends) // 2 + atom.null

    def _fits(self, rows: Sequence[Cell]) -> bool:
        """Return whether rows are within the limits of one unit."""
        limits = self._contribution
        for at, column in enumerate(self._atoms if len(rows) > 1 else ()):
            if not limits.limits(column) or not any(cell[at] for cell in rows):
                continue
            counts = Counter(atom for cell in rows for atom in bits(cell[at]))
            if len(counts) > limits.most_parts(column) * self._overlaps.get(column, 1):
                return False
            for atom, count in counts.items():
                values = self._points(self.atom(column, atom))
                if values is not None and count > limits.most_rows(column) * values:
                    return False
        return True


def bits(mask: int) -> Iterator[int]:
    """Yield the atoms of a mask."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def independent(
    parts: Sequence[Collection[str]], linked: Iterable[Collection[str]]
) -> list[tuple[frozenset[str], list[int]]]:
    """Group the places of parts by the columns on which they depend, if they share any."""
    groups: list[tuple[frozenset[str], list[int]]] = []
    sets: list[tuple[frozenset[str], list[int]]] = [(frozenset(names), []) for names in linked]
    sets += [(frozenset(part), [at]) for at, part in enumerate(parts)]
    for names, places in sets:
        touching = [group for group in groups if group[0] & names]
        columns = names.union(*(group[0] for group in touching))
        together = sorted([*places, *(at for group in touching for at in group[1])])
        groups = [group for group in groups if group not in touching] + [(columns, together)]
    return sorted((group for group in groups if group[1]), key=lambda group: group[1])


def _conditions(tree: Node, boxes: Iterable[Box]) -> dict[str, list[Values]]:
    """Gather the sets of values that are used for each column."""
    sets: dict[str, list[Values]] = {}
    named = [*boxes]
    for node in tree.walk():
        if isinstance(node, Parallel):
            sets.setdefault(node.key, []).extend(values for values, _ in node.parts)
        elif isinstance(node, Where):
            named.append(node.box)
    for box in named:
        for column, values in box.conditions:
            sets.setdefault(column, []).append(values)
    return sets


def _disjoint(sets: Sequence[Values]) -> list[tuple[Values, int]] | None:
    """Return the atoms of sets that are disjoint at a glance: bounded ranges, side by side."""
    if any(values.below or not values.exact or len(values.cuts) % 2 for values in sets):
        return None
    if sum(values.null for values in sets) > 1 or len({values.kind for values in sets}) > 1:
        return None
    ranges = sorted(
        (values.cuts[start], values.cuts[start + 1])
        for values in sets
        for start in range(0, len(values.cuts), 2)
    )
    if any(before[1] > after[0] for before, after in pairwise(ranges)):
        return None
    atoms = [(values, 1 << index) for index, values in enumerate(sets) if not values.empty]
    rest = ~_united(sets)
    return atoms if rest.empty else [*atoms, (rest, 0)]


def _united(sets: Sequence[Values]) -> Values:
    """Unite by halves, since the cuts of a union are gone through again each time."""
    if len(sets) <= 2:
        return reduce(operator.or_, sets)
    half = len(sets) // 2
    return _united(sets[:half]) | _united(sets[half:])


def _crossing(sets: Sequence[Values]) -> list[tuple[Values, int]]:
    """Return the atoms of any sets, each with the bits of the sets in which it lies."""
    atoms = [(ANYTHING, 0)]
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


def _is_first(groups: Sequence[Sequence[int]], old: Rows, new: Rows) -> bool:
    """Return whether a change is the first of those that differ in the names of atoms alone.

    The old rows take the first atoms of a group, and the new ones the first that are left; a
    single old row shares its first atoms.
    """
    for at, alike in enumerate(groups):
        left, entered = (reduce(operator.or_, (c[at] for c, _ in rows), 0) for rows in (old, new))
        for group in alike:
            mine = left & group
            apart, shared = entered & group & ~mine, entered & mine
            if not (_is_prefix(mine, group) and _is_prefix(apart, group & ~mine)):
                return False
            if len(old) == 1 and old[0][1] == 1 and not _is_prefix(shared, mine):
                return False
    return True


def _is_prefix(some: int, every: int) -> bool:
    """Return whether some atoms come before all others."""
    rest = every & ~some
    return not some or not rest or (rest & -rest) > some
