"""A model on a tree of cliques: marginals of any columns, and rows along the tree.

Trust: public.

Definition.  The distribution is the product of the probabilities of the first clique and, for each
further clique C with separator S, of the probabilities of C given S.
Rows are made in the same order.  The codes of the first clique are apportioned to all rows; then,
for each value of a separator, the codes of the new columns are apportioned to the rows that have
this value, which are taken in random order.  Cliques are those of the triangulated graph: given
measured marginals alone, columns of a cycle would lose what they share around it.

Whole rows from expected counts: systematic rounding, with a public stream.

The stream comes from the digest of a release; it hides nothing.

Definition.  Shares c_1, ..., c_k of n rows, with partial sums C_i scaled so that C_k = n, become
floor(C_i + u) - floor(C_(i-1) + u) for one u that is uniform on [0, 1).
Each is c_i rounded up or down, right on average, and every run of neighboring cells together is
off by less than one row.

Cliques of a triangulated graph of columns, and the tree that joins them.

Definition.  Two columns are neighbors if a marginal holds both.  Columns are eliminated one by one:
the next is the one whose elimination adds the fewest edges (min-fill), then the one with the
smallest clique, then the first.  Eliminating a column joins all its neighbors.
The maximal cliques met on the way, joined by a spanning tree of largest separators, have the
running intersection property: columns that two cliques share are in all cliques between them.

Marginals of all cliques of a tree from a potential for each: two passes of messages.

Definition.  With log-potentials f_C, the distribution is proportional to exp(sum of f_C[x_C]).
Messages go from the leaves to the root and back; afterwards the belief of each clique is the
logarithm of its marginal, up to one constant (Lauritzen and Spiegelhalter 1988).  All sums are
taken in log space, so that no parameter is too large.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, TooLarge
from discreet.exact import freeze
from discreet.noise import Entropy
from discreet.synthetic.inference.inference import CodedDomain, Codes, Marginal, code_type

Vector = NDArray[np.float64]

_MOST_ANSWERS: Final = 1 << 24
AT_ONCE: Final = 1 << 23  # cells of a table that is made on the way: 64 MiB
_SMALL: Final = 1 << 12
_MOST_KNOWN: Final = 1 << 9  # 16 MiB together


@final
@dataclass(frozen=True, slots=True, eq=False)
class TreeModel:
    """Chances of each clique of a tree, in agreement if cliques overlap.

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
        freeze(self, _separators=self.tree.separators)

    def marginal(self, columns: Sequence[int]) -> Vector:
        """Return the expected counts of some columns."""
        wanted = self.domain.marginal(columns)
        if self.domain.size(wanted) > _MOST_ANSWERS:
            raise TooLarge(
                f"a marginal of {self.domain.size(wanted)} cells was asked for; ask for fewer "
                "columns at a time."
            )
        home = self.tree.home(wanted)
        if home is not None:
            return self.total * _summed(self.beliefs[home], self.tree.cliques[home], wanted)
        return self.total * self._across(wanted, {})

    def _across(self, free: Marginal, fixed: Mapping[int, int]) -> Vector:
        """Return the probabilities of free columns and of one code in each fixed column.

        If intermediate tables would have too many cells at once, one free column is fixed to each
        of its codes in turn: that takes longer, and bounded memory.
        """
        if free and self._largest(free, fixed) > AT_ONCE:
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
                continue  # the part beyond is summed out, and sums to one
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
        """Return the probabilities of some columns of a clique, given its separator among them."""
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
    """Draw new columns given known ones: one row of probabilities for each known value."""

    known: Marginal
    new: Marginal
    chances: Vector

    @classmethod
    def of(cls, clique: Marginal, known: Marginal, belief: Vector) -> RowStep:
        """Turn the probabilities of a clique into probabilities given some of its columns.

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


_WORD: Final = 53


def uniforms(count: int, stream: Entropy) -> Vector:
    """Return numbers from [0, 1), on a grid of 2**-53.

    >>> from discreet.noise import KeyedEntropy
    >>> bool((uniforms(9, KeyedEntropy(key=bytes(32), label="u")) < 1).all())
    True
    """
    return stream.words(count, _WORD).astype(np.float64) * 2.0**-_WORD


def systematic(shares: Vector, count: int, stream: Entropy) -> NDArray[np.int64]:
    """Apportion rows to cells by their shares.

    >>> from discreet.noise import KeyedEntropy
    >>> systematic(np.array([1.0, 2.0, 1.0]), 8, KeyedEntropy(key=bytes(32), label="u")).tolist()
    [2, 4, 2]
    """
    return systematic_each(shares[None, :], np.array([count]), stream).ravel()


def systematic_each(
    shares: Vector, counts: NDArray[np.int64], stream: Entropy
) -> NDArray[np.int64]:
    """Apportion the rows of each group (a row of ``shares``) to its cells.

    >>> from discreet.noise import KeyedEntropy
    >>> stream = KeyedEntropy(key=bytes(32), label="u")
    >>> systematic_each(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([4, 3]), stream).tolist()
    [[2, 2], [3, 0]]
    """
    sums = np.cumsum(shares, axis=1)
    totals = sums[:, -1:]
    ends = sums * np.divide(counts[:, None], totals, out=np.zeros_like(totals), where=totals > 0)
    ends += uniforms(len(counts), stream)[:, None]
    whole = np.minimum(ends, counts[:, None]).astype(np.int64)
    whole = np.where(sums >= totals, counts[:, None], whole)  # no row is left for empty cells
    return np.diff(whole, axis=1, prepend=0)


def shuffled(count: int, stream: Entropy) -> NDArray[np.intp]:
    """Return the numbers from 0 to count - 1 in an order that the stream decides.

    >>> from discreet.noise import KeyedEntropy
    >>> sorted(shuffled(4, KeyedEntropy(key=bytes(32), label="order")).tolist())
    [0, 1, 2, 3]
    """
    return np.argsort(stream.words(count, 64), kind="stable")


@final
@dataclass(frozen=True, slots=True)
class CliqueTree:
    """Cliques in an order such that each follows its parent; the first has none (-1).

    >>> tree = clique_tree(CodedDomain(("a", "b", "c"), (2, 3, 4)), [(0, 1), (1, 2)])
    >>> tree.cliques, tree.parents, tree.separators
    (((0, 1), (1, 2)), (-1, 0), ((), (1,)))
    """

    cliques: tuple[Marginal, ...]
    parents: tuple[int, ...]

    @property
    def separators(self) -> tuple[Marginal, ...]:
        """The columns that each clique shares with its parent."""
        return tuple(
            ()
            if parent < 0
            else tuple(column for column in clique if column in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, marginal: Sequence[int]) -> int | None:
        """Return the smallest clique that holds all these columns, if one does."""
        wanted = set(marginal)
        holders = [
            (len(clique), number)
            for number, clique in enumerate(self.cliques)
            if wanted.issubset(clique)
        ]
        return min(holders)[1] if holders else None


def clique_tree(domain: CodedDomain, marginals: Iterable[Marginal]) -> CliqueTree:
    """Triangulate the graph of these marginals, and join its cliques to a tree."""
    return join_cliques(triangulated(domain, marginals))


def tree_cells(domain: CodedDomain, marginals: Iterable[Marginal]) -> int:
    """Return how many numbers a junction tree of these marginals holds.

    >>> tree_cells(CodedDomain(("a", "b", "c"), (2, 3, 4)), [(0, 1), (1, 2)])
    18
    """
    return sum(domain.size(clique) for clique in triangulated(domain, marginals))


def triangulated(domain: CodedDomain, marginals: Iterable[Marginal]) -> tuple[Marginal, ...]:
    """Return the maximal cliques after min-fill elimination, in rising order.

    >>> ring = CodedDomain(tuple("abcd"), (2, 2, 2, 2))
    >>> triangulated(ring, [(0, 1), (1, 2), (2, 3), (0, 3)])
    ((0, 1, 3), (1, 2, 3))
    """
    neighbors = _neighbors(domain, marginals)
    costs = {column: _cost(domain, neighbors, column) for column in range(domain.columns)}
    found: list[int] = []
    while costs:
        added, _, column = min(costs.values())
        around = neighbors[column]
        clique = around | 1 << column
        if not any(clique & ~earlier == 0 for earlier in found):
            found.append(clique)
        del costs[column]
        touched = around
        for other in _columns(around):
            neighbors[other] = (neighbors[other] | around) & ~(1 << other | 1 << column)
            if added:  # without new edges, others' neighbors stay as they are
                touched |= neighbors[other]
        for other in _columns(touched):
            costs[other] = _cost(domain, neighbors, other)
    return tuple(sorted(tuple(_columns(clique)) for clique in found))


def _neighbors(domain: CodedDomain, marginals: Iterable[Marginal]) -> list[int]:
    """Return the neighbors of each column, as the bits of a number: sets would take longer."""
    neighbors = [0] * domain.columns
    for marginal in set(marginals):
        together = sum(1 << column for column in marginal)
        for column in marginal:
            neighbors[column] |= together & ~(1 << column)
    return neighbors


def _columns(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, from the lowest on."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _cost(domain: CodedDomain, neighbors: Sequence[int], column: int) -> tuple[int, int, int]:
    """Return how many edges an elimination adds, how many cells its clique has, and the column."""
    around, missing, cells = neighbors[column], 0, domain.sizes[column]
    for other in _columns(around):
        missing += (around & ~neighbors[other]).bit_count() - 1
        cells *= domain.sizes[other]
    return missing // 2, cells, column


def join_cliques(cliques: Sequence[Marginal]) -> CliqueTree:
    """Join cliques by a spanning tree of largest separators, from the first clique on.

    >>> join_cliques([(0,), (1, 2)]).parents
    (-1, 0)
    """
    best = dict.fromkeys(range(1, len(cliques)), (0, 0))  # size of separator, parent
    order, place = [0], {0: 0}
    for number in best:
        best[number] = (len(set(cliques[number]) & set(cliques[0])), 0)
    parents = [-1]
    while best:
        number = max(best, key=lambda candidate: (best[candidate][0], -candidate))
        parents.append(place[best.pop(number)[1]])
        place[number] = len(order)
        order.append(number)
        for other, (size, _) in best.items():
            shared = len(set(cliques[other]) & set(cliques[number]))
            if shared > size:
                best[other] = (shared, number)
    return CliqueTree(tuple(cliques[number] for number in order), tuple(parents))


def calibrated(tree: CliqueTree, potentials: Sequence[Vector]) -> list[Vector]:
    """Return the log-marginals of all cliques, each normalized to probabilities that sum to one.

    >>> tree = CliqueTree(((0, 1), (1, 2)), (-1, 0))
    >>> beliefs = calibrated(tree, [np.log([[1, 2], [3, 4]]), np.log([[1, 1], [1, 3]])])
    >>> np.exp(beliefs[0]).sum(axis=0).round(6).tolist()
    [0.25, 0.75]
    >>> np.exp(beliefs[1]).sum(axis=1).round(6).tolist()
    [0.25, 0.75]
    """
    beliefs = [potential.copy() for potential in potentials]
    separators = tree.separators
    sent: dict[int, Vector] = {}
    for number in range(len(beliefs) - 1, 0, -1):
        parent, separator = tree.parents[number], separators[number]
        sent[number] = log_marginal(beliefs[number], tree.cliques[number], separator)
        beliefs[parent] += widened(sent[number], separator, tree.cliques[parent])
    mass = log_marginal(beliefs[0], tree.cliques[0], ())
    if not np.isfinite(mass):
        raise OutOfRange(
            "the constraints leave no row possible; correct the statements about impossible "
            "combinations."
        )
    beliefs[0] -= mass
    for number in range(1, len(beliefs)):
        parent, separator = tree.parents[number], separators[number]
        back = log_marginal(beliefs[parent], tree.cliques[parent], separator)
        known = np.isfinite(sent[number])
        back = np.subtract(back, sent[number], out=np.full_like(back, -np.inf), where=known)
        beliefs[number] += widened(back, separator, tree.cliques[number])
    return beliefs


def log_marginal(belief: Vector, clique: Marginal, kept: Marginal) -> Vector:
    """Sum a belief over all columns but some, in log space.

    >>> log_marginal(np.zeros((2, 2)), (0, 1), (1,)).round(3).tolist()
    [0.693, 0.693]
    """
    axes = tuple(axis for axis, column in enumerate(clique) if column not in kept)
    if not axes:
        return belief
    top = belief.max(axis=axes, keepdims=True)
    top[~np.isfinite(top)] = 0.0
    sums = np.asarray(np.exp(belief - top).sum(axis=axes))
    with np.errstate(divide="ignore"):
        logs: Vector = np.log(sums) + top.reshape(sums.shape)
    return logs


def widened(values: Vector, columns: Marginal, clique: Marginal) -> Vector:
    """Give values of some columns an axis for each column of a clique.

    >>> widened(np.zeros(3), (1,), (0, 1, 2)).shape
    (1, 3, 1)
    """
    sizes = dict(zip(columns, values.shape, strict=True))
    return values.reshape([sizes.get(column, 1) for column in clique])
