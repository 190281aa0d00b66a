"""Any mechanism with finitely many inputs and outputs, as an exact matrix.

Trust: kernel.

Definition.  Row i of a stochastic matrix P is the distribution of the output on input i.  A
neighbor graph says which inputs must look alike; without a graph all of them must, as in the local
model. For two rows p and q, with 0/0 = 0:

    max_ratio(p, q)            max over o of p[o] / q[o]; infinite if p has an output that q lacks
    hockey_stick(p, q, a)      sum over o of max(p[o] - a q[o], 0), the largest p(S) - a q(S)

Theorem (key ``finite-mechanism``; Dwork and Roth 2014, definition 2.4; Barthe and Olmedo 2013).
The mechanism is (epsilon, delta)-DP if and only if hockey_stick(P[i], P[j], e^epsilon) <= delta for
each ordered pair of neighbors, and epsilon-DP if and only if max_ratio <= e^epsilon.  At distance k
the pairs are those joined by a path of at most k edges.
Theorem (key ``matrix-algebra``).  Processing the outputs, at random or not, is multiplication from
the right.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, float_up, freeze, instance
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.elementary import exp, log
from discreet.loss.envelope import finite_envelope
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Mechanism, Number, at_confidence, factor, steps_at
from discreet.noise import SYSTEM, Categorical, Entropy
from discreet.units import NeighborGraph

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]


def stochastic(rows: Iterable[Iterable[object]], *, name: str = "matrix") -> Matrix:
    """Read a row-stochastic matrix, exactly."""
    lines = list(rows) if getattr(rows, "ndim", 0) == 2 else listed(rows, name=f"rows of {name}")
    matrix = tuple(
        tuple(
            decimal(entry, name=f"each entry of {name}")
            for entry in listed(line, name=f"entries of a row of {name}")
        )
        for line in lines
    )
    if not matrix or len({len(line) for line in matrix}) != 1:
        raise WrongKind(f"the {name} must have at least one row, and rows of one length.")
    for at, line in enumerate(matrix):
        if min(line, default=Fraction(-1)) < 0:
            raise OutOfRange(f"row {at} of the {name} is empty or has a negative entry.")
        if sum(line) != 1:
            raise OutOfRange(f"row {at} of the {name} does not sum to one; write a third as '1/3'.")
    return matrix


def max_ratio(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction | float:
    """Return the largest ratio of two distributions: a rational, or infinity."""
    largest = Fraction(0)
    for one, other in zip(p, q, strict=True):
        if one and not other:
            return math.inf
        if one > largest * other:
            largest = one / other
    return largest


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], factor: Fraction) -> Fraction:
    """Return the largest p(S) - factor * q(S) over all sets S of outputs."""
    excess = (one - factor * other for one, other in zip(p, q, strict=True))
    return sum((gap for gap in excess if gap > 0), Fraction(0))


def multiply(left: Matrix, right: Matrix) -> Matrix:
    """Return the matrix product: ``right`` processes the outputs of ``left``."""
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(
            sum((a * b for a, b in zip(line, column, strict=True) if a and b), Fraction(0))
            for column in columns
        )
        for line in left
    )


def merge_equal_ratios(p: Row, q: Row) -> tuple[Row, Row]:
    """Merge outputs of equal ratio, and sort by it: equal profiles become equal pairs.

    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> merge_equal_ratios((quarter, half, quarter), (quarter, half, quarter))
    ((Fraction(1, 1),), (Fraction(1, 1),))
    """
    groups: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for one, other in zip(p, q, strict=True):
        if one or other:
            share = one / (one + other)
            before = groups.get(share, (Fraction(0), Fraction(0)))
            groups[share] = (before[0] + one, before[1] + other)
    shares = sorted(groups)
    return tuple(groups[share][0] for share in shares), tuple(groups[share][1] for share in shares)


@final
class _Samplers:
    """The samplers of all rows, built together at the first draw: time reveals nothing of a row."""

    __slots__ = ("_built", "_matrix")

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._built: tuple[Categorical, ...] = ()

    def draw(self, place: int, entropy: Entropy) -> int:
        if not self._built:
            self._built = tuple(Categorical(weights=row) for row in self._matrix)
        return self._built[place].draw(entropy)


@final
@dataclass(frozen=True, slots=True, init=False)
class FiniteMechanism(Mechanism[Hashable, Any]):
    """A mechanism given by the exact distribution of its output on each of its inputs.

    >>> coin = FiniteMechanism(matrix=[["0.75", "0.25"], ["0.25", "0.75"]])
    >>> coin.odds_ratio(), coin.epsilon()  # 3, and ln 3 rounded up
    (Fraction(3, 1), 1.0986122886681098)
    >>> coin.delta(epsilon=0).low
    Fraction(1, 2)
    >>> coin.run(0) in {0, 1}
    True
    """

    matrix: Matrix
    graph: NeighborGraph
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    _samplers: _Samplers = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        matrix: Iterable[Iterable[object]],
        graph: NeighborGraph | None = None,
        inputs: Iterable[Hashable] | None = None,
        outputs: Iterable[Hashable] | None = None,
    ) -> None:
        """Take the distributions, the graph of neighbors, and names of inputs and outputs."""
        rows = stochastic(matrix)
        size = len(rows)
        neighbors = NeighborGraph.complete(size) if graph is None else graph
        if instance(neighbors, NeighborGraph, name="graph").size != size:
            raise WrongKind(f"graph must have {size} vertices, one for each row of the matrix.")
        freeze(
            self,
            matrix=rows,
            graph=neighbors,
            inputs=_names(inputs, size, "inputs"),
            outputs=_names(outputs, len(rows[0]), "outputs"),
            _samplers=_Samplers(rows),
        )

    def odds_ratio(self, *, distance: Number = 1) -> Fraction | float:
        """Return the largest ratio of probabilities between neighbors: a rational, or infinity."""
        return max((max_ratio(p, q) for p, q in self._pairs(distance)), default=Fraction(1))

    def epsilon(self, *, distance: Number = 1) -> float:
        """Return the smallest epsilon of pure differential privacy, rounded up."""
        ratio = self.odds_ratio(distance=distance)
        return float_up(log(ratio).high) if isinstance(ratio, Fraction) else ratio

    def delta(self, *, epsilon: Number, distance: Number = 1) -> Interval:
        """Enclose the smallest delta that goes with an epsilon."""
        exponent = factor(epsilon, name="epsilon")
        pairs = list(self._pairs(distance))

        def delta_at(odds: Fraction) -> Fraction:
            return max((hockey_stick(p, q, odds) for p, q in pairs), default=Fraction(0))

        largest = max((a / b for p, q in pairs for a, b in zip(p, q, strict=True) if b), default=1)
        if exponent >= math.ceil(largest).bit_length():  # beyond, only impossible outputs count
            return Interval(delta_at(Fraction(largest)), delta_at(Fraction(largest)))
        growth = exp(exponent)
        return Interval(delta_at(growth.high), delta_at(growth.low))

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between inputs at this distance in the graph; it is tight."""
        pairs = dict.fromkeys(merge_equal_ratios(p, q) for p, q in self._pairs(distance))
        if not pairs:
            return Pure(epsilon=0)
        return Profile.of_symmetric(finite_envelope([FinitePair(p, q) for p, q in pairs]))

    def error(self, *, confidence: Number) -> int | Fraction:
        """Return the exact error at the worst input: |output - input|, or whether they differ."""
        chance = at_confidence(confidence)
        return max(
            _quantile([self._gap(i, o) for o in range(len(self.outputs))], row, chance)
            for i, row in enumerate(self.matrix)
        )

    def run(self, value: Hashable, *, entropy: Entropy = SYSTEM) -> Any:
        return self.outputs[self._samplers.draw(self._index(value), entropy)]

    def reference_pmf(self, value: Hashable) -> dict[Any, Interval]:
        row = self.matrix[self._index(value)]
        return {y: Interval(p, p) for y, p in zip(self.outputs, row, strict=True)}

    def then(
        self, kernel: Iterable[Iterable[object]], *, outputs: Iterable[Hashable] | None = None
    ) -> FiniteMechanism:
        """Return the mechanism whose output passes through a second stochastic matrix."""
        second = stochastic(kernel, name="kernel")
        if len(second) != len(self.outputs):
            raise WrongKind(f"the kernel must have {len(self.outputs)} rows, one for each output.")
        return FiniteMechanism(
            matrix=multiply(self.matrix, second),
            graph=self.graph,
            inputs=self.inputs,
            outputs=outputs,
        )

    def _pairs(self, distance: Number) -> Iterator[tuple[Row, Row]]:
        steps = steps_at(distance)
        graph = self.graph if steps == 1 else self.graph.group(steps)
        return ((self.matrix[i], self.matrix[j]) for i, j in graph.ordered())

    def _index(self, value: Hashable) -> int:
        try:
            return self.inputs.index(value)
        except ValueError:
            raise WrongKind("the value is none of the inputs of the mechanism.") from None

    def _gap(self, i: int, o: int) -> int | Fraction:
        x, y = self.inputs[i], self.outputs[o]
        names = (*self.inputs, *self.outputs)
        if all(isinstance(n, int | Fraction) and not isinstance(n, bool) for n in names):
            return abs(x - y)  # type: ignore[operator, no-any-return]
        return int(x != y)


def _names(names: Iterable[Hashable] | None, count: int, what: str) -> tuple[Hashable, ...]:
    chosen = tuple(range(count)) if names is None else tuple(listed(names, name=what))
    try:
        distinct = len(set(chosen))
    except TypeError:
        distinct = -1
    if len(chosen) != count or distinct != count:
        raise WrongKind(f"{what} must be {count} different names; without, they count from 0.")
    return chosen


def _quantile(gaps: list[int | Fraction], row: Row, chance: Fraction) -> int | Fraction:
    """Return the smallest gap r such that gaps up to r have at least this probability."""
    reached = Fraction(0)
    for gap, p in sorted(zip(gaps, row, strict=True)):
        reached += p
        if reached >= chance:
            return gap
    raise AssertionError  # rows sum to one, and the probability is below one
