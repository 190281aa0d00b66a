"""The count of one query from the model: a range, or a conjunction, with a half-width.

Trust: public.

Theorem (key ``measured-marginal``).  A sum of cells of the model is off by at most its distance
from the same sum of noisy counts, plus the noise of that sum; so a quantile of the noise of so many
draws bounds it.  Where several measured marginals hold the columns, each may miss with its share of
the chance, and the smallest bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from discreet.synthetic.inference.inference import Model
from discreet.synthetic.report.marginal_bounds import NoisyMarginal
from discreet.synthetic.report.noise_norms import cell_noise
from discreet.synthetic.workload import CodedQuery


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCount:
    """How many rows meet some conditions, by the model.

    >>> print(QueryCount(rows=41.5, half_width=12.25, confidence=Fraction(19, 20)))
    42 ± 13 rows, with 95 % confidence

    Attributes:
        rows: what the model says.
        half_width: by how much that may be off; None where nothing is known.
        confidence: the chance with which it is not off by more.
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
    """Return the count of a query in codes, with a half-width that is missed by this chance."""
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
