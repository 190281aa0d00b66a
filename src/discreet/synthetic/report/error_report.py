"""Bounds on the distance of a synthetic table from its source.

Trust: public.  Every number comes from the evidence: nothing here has seen the data.

Definition.  For a marginal, ``rows`` bounds the L1 distance between the counts of the table and
those of the model, and ``share`` the total variation distance between their shares.
Fact.  With N rows in the model, an L1 distance of at most a, and a number of rows that is off by at
most t <= a, the shares differ by at most (a + t) / 2 N in total variation.  Proof.  With n rows in
the table, |D/n - p/N|_1 <= |D - p|_1 / N + |N - n| / N, and total variation is half of it.
All bounds hold at once with the stated confidence (keys ``measured-marginal``,
``selection-bound``).  A marginal that the release does not constrain has no bound.

Pictures of synthetic tables: a marginal with its bands, and pairs on a map.

They show what was released, and nothing else.

How errors fall with the price, as a picture, before anything is paid.

Nothing here has seen the data.

Definition.  At every price the method's own schedule says how much noise the counts of a single
column get.  The forecast for a column is half of the mean L1 norm of this noise, as a share of the
rows that there may be.  What a model adds by leaving out other columns is not in it: see the report
of a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import pyarrow as pa

from discreet.charts import Axis, Chart
from discreet.loss import ZeroConcentrated
from discreet.notebook import Shown
from discreet.release.tabular import Tabular
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.inference import Marginal
from discreet.synthetic.methods.dual_query import DualQuery
from discreet.synthetic.methods.method import Method, Schedule, Task
from discreet.synthetic.report.check import Checked
from discreet.synthetic.report.marginal_bounds import MarginalBound

_SHOWN: Final = 20


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ErrorReport(Tabular, Shown):
    """Bounds on the distance of marginals, largest first, and a check if one was bought.

    Attributes:
        names: the columns of the synthetic table.
        bounds: a bound for every marginal of the workload.
        total: how many rows the model represents.
        total_off: a bound on how far that is from the table's, None if nothing is known.
        confidence: the probability with which all bounds hold at once.
        checked: the largest distance of the workload, measured with noise, if that was bought.
        private: false if the evidence comes from a rehearsal.
    """

    names: tuple[str, ...]
    bounds: tuple[MarginalBound, ...]
    total: float
    total_off: float | None
    confidence: Fraction
    checked: Checked | None = None
    private: bool = True

    def share(self, bound: MarginalBound) -> float | None:
        """Return the bound on the total variation distance of shares, None without one."""
        if bound.rows is None:
            return None
        if self.total <= 0:
            return 1.0
        off = bound.rows if self.total_off is None else min(self.total_off, bound.rows)
        return min(1.0, (bound.rows + off) / (2 * self.total))

    @property
    def sorted(self) -> tuple[MarginalBound, ...]:
        """The bounds, those that say least first."""
        return tuple(
            sorted(self.bounds, key=lambda bound: (bound.rows is not None, -(bound.rows or 0)))
        )

    @property
    def known(self) -> tuple[MarginalBound, ...]:
        """The marginals that the release says something of."""
        return tuple(bound for bound in self.bounds if bound.rows is not None)

    def of(self, *names: str) -> MarginalBound | None:
        """Return the bound for the columns of these names, None if the workload lacks them."""
        wanted = {name.casefold() for name in names}
        for bound in self.bounds:
            if {self.names[place].casefold() for place in bound.marginal} == wanted:
                return bound
        return None

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table of all bounds, those that say least first."""
        bounds = self.sorted
        return pa.table(
            {
                "columns": [self._named(bound.marginal) for bound in bounds],
                "rows_off": pa.array([bound.rows for bound in bounds], pa.float64()),
                "share_off": pa.array([self.share(bound) for bound in bounds], pa.float64()),
                "from": [bound.source or None for bound in bounds],
            }
        )

    def error_map(self) -> str:
        """Return a map of the bounds of all pairs of columns, as SVG text."""
        pairs = {bound.marginal: self.share(bound) for bound in self.bounds}
        return error_map(self.names, {pair: s for pair, s in pairs.items() if len(pair) == 2})

    def __str__(self) -> str:
        """Show the largest bounds, and what they mean."""
        shown = self.sorted[:_SHOWN]
        texts = [("columns", "rows off", "share off", "from")]
        texts += [
            (
                ", ".join(self._named(bound.marginal)),
                "unknown" if bound.rows is None else f"{bound.rows:,.0f}",
                "unknown" if bound.rows is None else f"{100 * (self.share(bound) or 0):.3g} %",
                bound.source or "-",
            )
            for bound in shown
        ]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = [
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip()
            for a, b, c, d in texts
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([lines[0], rule, *lines[1:], "", *self._notes()])

    def __repr__(self) -> str:
        """Show how many bounds there are."""
        return f"<error report: bounds for {len(self.known)} of {len(self.bounds)} marginals>"

    def _notes(self) -> Iterator[str]:
        if not self.private:
            yield "Not private: test mode. Show this to nobody who may not see the data itself."
        more = len(self.bounds) - _SHOWN
        if more > 0:
            yield f"... and {more} more marginals, all with smaller bounds."
        percent = f"{float(100 * self.confidence):.4g} %"
        yield (
            f"All bounds hold at once with {percent} confidence. They follow from released "
            "numbers and cost nothing."
        )
        unknown = len(self.bounds) - len(self.known)
        if unknown:
            yield (
                f"Of {unknown} marginals nothing was measured: the model may be far off there, or "
                "not. report(session=..., epsilon=...) buys a check of the whole workload."
            )
        if self.checked is not None:
            yield str(self.checked)
        yield "They compare with the table after limits; what limits left out is not in them."

    def _named(self, marginal: Marginal) -> tuple[str, ...]:
        return tuple(self.names[place] for place in marginal)


_MOST_BARS: Final = 40
_LONGEST: Final = 12
_PAIRS_HEIGHT: Final = 30


def marginal_chart(
    title: str,
    labels: Sequence[str],
    *,
    model: Sequence[float],
    noisy: Sequence[float] | None = None,
    half_width: float | None = None,
) -> str:
    """Draw the counts of a model as bars, and noisy counts as dots with error bars, as SVG text.

    >>> marginal_chart("ward", ["A", "B"], model=[5, 7], noisy=[4, 8], half_width=2).count("<rect")
    4
    """
    count = min(len(labels), _MOST_BARS)
    reach = half_width or 0.0
    highest = max([1.0, *model[:count], *((value + reach) for value in (noisy or ())[:count])])
    lowest = min([0.0, *((value - reach) for value in (noisy or ())[:count])])
    step = 1 + count // 12
    ticks = range(0, count, step)
    chart = Chart(
        title=title if count == len(labels) else f"{title} (the first {count} of {len(labels)})",
        x=Axis(
            label="",
            low=-0.6,
            high=count - 0.4,
            ticks=list(ticks),
            names=[_short(labels[place]) for place in ticks],
        ),
        y=Axis(label="rows", low=lowest, high=1.08 * highest, ticks=_ticks(lowest, highest)),
    )
    chart.bars(list(enumerate(model[:count])), width=0.7, color=0, label="synthetic")
    if noisy is not None:
        if half_width is not None:
            for place, value in enumerate(noisy[:count]):
                chart.whisker(place, value - half_width, value + half_width, color=1)
        chart.dots(list(enumerate(noisy[:count])), color=1, label="measured, with noise")
    return chart.svg()


def error_map(names: Sequence[str], pairs: Mapping[tuple[int, ...], float | None]) -> str:
    """Draw the bounds of all pairs of columns: the darker, the farther off a pair may be.

    >>> error_map(("a", "b"), {(0, 1): 0.25}).count(">25<")
    2
    """
    count = len(names)
    places = list(range(count))
    short = [_short(name) for name in names]
    chart = Chart(
        title="How far each pair may be off (% of total variation)",
        x=Axis(label="", low=-0.5, high=count - 0.5, ticks=places, names=short),
        y=Axis(label="", low=count - 0.5, high=-0.5, ticks=places, names=short),
        left=120,
        height=max(220, 130 + _PAIRS_HEIGHT * count),
    )
    for pair, share in pairs.items():
        first, second = pair
        text = "?" if share is None else f"{100 * share:.2g}"
        shade = 0.0 if share is None else 0.08 + 0.72 * min(1.0, share)
        chart.cell(second, first, shade, text)
        chart.cell(first, second, shade, text)
    return chart.svg()


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers from low to high."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw)
    return [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


_NOISE_NORM: Final = 0.3989422804014327  # half of the mean of |Z| for a standard normal Z
_FACTORS: Final = tuple(Fraction(2) ** power for power in range(-4, 5))
_ROUND: Final = (1, 2, 5)


def column_errors(
    domain: Domain, method: Method, schedule: Schedule, size: int | None
) -> tuple[tuple[str, float], ...] | None:
    """Forecast how wrong the counts of single columns are, as shares of all rows.

    None without a size, and for DualQuery, which measures no column.
    """
    if size is None or isinstance(method, DualQuery):
        return None
    each = _NOISE_NORM * schedule.deviation / size
    return tuple((column.name, min(1.0, each * column.size)) for column in domain.columns)


def error_curve(
    domain: Domain, method: Method, task: Task, *, size: int, delta: Fraction | None
) -> str:
    """Draw the forecasts at a sixteenth to sixteen times the price, as SVG text."""
    found = []
    for factor in _FACTORS:
        priced = replace(
            task,
            rho=None if task.rho is None else factor * task.rho,
            epsilon=None if task.epsilon is None else factor * task.epsilon,
        )
        errors = column_errors(domain, method, method.schedule(priced), size) or ()
        found.append((_shown(priced, delta), [error for _, error in errors]))
    prices = [price for price, _ in found]
    highest = max(max(errors) for _, errors in found)
    label = "ρ" if task.rho is not None and delta is None else "ε"
    chart = Chart(
        title=f"Forecast errors of single columns, as shares of {size:,} rows",
        x=Axis(
            label=label if delta is None else f"{label} at δ = {float(delta):g}",
            low=prices[0],
            high=prices[-1],
            ticks=_round_numbers(prices[0], prices[-1]),
            log=True,
        ),
        y=Axis(label="share off", low=0, high=1.05 * highest, ticks=_shares(highest)),
    )
    worst = [(price, max(errors)) for price, errors in found]
    chart.line(worst, color=1, label="worst column", dashed=True)
    chart.line([(p, sum(e) / len(e)) for p, e in found], color=0, label="mean of all columns")
    chart.dots([worst[len(worst) // 2]], color=1, label="as planned")
    return chart.svg()


def _shown(task: Task, delta: Fraction | None) -> float:
    """Return the price of a task in the currency of the axis."""
    if task.rho is None:
        return float(task.epsilon or 0)
    return float(task.rho) if delta is None else ZeroConcentrated(rho=task.rho).epsilon(delta=delta)


def _round_numbers(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [each * 10.0**power for power in powers for each in _ROUND]
    return [number for number in found if low <= number <= high]


def _shares(highest: float) -> Sequence[float]:
    step = next(each for each in _round_numbers(1e-9, 1e3) if highest / each <= 5)
    return [step * place for place in range(math.floor(1.05 * highest / step) + 1)]
