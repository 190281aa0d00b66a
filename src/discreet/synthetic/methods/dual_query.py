"""DualQuery as a method: a noisy number of rows, then a game of exact draws.

Trust: kernel.

Gaboardi, Gallego Arias, Hsu, Roth and Wu 2014.  The rows of the game are the release; only the
number of rows is measured, if it is not public.  Rounds and samples follow from the price and from
that number, so the game runs under a filter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, freeze, positive, whole
from discreet.mechanisms import Gaussian
from discreet.mechanisms.mechanism import Number
from discreet.noise import Entropy
from discreet.synthetic.dual_query.conjunctions import (
    Conjunctions,
    literal_bits,
    random_conjunctions,
)
from discreet.synthetic.dual_query.oracle import LocalSearch
from discreet.synthetic.dual_query.settings import (
    MOST_ROWS,
    DualQuerySettings,
    RowModel,
    default_settings,
)
from discreet.synthetic.evidence import Evidence
from discreet.synthetic.inference.inference import CodedDomain, ImpossibleCells, Model
from discreet.synthetic.measurer import JointMeasurer
from discreet.synthetic.methods.method import (
    Schedule,
    Task,
    concentrated_price,
    variance_for,
)
from discreet.synthetic.public_streams import public_stream

_ROWS_SHARE: Final = Fraction(1, 50)
_MOST_QUERIES: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class DualQuery:
    """Draw queries privately, and choose rows that answer them well.

    ``queries`` is how many random conjunctions of ``width`` literals are answered; if it is None,
    the queries of the workload are, or the cells of its marginals.  ``rows`` is the number of rows
    if it is public; otherwise a noisy number is bought first.

    >>> DualQuery(queries=1000).document
    {'name': 'dual_query', 'queries': 1000, 'width': 3, 'rate': '2', 'rows': None}
    """

    queries: int | None
    width: int
    rate: Fraction
    rows: int | None

    def __init__(
        self,
        *,
        queries: int | None = None,
        width: int = 3,
        rate: Number | str = 2,
        rows: int | None = None,
    ) -> None:
        """Take public parameters."""
        if queries is not None:
            whole(queries, name="queries", low=1, high=_MOST_QUERIES)
        if rows is not None:
            whole(rows, name="rows", low=1, high=MOST_ROWS)
        freeze(
            self,
            queries=queries,
            width=whole(width, name="width", low=1, high=8),
            rate=positive(decimal(rate, name="rate"), name="rate"),
            rows=rows,
        )

    @property
    def document(self) -> Mapping[str, Any]:
        """Its name and parameters."""
        return {
            "name": "dual_query",
            "queries": self.queries,
            "width": self.width,
            "rate": str(self.rate),
            "rows": self.rows,
        }

    def schedule(self, task: Task) -> Schedule:
        """Charge the price as a whole: rounds follow from the number of rows."""
        concentrated_price(task)
        if self.queries is not None:
            literal_bits(task.domain, self.width)
        if task.zeros:
            raise WrongKind(
                "DualQuery cannot keep to constraints; use method=dp.synthetic.AIM() or MST(), or "
                "leave the constraints out."
            )
        if self.queries is None and self._cells(task) > _MOST_QUERIES:
            raise OutOfRange(
                f"the marginals of the workload have more than {_MOST_QUERIES} cells; give "
                "queries=500_000, say, for random conjunctions; or a smaller workload."
            )
        rows = self.rows or MOST_ROWS
        rounds = self._settings(task, rows).rounds if self.rows else 0
        deviation = 0.0 if self.rows else math.sqrt(self._rows_variance(task))
        return Schedule.filtered(task, rounds=rounds, deviation=deviation)

    def run(self, task: Task, measurer: JointMeasurer) -> NDArray[np.int64]:
        """Buy the number of rows if need be, and play."""
        rows = self.rows
        if rows is None:
            noise = Gaussian(variance=self._rows_variance(task))
            noisy = int(measurer.measure((), noise).values[0])
            rows = max(1, min(MOST_ROWS, noisy))
        queries = self._queries(task)
        stream = self._stream(task.domain, "rows")
        settings = self._settings(task, rows)
        return measurer.play(queries, settings, oracle=LocalSearch(), stream=stream)

    def model(self, evidence: Evidence, zeros: tuple[ImpossibleCells, ...]) -> Model:  # noqa: ARG002
        """Take the rows as they are; there are no constraints, which ``schedule`` refuses."""
        total = self.rows or max(1, int(evidence.measured[0].values[0]))
        codes = np.zeros((1, len(evidence.coded.sizes)), np.int64)
        return RowModel(evidence.coded, codes if evidence.rows is None else evidence.rows, total)

    def _settings(self, task: Task, rows: int) -> DualQuerySettings:
        share = Fraction(1) if self.rows else 1 - _ROWS_SHARE
        return default_settings(
            rows=rows,
            rho=share * concentrated_price(task),
            moved=task.moves.rows,
            replaces=task.moves.replaces,
            rate=self.rate,
        )

    def _rows_variance(self, task: Task) -> Fraction:
        return variance_for(task, _ROWS_SHARE * concentrated_price(task), single=True)

    def _cells(self, task: Task) -> int:
        if task.workload.queries:
            return len(task.workload.queries)
        return sum(task.domain.size(marginal) for marginal in task.workload.marginals)

    def _queries(self, task: Task) -> Conjunctions:
        if self.queries is not None:
            stream = self._stream(task.domain, "queries")
            return random_conjunctions(
                task.domain, count=self.queries, width=self.width, stream=stream
            )
        return listed_queries(task) if task.workload.queries else cells_of(task)

    def _stream(self, domain: CodedDomain, label: str) -> Entropy:
        """Return public randomness that follows from the request."""
        text = repr((domain.names, domain.sizes, sorted(self.document.items())))
        return public_stream(text.encode(), label)


def listed_queries(task: Task) -> Conjunctions:
    """Return the queries of a workload, as conjunctions of equal length.

    A column has one of several codes if it has none of the others.
    """
    literals = []
    for query in task.workload.queries:
        one = []
        for column, codes in query:
            if len(codes) == 1:
                one.append((column, codes[0], True))
                continue
            others = set(range(task.domain.sizes[column])) - set(codes)
            one += [(column, code, False) for code in sorted(others)]
        if one:  # all rows meet others
            literals.append(one)
    if not literals:
        return cells_of(task)
    width = max(map(len, literals))
    return Conjunctions.of(task.domain, [one + [one[-1]] * (width - len(one)) for one in literals])


def cells_of(task: Task) -> Conjunctions:
    """Return all cells of the marginals of a workload, as conjunctions of equal length."""
    width = max(map(len, task.workload.marginals))
    literals = []
    for marginal in task.workload.marginals:
        for codes in itertools.product(*map(range, task.domain.shape(marginal))):
            one = [(column, code, True) for column, code in zip(marginal, codes, strict=True)]
            literals.append(one + [one[-1]] * (width - len(one)))
    return Conjunctions.of(task.domain, literals)
