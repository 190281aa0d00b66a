"""The best row for drawn queries, by integer programming.

Trust: public.

Definition.  A variable z for each bit that the sample names, with at most one of a column's bits
set (exactly one where all of its codes are named), and a variable c for each drawn conjunction.
Where the conjunction was drawn, c <= l for each of its literals l (a bit, or 1 - z): tighter than
one bound for their sum.  Where its negation was drawn, c >= sum of l - (width - 1).
The sum of c over the former, less that over the latter, is maximized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from scipy.optimize import (  # type: ignore[import-untyped]
    Bounds,
    LinearConstraint,
    milp,
)

from discreet.noise import Entropy
from discreet.synthetic.dual_query.oracle import LocalSearch, Sample, random_rows

_HALF = 0.5


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExactSearch:
    """Solve for the best row with HiGHS; ``nodes`` bounds its search, None proves the optimum.

    Where the solver stops without a row, or with one below that of local search, the latter counts.

    >>> from discreet.noise import KeyedEntropy
    >>> from discreet.synthetic.dual_query.conjunctions import Conjunctions
    >>> from discreet.synthetic.inference.values import CodedDomain
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
        """At most one code of a column, and exactly one where all are named."""
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
