"""The pictures of attacks, beside those of ``draw.py``."""

from __future__ import annotations

import math

from discreet.attacks import claims
from discreet.attacks.proportions import at_least, at_most
from discreet.charts import Axis, Chart
from discreet_audit.report import reconstruction_curve
from discreet_audit.suite.figures import curve


def reconstruction() -> Chart:
    """The share of bits that is guessed, by how much noise there is."""
    points = [point for point in curve() if point.attack != "linear program"]
    return reconstruction_curve(points)


def auditing() -> Chart:
    """What the best event shows of Laplace noise, by the number of answers."""
    chart = Chart(
        title="What an audit proves of Laplace noise that claims ε = 1",
        x=Axis(label="answers", low=100, high=1e7, ticks=(100, 1e3, 1e4, 1e5, 1e6, 1e7), log=True),
        y=Axis(label="certified lower bound", low=0, high=1.6, ticks=(0, 0.5, 1, 1.5)),
    )
    sizes = [round(10 ** (k / 4)) for k in range(8, 29)]
    for color, (epsilon, label) in enumerate(
        (("1", "right"), ("1.1", "10 % too little noise"), ("1.5", "50 %"))
    ):
        true = float(epsilon)
        bounds = [(n, _bound(n, true)) for n in sizes]
        chart.line(bounds, color=(0, 3, 1)[color], label=label)
    chart.line([(100, 1), (1e7, 1)], color=2, label="claimed", dashed=True)
    return chart


def _bound(n: int, epsilon: float) -> float:
    high = at_least(n // 2, n, level="1e-6")
    low = at_most(round(n / 2 * math.exp(-epsilon)), n, level="1e-6")
    return claims.PureClaim().lower(high, low).lower
