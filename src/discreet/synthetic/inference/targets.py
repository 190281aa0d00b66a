"""What a fit aims at: repeated marginals pooled, and the number of rows.

Trust: public.

Definition.  Measurements y_i of one marginal with variances v_i are pooled to
(sum of y_i / v_i) / w with w = sum of 1 / v_i: the estimate of least variance, 1 / w.
Definition.  A pooled marginal of k cells says that there are sum(y) rows, with variance k / w.
The number of rows is the average of what all marginals say, weighted by one over that variance.
It comes from released numbers alone; no true count is known here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.synthetic.inference.values import CodedDomain, Marginal, Measurement

Vector = NDArray[np.float64]

_FEWEST_ROWS: Final = 1.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Pooled marginals end to end: their values, the precision of each value, and the total."""

    marginals: tuple[Marginal, ...]
    starts: tuple[int, ...]
    values: Vector
    precisions: Vector
    total: float

    def slices(self) -> tuple[slice, ...]:
        """Return where each marginal lies in ``values``."""
        bounds = (*self.starts, self.values.size)
        return tuple(slice(start, end) for start, end in itertools.pairwise(bounds))

    def objective(self, expected: Vector) -> float:
        """Return half the sum of squared residuals, each times its precision."""
        return 0.5 * float(np.dot(self.precisions, (expected - self.values) ** 2))

    def gradient(self, expected: Vector) -> Vector:
        """Return the derivative of the objective by the expected counts."""
        return self.precisions * (expected - self.values)


def pooled(domain: CodedDomain, measurements: Sequence[Measurement]) -> Targets:
    """Pool measurements by marginal, in rising order of marginals.

    >>> from fractions import Fraction
    >>> domain = CodedDomain(("a", "b"), (2, 2))
    >>> twice = [Measurement((0,), np.array([10, 20]), Fraction(1)),
    ...          Measurement((0,), np.array([20, 30]), Fraction(4))]
    >>> targets = pooled(domain, twice)
    >>> targets.values.tolist(), targets.total
    ([12.0, 22.0], 34.0)
    """
    sums: dict[Marginal, Vector] = {}
    precisions: dict[Marginal, float] = {}
    for measurement in measurements:
        marginal = _checked(domain, measurement)
        precision = float(1 / measurement.variance)
        before = sums.get(marginal)
        weighted = measurement.values.astype(np.float64) * precision
        sums[marginal] = weighted if before is None else before + weighted
        precisions[marginal] = precisions.get(marginal, 0.0) + precision
    values = {marginal: sums[marginal] / precisions[marginal] for marginal in sums}
    total = _total(values, precisions)
    order = tuple(sorted(marginal for marginal in values if marginal))
    sizes = [domain.size(marginal) for marginal in order]
    return Targets(
        marginals=order,
        starts=tuple(int(start) for start in np.cumsum([0, *sizes])[: len(sizes)]),
        values=np.concatenate([np.zeros(0), *(values[marginal] for marginal in order)]),
        precisions=np.repeat([precisions[marginal] for marginal in order] or [0.0], sizes or [0]),
        total=total,
    )


def _checked(domain: CodedDomain, measurement: Measurement) -> Marginal:
    marginal = domain.marginal(measurement.marginal)
    if marginal != measurement.marginal:
        raise WrongKind(
            what="the columns of a measurement are not in rising order, each once.",
            why="the order of columns says which value belongs to which cell.",
            do="give a sorted tuple of column numbers, and values in C order.",
        )
    if measurement.values.size != domain.size(marginal):
        raise OutOfRange(
            what="a measurement does not have one value for each cell of its marginal.",
            why="values are matched with cells by their place.",
            do=f"give {domain.size(marginal)} values for this marginal.",
        )
    return marginal


def _total(values: dict[Marginal, Vector], precisions: dict[Marginal, float]) -> float:
    """Return the number of rows, of least variance; a model stands for one row at least."""
    if not values:
        return _FEWEST_ROWS
    certainty = [precisions[marginal] / values[marginal].size for marginal in values]
    said = [float(values[marginal].sum()) for marginal in values]
    return max(_FEWEST_ROWS, float(np.average(said, weights=certainty)))
