"""The two roles of this room: an inference fits a model; a model answers marginals and makes rows.

Trust: public.

The input of inference: a coded domain, noisy marginals, and cells that no row can be in.

A *marginal* is a sorted tuple of column numbers.  Its cells are numbered in C order: the code of
the last column changes fastest, as ``numpy.ravel_multi_index`` counts.

The target of a fit: repeated marginals pooled, and the number of rows.

Definition.  Measurements y_i of one marginal with variances v_i are pooled to
(sum of y_i / v_i) / w with w = sum of 1 / v_i: the estimate of least variance, 1 / w.
Definition.  A pooled marginal of k cells says that there are sum(y) rows, with variance k / w.
The number of rows is the average of what all marginals say, weighted by one over that variance.
It comes from released numbers alone; no true count is known here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.noise import Entropy
from discreet.noise.entropy import word_type

Codes = NDArray[np.unsignedinteger[Any]]
"""A table of codes in the narrowest unsigned type, one row a person who does not exist."""


class Model(Protocol):
    """A distribution of rows, times a number of rows that was itself inferred from noisy counts."""

    @property
    def domain(self) -> CodedDomain:
        """The columns and their codes."""
        ...

    @property
    def total(self) -> float:
        """How many rows the model represents: inferred, never a true count, at least 0."""
        ...

    def marginal(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the expected counts of some columns, in rising order of column numbers.

        The result has one axis for each column, and sums to ``total``.
        """
        ...

    def rows(self, count: int, stream: Entropy) -> Codes:
        """Return rows of codes (count x columns) that follow the model as closely as they can.

        The stream is public: it comes from the digest of a release, so the same release gives the
        same rows.  It hides nothing, and no privacy rests on it.
        """
        ...


class Inference(Protocol):
    """Fits a model to noisy marginals."""

    def fit(
        self,
        domain: CodedDomain,
        measurements: Sequence[Measurement],
        *,
        zeros: Sequence[ImpossibleCells] = (),
        start: Model | None = None,
    ) -> Model:
        """Return the model that explains the measurements best.

        Args:
            domain: The columns and their codes.
            measurements: Noisy marginals; the same marginal may come several times.
            zeros: Cells that get no mass.
            start: A model of fewer measurements of the same domain, to begin from.
        """
        ...


Marginal = tuple[int, ...]
"""Column numbers, in rising order."""


@final
@dataclass(frozen=True, slots=True)
class CodedDomain:
    """Columns of integer codes: column j holds 0, ..., sizes[j] - 1.

    >>> domain = CodedDomain(names=("ward", "age", "smoker"), sizes=(3, 4, 2))
    >>> domain.cells, domain.columns, domain.shape((0, 2))
    (24, 3, (3, 2))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse columns without names or without codes."""
        if len(self.names) != len(self.sizes) or len(set(self.names)) != len(self.names):
            raise WrongKind(
                "a domain needs one name of its own for each column; give as many different names "
                "as sizes."
            )
        if not self.sizes or min(self.sizes) < 1:
            raise OutOfRange(
                "a domain has no column, or a column without a code; give at least one column, "
                "each with at least one code."
            )

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self.sizes)

    @property
    def cells(self) -> int:
        """How many different rows there are."""
        return math.prod(self.sizes)

    def shape(self, marginal: Marginal) -> tuple[int, ...]:
        """Return the sizes of some columns."""
        return tuple(self.sizes[column] for column in marginal)

    def size(self, marginal: Marginal) -> int:
        """Return how many cells a marginal has."""
        return math.prod(self.shape(marginal))

    def marginal(self, columns: Iterable[int]) -> Marginal:
        """Return column numbers as a marginal: sorted, each once, and all of this domain.

        >>> CodedDomain(("a", "b", "c"), (2, 2, 2)).marginal([2, 0])
        (0, 2)
        """
        chosen = tuple(sorted(set(columns)))
        if chosen and not 0 <= chosen[0] <= chosen[-1] < self.columns:
            raise OutOfRange(
                "a marginal names a column that the domain does not have; use column numbers from "
                f"0 to {self.columns - 1}."
            )
        return chosen


@final
@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """One noisy marginal: released integers, in C order, and the variance of the noise in each.

    >>> Measurement(marginal=(0,), values=np.array([5, 7]), variance=Fraction(4)).total
    12
    """

    marginal: Marginal
    values: NDArray[np.int64]
    variance: Fraction

    def __post_init__(self) -> None:
        """Refuse values other than an int64 vector, and a variance that is not positive."""
        if self.values.dtype != np.int64 or self.values.ndim != 1:
            raise WrongKind(
                "the values of a measurement are not a vector of int64; give values.ravel() as "
                "int64."
            )
        if self.variance <= 0:
            raise OutOfRange(
                "the variance of a measurement is not positive; give the variance of the noise "
                "that was added."
            )

    @property
    def total(self) -> int:
        """The noisy number of rows that this measurement alone says."""
        return int(self.values.sum())


@final
@dataclass(frozen=True, slots=True, eq=False)
class ImpossibleCells:
    """Cells of a marginal that no row can be in, as the owner states in public.

    ``cells`` are numbers of cells in C order.

    >>> ImpossibleCells(marginal=(0, 1), cells=np.array([2])).mask((2, 2)).tolist()
    [[False, False], [True, False]]
    """

    marginal: Marginal
    cells: NDArray[np.int64]

    def mask(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return where the impossible cells are."""
        impossible = np.zeros(math.prod(shape), np.bool_)
        impossible[self.cells] = True
        return impossible.reshape(shape)


def code_type(sizes: Iterable[int]) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the narrowest unsigned type that holds the codes of all columns.

    >>> code_type((2, 256)), code_type((2, 257))
    (dtype('uint8'), dtype('uint16'))
    """
    largest = max(sizes) - 1
    return word_type(largest.bit_length())


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
        """Return the position of each marginal in ``values``."""
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
            "the columns of a measurement are not in rising order, each once; give a sorted tuple "
            "of column numbers, and values in C order."
        )
    if measurement.values.size != domain.size(marginal):
        raise OutOfRange(
            "a measurement does not have one value for each cell of its marginal; give "
            f"{domain.size(marginal)} values for this marginal."
        )
    return marginal


def _total(values: dict[Marginal, Vector], precisions: dict[Marginal, float]) -> float:
    """Return the minimum-variance estimate of the number of rows, at least 1."""
    if not values:
        return _FEWEST_ROWS
    certainty = [precisions[marginal] / values[marginal].size for marginal in values]
    said = [float(values[marginal].sum()) for marginal in values]
    return max(_FEWEST_ROWS, float(np.average(said, weights=certainty)))
