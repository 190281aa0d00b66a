"""The counts of some columns, from the model, with half-widths from what was measured.

Trust: public.

Theorem (key ``measured-marginal``).  A cell of the model is off by at most its distance from the
noisy count of a larger marginal, projected, plus the noise of that; so a quantile of the noise of
one cell, at the probability that is allowed for all cells together, bounds them all.
If no measured marginal holds these columns, cells have no half-width.

The count of one query from the model: a range, or a conjunction, with a half-width.

Theorem (key ``measured-marginal``).  A sum of cells of the model is off by at most its distance
from the same sum of noisy counts, plus the noise of that sum; so a quantile of the noise of this
number of draws bounds it.  If several measured marginals hold the columns, each may miss with its
share of the probability, and the smallest bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.notebook import Shown
from discreet.query.types import Type
from discreet.release.display import cells, plain
from discreet.release.frames import ReleasedColumn, table_of
from discreet.release.tabular import Tabular
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.inference import Marginal, Model
from discreet.synthetic.report.error_report import marginal_chart
from discreet.synthetic.report.marginal_bounds import NoisyMarginal, cell_bounds, cell_noise
from discreet.synthetic.workload import CodedQuery

_ROWS = 20
_COUNT = "rows"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MarginalAnswer(Tabular, Shown):
    """Counts of all cells of some columns.

    Attributes:
        names: the columns.
        labels: the label of every cell, one for each column, in C order.
        counts: what the model says of each cell.
        half_widths: by how much each count may be off, all at once; None if nothing is known.
        measured: the noisy counts that say most of these columns, if there are any.
        noise: a half-width for each of these noisy counts.
        confidence: the probability with which all half-widths hold at once.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: NDArray[np.float64]
    half_widths: NDArray[np.float64] | None
    measured: NDArray[np.float64] | None
    noise: float | None
    confidence: Fraction

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: a row for each cell, with ``rows`` and the ends of an interval."""
        return table_of(self._columns())

    def svg(self) -> str:
        """Draw the counts of the model, and the noisy counts with their bands, as SVG text."""
        return marginal_chart(
            " × ".join(self.names),
            [", ".join(label) for label in self.labels],
            model=self.counts.tolist(),
            noisy=None if self.measured is None else self.measured.tolist(),
            half_width=self.noise,
        )

    def _columns(self) -> tuple[ReleasedColumn, ...]:
        keys = tuple(
            ReleasedColumn(
                name=name,
                type=Type.TEXT,
                values=pa.array([label[place] for label in self.labels], pa.string()),
            )
            for place, name in enumerate(self.names)
        )
        low = high = None
        if self.half_widths is not None:
            low = pa.array(np.maximum(self.counts - self.half_widths, 0.0))
            high = pa.array(self.counts + self.half_widths)
        count = ReleasedColumn(
            name=_COUNT, type=Type.FLOAT, values=pa.array(self.counts), low=low, high=high
        )
        return (*keys, count)

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.labels)

    def __repr__(self) -> str:
        """Show the columns alone."""
        return f"<{len(self)} counts of {', '.join(self.names)}>"

    def __str__(self) -> str:
        """Show the first cells."""
        columns = [
            [plain(column.name), *(cell.text for cell in cells(column, _ROWS))]
            for column in self._columns()
        ]
        widths = [max(map(len, column)) for column in columns]
        lines = ["  ".join(_fitted(row, widths)).rstrip() for row in zip(*columns, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        more = [f"... and {len(self) - _ROWS} more."] if len(self) > _ROWS else []
        known = (
            "No measured marginal holds these columns: how far off the model is, is not known."
            if self.half_widths is None
            else f"± holds for all counts at once with {float(100 * self.confidence):.4g} % "
            "confidence."
        )
        return "\n".join([lines[0], rule, *lines[1:], "", *more, known])


def _fitted(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    last = len(row) - 1
    return [
        text.rjust(width) if place == last else text.ljust(width)
        for place, (text, width) in enumerate(zip(row, widths, strict=True))
    ]


def answer_of(
    domain: Domain,
    model: Model,
    measured: Sequence[NoisyMarginal],
    marginal: Marginal,
    missed: Fraction,
) -> MarginalAnswer:
    """Return the counts of a marginal from a model, with half-widths from what was measured."""
    coded = domain.coded
    shape = coded.shape(marginal)
    labels = tuple(
        tuple(
            domain.columns[column].label(code) for column, code in zip(marginal, codes, strict=True)
        )
        for codes in np.ndindex(*shape)
    )
    widths = cell_bounds(model, marginal, measured, missed=missed)
    covering = [each for each in measured if set(marginal) <= set(each.marginal)]
    cell = missed / max(1, coded.size(marginal))
    noisy: NDArray[np.float64] | None = None
    noise = None
    if covering:
        noise, place = min(
            (cell_noise(each.law, missed=cell, draws=each.draws(coded, marginal)), place)
            for place, each in enumerate(covering)
        )
        noisy = covering[place].projected(coded, marginal).ravel()
    return MarginalAnswer(
        names=domain.names(marginal),
        labels=labels,
        counts=model.marginal(marginal).ravel(),
        half_widths=None if widths is None else widths.ravel(),
        measured=noisy,
        noise=noise,
        confidence=1 - missed,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCount:
    """How many rows meet some conditions, by the model.

    >>> print(QueryCount(rows=41.5, half_width=12.25, confidence=Fraction(19, 20)))
    42 ± 13 rows, with 95 % confidence

    Attributes:
        rows: what the model says.
        half_width: by how much that may be off; None if nothing is known.
        confidence: the probability with which it is not off by more.
    """

    rows: float
    half_width: float | None
    confidence: Fraction

    def __str__(self) -> str:
        """Show whole rows, the half-width rounded up."""
        if self.half_width is None:
            return f"{self.rows:.0f} rows; no measured marginal holds these columns"
        wide = math.ceil(self.half_width + 0.5)  # the number that is shown is rounded, too
        sure = float(100 * self.confidence)
        return f"{self.rows:.0f} ± {wide} rows, with {sure:.4g} % confidence"


def count_of(
    model: Model, measured: Sequence[NoisyMarginal], query: CodedQuery, missed: Fraction
) -> QueryCount:
    """Return the count of a query in codes, with a half-width for this miss probability."""
    domain = model.domain
    marginal = tuple(column for column, _ in query)
    met = np.ix_(*(codes for _, codes in query))
    cells = math.prod(len(codes) for _, codes in query)
    rows = float(model.marginal(marginal)[met].sum())
    covering = [each for each in measured if set(marginal) <= set(each.marginal)]
    widths = [
        abs(float(each.projected(domain, marginal)[met].sum()) - rows)
        + cell_noise(
            each.law,
            missed=missed / len(covering),
            draws=cells * each.draws(domain, marginal),
        )
        for each in covering
    ]
    return QueryCount(rows=rows, half_width=min(widths, default=None), confidence=1 - missed)
