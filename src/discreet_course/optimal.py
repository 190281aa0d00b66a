"""The best mechanism for a cost: geometric for every prior, or by linear programming.

Trust: public.

Definition.  On counts 0, ..., n, with a = e^-epsilon, the truncated geometric mechanism answers o
on input i with probability (1 - a)/(1 + a) a^|i-o|, and a^|i-o| / (1 + a) for o = 0 and o = n.
Theorem (key ``universal-geometric``; Ghosh, Roughgarden and Sundararajan 2012).  For every prior
and every cost that grows with |truth - answer|, the best epsilon-DP mechanism is this one followed
by a function of its output: the answer of least expected cost given that output.

Here a is rounded up to a multiple of 2**-64, which keeps every probability rational and the
mechanism epsilon-DP.

Definition.  Among all epsilon-DP mechanisms on a neighbor graph, find one whose expected cost is
smallest: on average over a prior, or (without one) on the worst input.  The constraints
P[i][o] <= e^epsilon P[j][o] are linear in P (Ghosh, Roughgarden and Sundararajan 2012).

A solver works in floating point, so its answer is only nearly private and only nearly optimal.
Theorem (key ``certified-optimum``).  Let r <= e^epsilon be rational.
    Repair.  Round the answer to rational rows P that sum to one, and let u be the average of the
    rows of a component.  If P[i][o] - r P[j][o] <= v[o] on all its edges, then
    (1 - t) P + t u is epsilon-DP as soon as (1 - t) v[o] <= t (r - 1) u[o] for every output o.
    Certificate.  For any multipliers m >= 0 on the constraints, any R >= e^epsilon, and any prior,
    no epsilon-DP mechanism costs less than
    sum over i of min over o of (cost[i][o] + sum over j of (m[i,j,o] - R m[j,i,o])),
    where cost[i][o] is weighted by the prior.  The solver's multipliers make this sharp.
So the mechanism is private, and the interval contains the best possible cost, for any output of the
solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, whole
from discreet.loss.elementary import exp
from discreet.mechanisms.finite import FiniteMechanism, Matrix, Row, stochastic
from discreet.mechanisms.mechanism import Number, factor
from discreet.units import NeighborGraph

if TYPE_CHECKING:  # loaded when a program is solved, because SciPy takes its time
    from scipy.sparse import coo_array  # type: ignore[import-untyped]

_BITS: Final = 64
_PRECISE: Final = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


Cost = Callable[[Any, Any], object]
"""A function of the truth and the answer, with numbers or booleans as results."""


def cost_table(cost: Cost, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Matrix:
    """Return the cost of each output on each input, exactly.

    >>> cost_table(lambda truth, answer: abs(truth - answer), (0, 1), (0, 1))
    ((Fraction(0, 1), Fraction(1, 1)), (Fraction(1, 1), Fraction(0, 1)))
    """
    if not callable(cost):
        raise WrongKind("cost must be a function of two arguments, the truth and the answer.")
    return tuple(tuple(_number(cost(x, y)) for y in outputs) for x in inputs)


def expectation(law: Iterable[Fraction], values: Iterable[Fraction]) -> Fraction:
    """Return the mean of values under a distribution.

    >>> expectation([Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(3)])
    Fraction(3, 2)
    """
    return sum((p * v for p, v in zip(law, values, strict=True)), Fraction(0))


def expected(mechanism: FiniteMechanism, cost: Cost) -> tuple[Fraction, ...]:
    """Return the expected cost(input, output) of a mechanism on each input, exactly.

    >>> coin = FiniteMechanism(matrix=[["0.75", "0.25"], ["0.25", "0.75"]])
    >>> expected(coin, lambda truth, answer: abs(truth - answer))
    (Fraction(1, 4), Fraction(1, 4))
    """
    table = cost_table(cost, mechanism.inputs, mechanism.outputs)
    return tuple(expectation(p, c) for p, c in zip(mechanism.matrix, table, strict=True))


def _number(value: object) -> Fraction:
    if isinstance(value, bool | np.bool_):
        return Fraction(int(value))
    return decimal(value, name="each cost")


def prior_on(prior: Iterable[object], size: int) -> Row:
    """Read how likely each input is.

    >>> prior_on(["0.5", 0.5], 2)
    (Fraction(1, 2), Fraction(1, 2))
    """
    (row,) = stochastic([listed(prior, name="prior")], name="prior")
    if len(row) != size:
        raise WrongKind(
            f"the prior does not have one chance for each input; give {size} chances that sum to "
            "one."
        )
    return row


def geometric_on_counts(*, largest: int, epsilon: Number) -> FiniteMechanism:
    """Return the truncated geometric mechanism on 0, ..., largest as an exact matrix.

    >>> vote = geometric_on_counts(largest=10, epsilon=1)
    >>> round(vote.epsilon(), 12), vote.epsilon() <= 1
    (1.0, True)
    """
    n = whole(largest, name="largest", low=1, high=1000)
    decay = exp(-factor(epsilon, name="epsilon")).high
    a = min(Fraction(1), Fraction(math.ceil(decay * (1 << _BITS)), 1 << _BITS))
    powers = [a**k for k in range(n + 1)]
    inner, end = (1 - a) / (1 + a), 1 / (1 + a)
    matrix = [
        [(end if o in {0, n} else inner) * powers[abs(i - o)] for o in range(n + 1)]
        for i in range(n + 1)
    ]
    return FiniteMechanism(matrix=matrix, graph=NeighborGraph.line(n + 1))


def bayes_remap(
    mechanism: FiniteMechanism,
    *,
    prior: Iterable[object],
    cost: Cost,
    answers: Iterable[Hashable] | None = None,
) -> FiniteMechanism:
    """Replace each output by the answer of least expected cost given that output.

    This is post-processing: the loss does not change, and no other function of the output does
    better on average over the prior.

    >>> vote = geometric_on_counts(largest=2, epsilon="0.1")
    >>> sure = bayes_remap(vote, prior=[0, 1, 0], cost=lambda truth, answer: truth != answer)
    >>> sure.outputs  # who knows the truth beforehand answers it
    (1,)
    """
    if not isinstance(mechanism, FiniteMechanism):
        raise WrongKind(
            what=f"the mechanism is a {type(mechanism).__name__}, not a FiniteMechanism.",
            why="the posterior is computed from its matrix.",
            do="give a FiniteMechanism.",
        )
    weights = prior_on(prior, len(mechanism.inputs))
    choices = mechanism.inputs if answers is None else tuple(listed(answers, name="answers"))
    table = cost_table(cost, mechanism.inputs, choices)
    best = []
    for place in range(len(mechanism.outputs)):
        joint = [w * row[place] for w, row in zip(weights, mechanism.matrix, strict=True)]
        costs = [expectation(joint, column) for column in zip(*table, strict=True)]
        best.append(choices[costs.index(min(costs))])
    outputs = tuple(dict.fromkeys(best))
    kernel = [[int(answer == output) for output in outputs] for answer in best]
    return mechanism.then(kernel, outputs=outputs)


_GRID_BITS: Final = 60
_GRID: Final = 1 << _GRID_BITS
_GROWTH_BITS: Final = 96
_LARGEST_EPSILON: Final = 30
_UNUSED: Final = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Optimum:
    """A private mechanism, and an interval that holds the smallest cost of all such mechanisms.

    ``cost.high`` is the exact cost of ``mechanism``; ``cost.low`` is certified for all others.

    >>> from discreet.units import NeighborGraph
    >>> free = optimal_mechanism(
    ...     graph=NeighborGraph.line(2), epsilon=0, cost=lambda truth, answer: truth != answer)
    >>> round(free.cost.nearest(), 9)  # without any privacy loss one can only guess
    0.5
    """

    mechanism: FiniteMechanism
    cost: Interval


def optimal_mechanism(
    *,
    graph: NeighborGraph,
    epsilon: Number,
    cost: Cost,
    prior: Iterable[object] | None = None,
    outputs: Iterable[Hashable] | None = None,
) -> Optimum:
    """Find the epsilon-DP mechanism on inputs 0, 1, ... of the smallest expected cost.

    Without a prior the cost on the worst input is made small.  Outputs are the inputs unless given.

    >>> from discreet.units import NeighborGraph
    >>> best = optimal_mechanism(
    ...     graph=NeighborGraph.complete(2), epsilon=1, cost=lambda truth, answer: truth != answer)
    >>> best.cost.nearest()  # randomized response lies with chance 1 / (1 + e)
    0.2689414213699951
    >>> best.mechanism.epsilon() <= 1
    True
    """
    if not isinstance(graph, NeighborGraph):
        raise WrongKind(
            what=f"the graph is a {type(graph).__name__}, not a NeighborGraph.",
            why="it says which inputs must look alike.",
            do="give a graph such as NeighborGraph.line(11).",
        )
    names = tuple(range(graph.size)) if outputs is None else tuple(listed(outputs, name="outputs"))
    if not names:
        raise WrongKind(
            what="there are no outputs.",
            why="a mechanism must answer something.",
            do="give at least one output.",
        )
    table = cost_table(cost, range(graph.size), names)
    unit = max(abs(entry) for row in table for entry in row) or Fraction(1)
    problem = Problem(
        graph=graph,
        growth=_growth(epsilon),
        cost=tuple(tuple(entry / unit for entry in row) for row in table),
        prior=None if prior is None else prior_on(prior, graph.size),
    )
    solved = solve(problem)
    mechanism = FiniteMechanism(matrix=_repaired(solved.laws, problem), graph=graph, outputs=names)
    costs = [expectation(p, c) for p, c in zip(mechanism.matrix, problem.cost, strict=True)]
    high = max(costs) if problem.prior is None else expectation(problem.prior, costs)
    low = _certificate(solved, problem)
    return Optimum(mechanism, Interval(unit * low, unit * high))


def _growth(epsilon: Number) -> Interval:
    """Enclose e**epsilon between rationals with short denominators."""
    exponent = factor(epsilon, name="epsilon")
    if exponent > _LARGEST_EPSILON:
        raise OutOfRange(
            what=f"epsilon is above {_LARGEST_EPSILON}.",
            why="the solver cannot tell such a mechanism from one without any privacy.",
            do=f"give an epsilon of at most {_LARGEST_EPSILON}.",
        )
    ends, one = exp(exponent), 1 << _GROWTH_BITS
    low = Fraction(math.floor(ends.low * one), one)
    high = Fraction(math.ceil(ends.high * one), one)
    return Interval(max(low, Fraction(1)), high)


def _repaired(laws: NDArray[np.float64], problem: Problem) -> Matrix:
    """Turn nearly private floats into rationals that are private exactly."""
    laws = np.clip(laws, 0, None)
    laws[:, laws.mean(axis=0) < _UNUSED] = 0
    rows = [_on_grid(line / line.sum()) for line in laws]
    fixed = list(rows)
    for part in problem.graph.components():
        inside = set(part)
        edges = [(rows[i], rows[j]) for i, j in problem.edges if i in inside]
        mean = [
            sum(column, Fraction(0)) / len(part)
            for column in zip(*(rows[i] for i in part), strict=True)
        ]
        share = _share(edges, mean, problem.growth.low)
        for i in part:
            fixed[i] = tuple(
                (1 - share) * p + share * u for p, u in zip(rows[i], mean, strict=True)
            )
    return tuple(fixed)


def _share(edges: list[tuple[Row, Row]], mean: list[Fraction], growth: Fraction) -> Fraction:
    """Return how much of the mean must be mixed in, rounded up."""
    share = Fraction(0)
    for first, second in edges:
        for p, q, u in zip(first, second, mean, strict=True):
            excess = p - growth * q
            if excess > 0:
                share = max(share, excess / (excess + (growth - 1) * u))
    return Fraction(math.ceil(share * _GRID), _GRID)


def _on_grid(line: NDArray[np.float64]) -> Row:
    """Round a distribution to multiples of 2**-60; the largest entry makes the sum one."""
    counts = [int(Fraction(float(p)) * _GRID) for p in line]
    counts[counts.index(max(counts))] += _GRID - sum(counts)
    return tuple(Fraction(count, _GRID) for count in counts)


def _certificate(solved: Solution, problem: Problem) -> Fraction:
    """Return a lower bound on the cost of every private mechanism."""
    weights = problem.prior or _on_grid(solved.prior)
    values = [[weights[i] * entry for entry in row] for i, row in enumerate(problem.cost)]
    for (i, j), multipliers in zip(problem.edges, solved.multipliers, strict=True):
        for o, value in enumerate(multipliers):
            multiplier = Fraction(int(value * _GRID), _GRID)
            values[i][o] += multiplier
            values[j][o] -= problem.growth.high * multiplier
    return sum((min(row) for row in values), Fraction(0))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The neighboring inputs, e^epsilon, and the cost to minimize on average over a prior.

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
    """Floats: distributions, a multiplier for each edge and output, the least favorable prior."""

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
    """Return the coefficients of the cost to minimize."""
    if problem.prior is None:
        return np.append(np.zeros(cost.size), 1.0)
    weights = np.array([float(p) for p in problem.prior])
    return (weights[:, None] * cost).ravel()


def _sums(size: int, width: int, *, extra: bool) -> coo_array:
    """Return the rows that sum up each distribution."""
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
