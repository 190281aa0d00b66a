"""A model on a tree of cliques: marginals of any columns, and rows along the tree.

Trust: public.

Definition.  The law is the product of the chances of the first clique and, for each further clique
C with separator S, of the chances of C given S.
Rows are made in the same order.  The codes of the first clique are apportioned to all rows; then,
for each value of a separator, the codes of the new columns are apportioned to the rows that have
this value, which are taken in random order.  Cliques are those of the triangulated graph: given
measured marginals alone, columns of a cycle would lose what they share around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TooLarge
from discreet.noise import Entropy
from discreet.synthetic.inference.apportionment import shuffled, systematic_each
from discreet.synthetic.inference.belief_propagation import widened
from discreet.synthetic.inference.inference import Codes
from discreet.synthetic.inference.triangulation import CliqueTree
from discreet.synthetic.inference.values import CodedDomain, Marginal, code_type

Vector = NDArray[np.float64]

_MOST_ANSWERS: Final = 1 << 24
_AT_ONCE: Final = 1 << 23  # cells of a table that is made on the way: 64 MiB
_SMALL: Final = 1 << 12
_MOST_KNOWN: Final = 1 << 9  # 16 MiB together


@final
@dataclass(frozen=True, slots=True, eq=False)
class TreeModel:
    """Chances of each clique of a tree, in agreement where cliques overlap.

    >>> from discreet.noise import KeyedEntropy
    >>> domain = CodedDomain(("a", "b", "c"), (2, 2, 2))
    >>> same = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> tree = CliqueTree(((0, 1), (1, 2)), (-1, 0))
    >>> model = TreeModel(domain=domain, total=10.0, tree=tree, beliefs=(same, same))
    >>> model.marginal((0, 2)).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    >>> rows = model.rows(6, KeyedEntropy(key=bytes(32), label="rows"))
    >>> sorted(map(tuple, rows.tolist()))
    [(0, 0, 0), (0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1), (1, 1, 1)]
    """

    domain: CodedDomain
    total: float
    tree: CliqueTree
    beliefs: tuple[Vector, ...]
    parameters: Mapping[Marginal, Vector] = field(default_factory=dict)
    _known: dict[tuple[int, Marginal], Vector] = field(default_factory=dict, init=False, repr=False)
    _separators: tuple[Marginal, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note what cliques share: marginals across the tree ask for it again and again."""
        object.__setattr__(self, "_separators", self.tree.separators)

    def marginal(self, columns: Sequence[int]) -> Vector:
        """Return the expected counts of some columns."""
        wanted = self.domain.marginal(columns)
        if self.domain.size(wanted) > _MOST_ANSWERS:
            raise TooLarge(
                what=f"a marginal of {self.domain.size(wanted)} cells was asked for.",
                why="the answer has a number for each cell.",
                do="ask for fewer columns at a time.",
            )
        home = self.tree.home(wanted)
        if home is not None:
            return self.total * _summed(self.beliefs[home], self.tree.cliques[home], wanted)
        return self.total * self._across(wanted, {})

    def _across(self, free: Marginal, fixed: Mapping[int, int]) -> Vector:
        """Return the chances of free columns and of one code in each fixed column.

        Where the tables on the way would have too many cells at once, one free column is fixed to
        each of its codes in turn: that takes longer, and bounded memory.
        """
        if free and self._largest(free, fixed) > _AT_ONCE:
            column = max(free, key=lambda one: self.domain.sizes[one])
            rest = tuple(one for one in free if one != column)
            slices = [
                self._across(rest, {**fixed, column: code})
                for code in range(self.domain.sizes[column])
            ]
            return np.stack(slices, axis=free.index(column))
        tables: list[list[tuple[Vector, Marginal]]] = [[] for _ in self.tree.cliques]
        for number, own, needed, kept in self._messages(free, fixed):
            part = _sliced(*self._given(number, own), fixed)
            message = _contracted([part, *tables[number]], needed, kept), kept
            if number == 0:
                return _summed(*message, free)
            tables[self.tree.parents[number]].append(message)
        raise AssertionError  # the loop ends with the root

    def _messages(
        self, free: Marginal, fixed: Mapping[int, int]
    ) -> list[tuple[int, Marginal, Marginal, Marginal]]:
        """List the messages from the leaves to the root about some columns.

        Of each clique, only the columns that are wanted or shared with others on the way matter:
        a message has its clique, the columns that are read of it, those of all tables that meet
        there, and those that are sent on.
        """
        wanted = {*free, *fixed}
        cliques, separators, parents = self.tree.cliques, self._separators, self.tree.parents
        seen: list[set[int]] = [set(clique) & wanted for clique in cliques]
        met: list[set[int]] = [set() for _ in cliques]
        sent: list[tuple[int, Marginal, Marginal, Marginal]] = []
        for number in range(len(cliques) - 1, -1, -1):
            separator = separators[number]
            if number and seen[number] <= set(separator):
                continue  # what lies beyond is summed out, and sums to one
            kept = seen[number] | set(separator)
            own = tuple(column for column in cliques[number] if column in kept | met[number])
            shown = kept - set(fixed)
            needed = shown | (met[number] | set(own)) - set(fixed)
            sent.append((number, own, tuple(sorted(needed)), tuple(sorted(shown))))
            if number:
                met[parents[number]] |= kept
                seen[parents[number]] |= seen[number]
        return sent

    def _largest(self, free: Marginal, fixed: Mapping[int, int]) -> int:
        """Return how many cells the largest table on the way has."""
        return max(self.domain.size(needed) for _, _, needed, _ in self._messages(free, fixed))

    def _given(self, number: int, kept: Marginal) -> tuple[Vector, Marginal]:
        """Return the chances of some columns of a clique, given its separator, which is in them."""
        chances = self._known.get((number, kept))
        if chances is None:
            belief, clique = self.beliefs[number], self.tree.cliques[number]
            chances = _summed(belief, clique, kept)
            if number:
                separator = self._separators[number]
                below = widened(_summed(belief, clique, separator), separator, kept)
                chances = np.divide(chances, below, out=np.zeros_like(chances), where=below > 0)
            if chances.size <= _SMALL and len(self._known) < _MOST_KNOWN:
                self._known[number, kept] = chances
        return chances, kept

    def rows(self, count: int, stream: Entropy) -> Codes:
        """Return rows, made clique by clique."""
        steps = [
            RowStep.of(clique, separator, belief)
            for clique, separator, belief in zip(
                self.tree.cliques, self.tree.separators, self.beliefs, strict=True
            )
        ]
        return rows_by_steps(self.domain, steps, count, stream)


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowStep:
    """Draw new columns given known ones: one row of chances for each value of the known ones."""

    known: Marginal
    new: Marginal
    chances: Vector

    @classmethod
    def of(cls, clique: Marginal, known: Marginal, belief: Vector) -> RowStep:
        """Turn the chances of a clique into chances given some of its columns.

        >>> RowStep.of((0, 1), (1,), np.array([[0.1, 0.2], [0.3, 0.4]])).chances.tolist()
        [[0.1, 0.3], [0.2, 0.4]]
        """
        new = tuple(column for column in clique if column not in known)
        turned = belief.transpose([clique.index(column) for column in known + new])
        size = math.prod(turned.shape[: len(known)])
        return cls(known=known, new=new, chances=np.ascontiguousarray(turned).reshape(size, -1))


def rows_by_steps(
    domain: CodedDomain, steps: Sequence[RowStep], count: int, stream: Entropy
) -> Codes:
    """Make rows step by step, apportioning codes among the rows that agree on known columns.

    >>> from discreet.noise import KeyedEntropy
    >>> domain = CodedDomain(("a",), (2,))
    >>> step = RowStep(known=(), new=(0,), chances=np.array([[0.5, 0.5]]))
    >>> rows_by_steps(domain, [step], 4, KeyedEntropy(key=bytes(32), label="r")).sum()
    np.uint64(2)
    """
    table = np.zeros((count, domain.columns), code_type(domain.sizes), order="F")
    for step in steps:
        if not step.new:
            continue
        groups = _cells(domain, table, step.known)
        order = shuffled(count, stream)
        if step.known:
            order = order[np.argsort(groups[order], kind="stable")]
        sizes = np.bincount(groups, minlength=len(step.chances))
        shares = systematic_each(step.chances, sizes, stream)
        values = np.tile(np.arange(shares.shape[1], dtype=np.uint32), shares.shape[0])
        values = np.repeat(values, shares.ravel())
        for column in reversed(step.new):
            size = np.uint32(domain.sizes[column])
            table[order, column] = values % size
            values //= size
    return table


def _cells(domain: CodedDomain, table: Codes, columns: Marginal) -> Codes:
    """Return the number of the cell of some columns that each row is in."""
    cells: Codes = np.zeros(len(table), code_type([domain.size(columns) + 1]))
    for column in columns:
        cells *= cells.dtype.type(domain.sizes[column])
        cells += table[:, column]
    return cells


def _summed(values: Vector, over: Marginal, kept: Marginal) -> Vector:
    axes = tuple(axis for axis, column in enumerate(over) if column not in kept)
    return np.asarray(values.sum(axis=axes))


def _sliced(values: Vector, columns: Marginal, fixed: Mapping[int, int]) -> tuple[Vector, Marginal]:
    """Return the part of a table that has given codes in some columns."""
    place = tuple(fixed.get(column, slice(None)) for column in columns)
    return values[place], tuple(column for column in columns if column not in fixed)


def _contracted(
    tables: Sequence[tuple[Vector, Marginal]], columns: Marginal, kept: Marginal
) -> Vector:
    """Multiply tables, aligned by their columns, and sum over all columns but some."""
    if len(tables) == 1:
        return _summed(*tables[0], kept)
    product = widened(*tables[0], columns)
    for table, over in tables[1:]:
        product = product * widened(table, over, columns)
    return _summed(product, columns, kept)
