"""The picture of counters, beside those of ``draw.py``."""

from __future__ import annotations

from discreet.charts import Axis, Chart
from discreet_course.counters import planned, predicted_errors
from discreet_course.refined_tree import RefinedTreeCounter


def counters() -> Chart:
    """How far off all partial sums are, by the number of days, for one price."""
    chart = Chart(
        title="All sums of n days for one price, ρ = 1/2",
        x=Axis(label="days n", low=1, high=4096, ticks=(1, 4, 16, 64, 256, 1024, 4096), log=True),
        y=Axis(
            label="root mean squared error", low=0.9, high=70, ticks=(1, 2, 5, 10, 20, 50), log=True
        ),
    )
    lines: dict[str, list[tuple[float, float]]] = {}
    for n in (1 << k for k in range(13)):
        for counter in planned(length=n, rho="1/2"):
            if not isinstance(counter, RefinedTreeCounter):
                typical = predicted_errors(counter).typical
                lines.setdefault(type(counter).__name__, []).append((n, typical))
    names = ("on every sum", "on every bit", "binary tree", "matrix root")
    order = (1, 2, 0, 3)
    for color, name, points in zip(order, names, lines.values(), strict=True):
        chart.line(points, color=color, label=name)
    return chart
