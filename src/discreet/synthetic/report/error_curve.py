"""How errors fall with the price, as a picture, before anything is paid.

Trust: public.  Nothing here has seen the data.

Definition.  At every price the method's own schedule says how much noise the counts of a single
column get.  The forecast for a column is half of the mean L1 norm of this noise, as a share of the
rows that there may be.  What a model adds by leaving out other columns is not in it: see the report
of a release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.charts import Axis, Chart
from discreet.loss import ZeroConcentrated
from discreet.synthetic.domain import Domain
from discreet.synthetic.methods.dual_query import DualQuery
from discreet.synthetic.methods.method import Method, Schedule, Task

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
