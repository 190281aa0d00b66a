"""The linear program of the best private mechanism, solved in floating point.

Trust: public.  Whatever the solver returns is repaired and certified by its one caller.

Variables are the chances P[i][o], row by row, and where there is no prior the largest expected cost
of any input, last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import Interval
from discreet.mechanisms.matrix import Matrix, Row
from discreet.units import NeighborGraph

if TYPE_CHECKING:  # loaded when a program is solved, because SciPy takes its time
    from scipy.sparse import coo_array  # type: ignore[import-untyped]

_PRECISE: Final = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Which inputs are neighbors, e^epsilon, and what is to be small on average over a prior.

    Without a prior the largest expected cost of any input is to be small.
    """

    graph: NeighborGraph
    growth: Interval
    cost: Matrix
    prior: Row | None

    @property
    def edges(self) -> list[tuple[int, int]]:
        """All ordered pairs of neighbors."""
        return list(self.graph.ordered())


@final
@dataclass(frozen=True, slots=True)
class Solution:
    """Floats: the laws, a multiplier for each edge and output, and the least favorable prior."""

    laws: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    prior: NDArray[np.float64]


def solve(problem: Problem) -> Solution:
    """Solve the linear program as well as floating point can."""
    from scipy.optimize import linprog  # type: ignore[import-untyped]  # noqa: PLC0415  as above

    cost = np.array([[float(entry) for entry in row] for row in problem.cost])
    size, width = cost.shape
    worst = problem.prior is None
    limits = _limits(problem, cost)
    solved = linprog(
        _aim(problem, cost),
        A_ub=limits if limits.shape[0] else None,
        b_ub=np.zeros(limits.shape[0]) if limits.shape[0] else None,
        A_eq=_sums(size, width, extra=worst),
        b_eq=np.ones(size),
        bounds=[(0, 1)] * (size * width) + [(None, None)] * worst,
        method="highs",
        options=_PRECISE,
    )
    if solved.status != 0:
        raise OutOfRange(
            what="the linear program was not solved.",
            why="the costs or epsilon are too extreme for floating point.",
            do="scale the costs to moderate numbers, or give a smaller epsilon.",
        )
    dual = np.clip(-np.asarray(solved.ineqlin.marginals, np.float64), 0, None)
    edges = len(problem.edges)
    weights = dual[edges * width :]
    return Solution(
        laws=solved.x[: size * width].reshape(size, width),
        multipliers=dual[: edges * width].reshape(edges, width),
        prior=weights / weights.sum() if weights.sum() > 0 else np.full(size, 1 / size),
    )


def _aim(problem: Problem, cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of what is to be small."""
    if problem.prior is None:
        return np.append(np.zeros(cost.size), 1.0)
    weights = np.array([float(p) for p in problem.prior])
    return (weights[:, None] * cost).ravel()


def _sums(size: int, width: int, *, extra: bool) -> coo_array:
    """Return the rows that sum up each law."""
    from scipy.sparse import coo_array  # noqa: PLC0415  as above

    entry = np.arange(size * width)
    return coo_array(
        (np.ones(entry.size), (entry // width, entry)), shape=(size, size * width + extra)
    )


def _limits(problem: Problem, cost: NDArray[np.float64]) -> coo_array:
    """Return the rows that must not be above zero: P[i][o] - r P[j][o], then cost - worst cost."""
    from scipy.sparse import coo_array, vstack  # noqa: PLC0415  as above

    size, width = cost.shape
    edges = np.array(problem.edges, np.int64).reshape(-1, 2)
    first, second = ((edges[:, [side]] * width + np.arange(width)).ravel() for side in (0, 1))
    count = first.size
    entries = np.append(np.ones(count), np.full(count, -float(problem.growth.low)))
    places = (np.tile(np.arange(count), 2), np.append(first, second))
    worst = problem.prior is None
    privacy = coo_array((entries, places), shape=(count, size * width + worst))
    if not worst:
        return privacy
    entry = np.arange(size * width)
    bound = coo_array(
        (
            np.append(cost.ravel(), -np.ones(size)),
            (
                np.append(entry // width, np.arange(size)),
                np.append(entry, np.full(size, entry.size)),
            ),
        ),
        shape=(size, size * width + 1),
    )
    return coo_array(vstack([privacy, bound]))
