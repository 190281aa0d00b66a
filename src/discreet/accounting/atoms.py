"""Atoms: the values of a column that no condition tells apart, for one tree or charge by charge.

Trust: kernel.

Values of one atom are charged alike, for better or worse.

Definition, of the atoms of a tree.  Its conditions on a column are sets of values.  Two values that
lie in the same of these sets cannot be told apart by the tree; such values form an atom.  A set is
then a union of atoms, kept as a mask of bits.
A set that merely encloses what is meant has values that it may or may not let through: they give
two atoms, one on each side, so that both cases are priced.
Definition, charge by charge.  Cuts divide the line of values into stretches; NULL is a stretch of
its own.  An atom is a set of stretches that every condition so far lets through or stops as a
whole, so that each condition is a set of atoms, kept as the bits of an integer.  A condition that
splits an atom gives one half a new number.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, pairwise
from typing import Final, final

from discreet.accounting.amounts import require_stored, stored_fields
from discreet.accounting.values import (
    ANYTHING,
    Cut,
    Values,
    are_normalized,
    common_kind,
    decode_cuts,
    encode_cuts,
)


@final
class ColumnAtoms:
    """The atoms of each column."""

    def __init__(self, sets: Mapping[str, Iterable[Values]]) -> None:
        """Cut each column along all sets that are used."""
        self._atoms: dict[str, list[Values]] = {}
        self._masks: dict[str, dict[Values, int]] = {}
        for column, used in sets.items():
            distinct = list(dict.fromkeys(used))
            atoms = _apart(distinct) if _disjoint(distinct) else _crossing(distinct)
            self._atoms[column] = [atom for atom, _ in atoms]
            self._masks[column] = {
                values: sum(1 << n for n, (_, inside) in enumerate(atoms) if inside >> index & 1)
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

    def atom(self, column: str, number: int) -> Values:
        """Return the values of an atom."""
        return self._atoms[column][number]

    def points(self, column: str, atom: int) -> int | None:
        """Count the values of an atom, NULL among them; None where it holds a range."""
        values = self._atoms[column][atom]
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
        (values.cuts[start], values.cuts[start + 1])
        for values in sets
        for start in range(0, len(values.cuts), 2)
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


_MOST_KNOWN: Final = 256


@final
class AtomRefinement:
    """The atoms of one column, numbered from 0."""

    __slots__ = ("_count", "_known", "atoms", "cuts", "kind", "null")

    def __init__(self) -> None:
        """Start with one atom that holds everything."""
        self.kind: str | None = None
        self.cuts: list[Cut] = []
        self.atoms: list[int] = [0]  # of each stretch, from the lowest
        self.null = 0
        self._count: list[int] = [2]  # stretches of each atom
        self._known: dict[Values, int] = {}  # conditions that are sets of atoms

    @property
    def size(self) -> int:
        """How many atoms there are."""
        return len(self._count)

    def meeting(self, values: Values) -> int:
        """Return the atoms that hold some value of a set, as bits."""
        known = self._known.get(values)
        if known is not None:
            return known
        common_kind(self.kind, values.kind)
        met = {self.atoms[stretch] for stretch in self._stretches(values)}
        return _bits(met | {self.null} if values.null else met)

    def refine(self, values: Values) -> list[tuple[int, int]]:
        """Split atoms until a set of values is a set of atoms; return their old and new numbers.

        Of each atom that was split, the old number stays with one half, and the new one names the
        other.
        """
        if values in self._known:
            return []
        self.kind = common_kind(self.kind, values.kind)
        for cut in values.cuts:
            self._cut(cut)
        side = values  # the side with fewer stretches is walked
        walked = list(self._stretches(side))
        if 2 * len(walked) > len(self.atoms):
            side = ~values
            walked = list(self._stretches(side))
        met = Counter(self.atoms[stretch] for stretch in walked)
        if side.null:
            met[self.null] += 1
        new = self._split(met)
        for stretch in walked:
            self.atoms[stretch] = new.get(self.atoms[stretch], self.atoms[stretch])
        if side.null:
            self.null = new.get(self.null, self.null)
        self._remember(new)
        bits = _bits(new.get(atom, atom) for atom in met)
        self._known[values] = bits if side is values else bits ^ ((1 << self.size) - 1)
        return list(new.items())

    def merge(self, numbers: Sequence[int]) -> None:
        """Give each atom a new number; atoms that get the same one are one from now on."""
        self.null = numbers[self.null]
        atoms = [numbers[atom] for atom in self.atoms]
        kept = [stretch for stretch, (here, there) in enumerate(pairwise(atoms)) if here != there]
        self.cuts = [self.cuts[stretch] for stretch in kept]
        self.atoms = [atoms[stretch] for stretch in kept] + atoms[-1:]
        self._recount()

    def copy(self) -> AtomRefinement:
        """Return atoms that can be changed apart from these."""
        twin = AtomRefinement()
        twin.kind, twin.null = self.kind, self.null
        twin.cuts, twin.atoms = self.cuts.copy(), self.atoms.copy()
        twin._count, twin._known = self._count.copy(), self._known.copy()
        return twin

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly."""
        return {
            "kind": self.kind,
            "cuts": encode_cuts(tuple(self.cuts)),
            "atoms": self.atoms.copy(),
            "null": self.null,
        }

    @classmethod
    def read(cls, data: object) -> AtomRefinement:
        """Read what ``written`` wrote, and refuse everything else."""
        stored = stored_fields(data, "kind", "cuts", "atoms", "null")
        atoms = cls()
        kind, numbers, null = stored["kind"], stored["atoms"], stored["null"]
        cuts = decode_cuts(stored["cuts"], kind)
        require_stored(not cuts or are_normalized(kind, cuts))
        require_stored(isinstance(numbers, list) and len(numbers) == len(cuts) + 1)
        everywhere = [*numbers, null]
        require_stored(all(type(number) is int for number in everywhere))
        require_stored(set(everywhere) == set(range(len(set(everywhere)))))
        atoms.kind, atoms.null = kind, null
        atoms.cuts, atoms.atoms = list(cuts), numbers.copy()
        atoms._recount()
        return atoms

    def _stretches(self, values: Values) -> Iterator[int]:
        """Return the stretches that hold some value of a set."""
        ends: list[Cut | None] = [None] * values.below + list(values.cuts)
        ends += [None] * (len(ends) % 2)
        last = len(self.cuts)
        return chain.from_iterable(
            range(
                0 if low is None else bisect_right(self.cuts, low),
                (last if high is None else bisect_left(self.cuts, high)) + 1,
            )
            for low, high in zip(ends[::2], ends[1::2], strict=True)
        )

    def _cut(self, cut: Cut) -> None:
        place = bisect_left(self.cuts, cut)
        if place == len(self.cuts) or self.cuts[place] != cut:
            atom = self.atoms[place]
            self.cuts.insert(place, cut)
            self.atoms.insert(place, atom)
            self._count[atom] += 1

    def _split(self, met: Counter[int]) -> dict[int, int]:
        """Number the halves of atoms that were met in part."""
        new = {}
        for atom in sorted(met):
            if met[atom] < self._count[atom]:
                new[atom] = self.size
                self._count[atom] -= met[atom]
                self._count.append(met[atom])
        return new

    def _remember(self, new: dict[int, int]) -> None:
        """Let what is known about earlier conditions hold after atoms were split."""
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        for old, half in new.items():
            for other, bits in self._known.items():
                self._known[other] = bits | (bits >> old & 1) << half

    def _recount(self) -> None:
        count = Counter([*self.atoms, self.null])
        self._count = [count[atom] for atom in range(len(count))]
        self._known = {}


def _bits(atoms: Iterator[int] | set[int]) -> int:
    bits = 0
    for atom in atoms:
        bits |= 1 << atom
    return bits
