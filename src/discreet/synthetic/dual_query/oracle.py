"""A row that as many drawn queries as possible hold for: local search, one column at a time.

Trust: public.  Drawn queries are released, so any use of them is post-processing; an oracle that
finds a poor row costs accuracy.

The best row for drawn queries, by integer programming.

Definition.  A variable z for each bit that the sample names, with at most one of a column's bits
set (exactly one if all of its codes are named), and a variable c for each drawn conjunction.
If the conjunction was drawn, c <= l for each of its literals l (a bit, or 1 - z): tighter than one
bound for their sum.  If its negation was drawn, c >= sum of l - (width - 1).
The sum of c over the former, less that over the latter, is maximized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from scipy.optimize import (  # type: ignore[import-untyped]
    Bounds,
    LinearConstraint,
    milp,
)

from discreet.noise import Entropy, Uniform
from discreet.synthetic.dual_query.conjunctions import Conjunctions
from discreet.synthetic.inference.inference import CodedDomain

_MOST_SWEEPS: Final = 100


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Drawn queries: literals of conjunctions, and +1, or -1 if the negation was drawn."""

    domain: CodedDomain
    columns: NDArray[np.int64]
    codes: NDArray[np.int64]
    negated: NDArray[np.bool_]
    signs: NDArray[np.int64]

    @classmethod
    def of(cls, queries: Conjunctions, drawn: NDArray[np.int64]) -> Sample:
        """Look drawn numbers up; those from K on are negations."""
        number = drawn % queries.count
        bits = queries.bits[number]
        return cls(
            domain=queries.domain,
            columns=queries.bit_columns[bits].astype(np.int64),
            codes=queries.bit_codes[bits].astype(np.int64),
            negated=queries.negated[number],
            signs=np.where(drawn < queries.count, 1, -1),
        )

    def met(self, row: NDArray[np.integer[Any]]) -> int:
        """Return how many of the drawn queries hold for a row.

        >>> domain = CodedDomain(("a", "b"), (2, 2))
        >>> queries = Conjunctions.of(domain, [[(0, 1, True), (1, 1, True)]])
        >>> Sample.of(queries, np.array([0, 0, 1])).met(np.array([1, 1]))
        2
        """
        held = ((np.asarray(row)[self.columns] == self.codes) ^ self.negated).all(axis=1)
        return int(np.count_nonzero(held == (self.signs > 0)))


class Oracle(Protocol):
    """Looks for a row that as many drawn queries as possible hold for."""

    def best(self, sample: Sample, stream: Entropy) -> NDArray[np.int64]:
        """Return a row of codes; ``stream`` is public."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSearch:
    """Coordinate ascent from several rows: the best code of each column in turn.

    All rows but the first are random.  In the first one, literals have voted.  If queries share
    few columns, that decides: on 512,000 columns, 58 % of drawn queries held for the best row from
    random starts alone, and more than 99.9 % with the vote (docs/benchmarks/synthetic.md).

    Each column of the domain is a group of bits with exactly one set.  A domain of columns with two
    codes leaves all bits free.

    >>> from discreet.noise import KeyedEntropy
    >>> domain = CodedDomain(("a", "b"), (3, 2))
    >>> queries = Conjunctions.of(domain, [[(0, 2, True), (1, 1, True)]])
    >>> LocalSearch().best(Sample.of(queries, np.array([0])),
    ...     KeyedEntropy(key=bytes(32), label="rows")).tolist()
    [2, 1]
    """

    restarts: int = 3

    def best(self, sample: Sample, stream: Entropy) -> NDArray[np.int64]:
        """Return the best of several local optima."""
        starts = random_rows(sample.domain, self.restarts, stream)
        vote(sample, starts[0])
        truth = (starts[:, sample.columns] == sample.codes) ^ sample.negated
        moves = [_Move(sample, int(column)) for column in np.unique(sample.columns)]
        for _ in range(_MOST_SWEEPS):
            moved = [move.take(starts, truth) for move in moves]
            if not any(moved):
                break
        values = truth.all(axis=2) @ sample.signs
        return np.asarray(starts[int(values.argmax())])


def vote(sample: Sample, row: NDArray[np.int64]) -> None:
    """Give each column of a row the code that most literals of the drawn queries are for.

    >>> queries = Conjunctions.of(
    ...     CodedDomain(("a", "b"), (3, 2)), [[(0, 2, True), (1, 1, False)]])
    >>> row = np.array([0, 1])
    >>> vote(Sample.of(queries, np.array([0])), row)
    >>> row.tolist()
    [2, 0]
    """
    columns, place = np.unique(sample.columns, return_inverse=True)
    sizes = np.array(sample.domain.sizes)[columns]
    votes = np.zeros((columns.size, int(sizes.max())))
    signs = np.where(sample.negated, -1, 1) * sample.signs[:, None]
    np.add.at(votes, (place.reshape(sample.columns.shape), sample.codes), signs)
    votes[np.arange(votes.shape[1]) >= sizes[:, None]] = -np.inf
    row[columns] = votes.argmax(axis=1)


@final
class _Move:
    """Give one column its best code, in all rows at once."""

    def __init__(self, sample: Sample, column: int) -> None:
        here = sample.columns == column
        self._column = column
        self._queries = np.flatnonzero(here.any(axis=1))
        here = here[self._queries]
        codes, negated = sample.codes[self._queries], sample.negated[self._queries]
        self._elsewhere = ~here
        self._places = np.nonzero(here)
        self._codes, self._negated = codes[here], negated[here]
        values = np.arange(sample.domain.sizes[column])
        fits = ~here[..., None] | ((codes[..., None] == values) ^ negated[..., None])
        self._gains = fits.all(axis=1) * sample.signs[self._queries, None].astype(np.float64)

    def take(self, rows: NDArray[np.int64], truth: NDArray[np.bool_]) -> bool:
        """Move to better codes, and say whether any row moved."""
        rest = (truth[:, self._queries] | ~self._elsewhere).all(axis=2)
        gains = rest.astype(np.float64) @ self._gains
        now = rows[:, self._column]
        every = np.arange(len(rows))
        better = gains.argmax(axis=1)
        moved = gains[every, better] > gains[every, now]
        if not moved.any():
            return False
        rows[:, self._column] = np.where(moved, better, now)
        queries, place = self._places
        truth[:, self._queries[queries], place] = (
            rows[:, self._column, None] == self._codes
        ) ^ self._negated
        return True


def random_rows(domain: CodedDomain, count: int, stream: Entropy) -> NDArray[np.int64]:
    """Return rows of independent codes, which a public stream decides.

    >>> from discreet.noise import KeyedEntropy
    >>> random_rows(CodedDomain(("a",), (1,)), 2, KeyedEntropy(key=bytes(32), label="r")).tolist()
    [[0], [0]]
    """
    rows = np.empty((count, domain.columns), np.int64)
    sizes = np.array(domain.sizes)
    for size in np.unique(sizes):
        columns = np.flatnonzero(sizes == size)
        codes = Uniform(below=int(size)).sample(count * columns.size, stream)
        rows[:, columns] = codes.reshape(count, -1)
    return rows


_HALF = 0.5


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSearch:
    """Solve for the best row with HiGHS; ``nodes`` bounds its search, None proves the optimum.

    If the solver stops without a row, or with one worse than that of local search, the latter
    counts.

    >>> from discreet.noise import KeyedEntropy
    >>> from discreet.synthetic.dual_query.conjunctions import Conjunctions
    >>> from discreet.synthetic.inference.inference import CodedDomain
    >>> domain = CodedDomain(("a", "b"), (3, 2))
    >>> queries = Conjunctions.of(domain, [[(0, 2, True), (1, 1, True)]])
    >>> ExactSearch().best(Sample.of(queries, np.array([0])),
    ...     KeyedEntropy(key=bytes(32), label="rows")).tolist()
    [2, 1]
    """

    nodes: int | None = None

    def best(self, sample: Sample, stream: Entropy) -> NDArray[np.int64]:
        """Return the best row that was found."""
        found = LocalSearch().best(sample, stream)
        program = _Program(sample)
        options = {} if self.nodes is None else {"node_limit": self.nodes}
        result = milp(
            -program.worth,
            integrality=program.whole,
            bounds=Bounds(0, 1),
            constraints=program.constraints,
            options=options,
        )
        if result.x is None:
            return found
        row = program.row(result.x, random_rows(sample.domain, 1, stream)[0])
        return row if sample.met(row) >= sample.met(found) else found


@final
class _Program:
    """The integer program of a sample: bits first, then conjunctions."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        widest = max(sample.domain.sizes)
        known, bits = np.unique(sample.columns * widest + sample.codes, return_inverse=True)
        self._columns, self._codes = known // widest, known % widest
        bits = bits.reshape(sample.columns.shape)
        drawn = len(sample.signs)
        self._bits = len(known)
        self.whole = np.repeat([1, 0], [self._bits, drawn])
        self.worth = np.concatenate([np.zeros(self._bits), sample.signs])
        self.constraints = [self._one_code(drawn), *self._truths(bits)]

    def _one_code(self, drawn: int) -> LinearConstraint:
        """At most one code of a column, and exactly one if all are named."""
        named, place, number = np.unique(self._columns, return_inverse=True, return_counts=True)
        sizes = np.array(self._sample.domain.sizes)[named]
        matrix = sparse.csr_array(
            (np.ones(self._bits), (place, np.arange(self._bits))),
            shape=(len(named), self._bits + drawn),
        )
        return LinearConstraint(matrix, lb=np.where(number == sizes, 1.0, 0.0), ub=1.0)

    def _truths(self, bits: NDArray[np.int64]) -> list[LinearConstraint]:
        """Tie each conjunction to its literals, from the side that its sign pushes against."""
        sample, shape = self._sample, self._bits + len(self._sample.signs)
        slopes = np.where(sample.negated, -1.0, 1.0)
        constraints = []
        above, width = np.flatnonzero(sample.signs > 0), bits.shape[1]
        if above.size:  # c - l <= 0 for each literal
            rows = np.arange(above.size * width)
            matrix = sparse.csr_array(
                (
                    np.concatenate([np.ones(rows.size), -slopes[above].ravel()]),
                    (
                        np.concatenate([rows, rows]),
                        np.concatenate([self._bits + np.repeat(above, width), bits[above].ravel()]),
                    ),
                ),
                shape=(rows.size, shape),
            )
            limit = sample.negated[above].ravel().astype(np.float64)
            constraints.append(LinearConstraint(matrix, ub=limit))
        below = np.flatnonzero(sample.signs < 0)
        if below.size:  # c - sum of l >= 1 - width
            rows = np.repeat(np.arange(below.size), width)
            matrix = sparse.csr_array(
                (
                    np.concatenate([np.ones(below.size), -slopes[below].ravel()]),
                    (
                        np.concatenate([np.arange(below.size), rows]),
                        np.concatenate([self._bits + below, bits[below].ravel()]),
                    ),
                ),
                shape=(below.size, shape),
            )
            limit = 1.0 - width + sample.negated[below].sum(axis=1)
            constraints.append(LinearConstraint(matrix, lb=limit))
        return constraints

    def row(self, solution: NDArray[np.float64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        """Read a row off the solution; columns without a bit take a code that no query names."""
        row = other.copy()
        for column in np.unique(self._columns):
            mine = np.flatnonzero(self._columns == column)
            chosen = mine[solution[mine] > _HALF]
            if chosen.size:
                row[column] = self._codes[chosen[0]]
                continue
            free = np.setdiff1d(np.arange(self._sample.domain.sizes[column]), self._codes[mine])
            row[column] = free[int(other[column]) % free.size]
        return row
