"""The pictures of the local model, beside those of ``draw.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.charts import Axis, Chart
from discreet.local import (
    ChangeTree,
    Direct,
    Hadamard,
    Memo,
    Subset,
    TwoPoint,
    Unary,
    WindowResponse,
    calibrate_shuffled,
)
from discreet.mechanisms import Laplace
from discreet.mechanisms.randomized_response import response_chances


def oracle_variances() -> Chart:
    """The variance of estimated shares, by epsilon, over that of optimized unary response."""
    chart = Chart(
        title="Share of a rare value among 128: variance over that of optimized unary",
        x=Axis(label="ε", low=0.25, high=4, ticks=(0.25, 0.5, 1, 2, 4), log=True),
        y=Axis(label="ratio", low=0.5, high=25, ticks=(0.5, 1, 2, 5, 10, 20), log=True),
    )
    epsilons = [Fraction(k, 8) for k in (2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)]
    oracles: dict[str, Callable[[Fraction], Direct | Unary | Hadamard | Subset]] = {
        "direct": lambda e: Direct(epsilon=e, values=128),
        "Hadamard": lambda e: Hadamard(epsilon=e, values=128),
        "symmetric unary": lambda e: Unary(epsilon=e, values=128, coding="symmetric"),
        "subset": lambda e: Subset(epsilon=e, values=128),
    }
    base = {e: Unary(epsilon=e, values=128).variance().nearest() for e in epsilons}
    for color, (name, make) in enumerate(oracles.items()):
        curve = [(float(e), make(e).variance().nearest() / base[e]) for e in epsilons]
        chart.line(curve, color=color, label=name)
    return chart


def number_variances() -> Chart:
    """The worst variance of a number from -1 to 1, by epsilon, over that of two points."""
    chart = Chart(
        title="Worst variance of a number, over that of two-point response",
        x=Axis(label="ε", low=0.5, high=5, ticks=(0.5, 1, 2, 3, 4, 5)),
        y=Axis(label="ratio", low=0, high=2, ticks=(0, 0.5, 1, 1.5, 2)),
    )
    epsilons = [Fraction(k, 2) for k in range(1, 11)]
    base = {e: TwoPoint(epsilon=e).variance().nearest() for e in epsilons}
    curves: dict[str, Callable[[Fraction], float]] = {
        "Laplace noise": lambda e: 8 / float(e) ** 2,
        "piecewise": lambda e: _piecewise(float(e)),
        "minimax": lambda e: WindowResponse.minimax(epsilon=e, outcomes=64).variance().nearest(),
    }
    for color, (name, worst) in enumerate(curves.items()):
        chart.line([(float(e), worst(e) / base[e]) for e in epsilons], color=color, label=name)
    return chart


def _piecewise(epsilon: float) -> float:
    """The worst variance of the piecewise mechanism (Wang et al. 2019)."""
    root = math.expm1(epsilon / 2)
    return 1 / root + (root + 4) / (3 * root**2)


def price_of_a_year() -> Chart:
    """What a device has told after some days of one report each."""
    chart = Chart(
        title="One yes or no a day: what a device has told (first report: ε = 0.73)",
        x=Axis(label="days", low=1, high=365, ticks=(1, 7, 30, 100, 365), log=True),
        y=Axis(label="ε in all", low=0.5, high=500, ticks=(1, 10, 100), log=True),
    )
    days = sorted({round(365 ** (k / 60)) for k in range(61)})
    stays = Memo(values=2, permanent=2, fresh=1, constant=True)
    changes = Memo(values=2, permanent=2, fresh=1)
    once = float(stays.price(reports=1))
    chart.line([(d, d * once) for d in days], color=1, label="fresh noise")
    priced = [(d, float(changes.price(reports=d))) for d in days]
    chart.line(priced, color=3, label="memo, may change", dashed=True)
    chart.line([(d, float(stays.price(reports=d))) for d in days], color=0, label="memo, kept")
    tree = ChangeTree(times=365, changes=2, epsilon=1)
    chart.line([(d, float(tree.epsilon)) for d in days], color=2, label="tree")
    return chart


def three_models() -> Chart:
    """The error of an estimated share, by the number of people, in three models."""
    chart = Chart(
        title="A share, at ε = 1 against whoever sees the result",
        x=Axis(label="people", low=100, high=1e5, ticks=(100, 1e3, 1e4, 1e5), log=True),
        y=Axis(
            label="root mean squared error",
            low=1e-5,
            high=0.2,
            ticks=(1e-4, 1e-3, 0.01, 0.1),
            log=True,
        ),
    )
    people = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 100_000]
    spread = math.sqrt(Laplace(scale=1).law.moments().variance.nearest())
    local = [(n, response_error(Fraction(1)) / math.sqrt(n)) for n in people]
    hidden = [(n, response_error(_local(n)) / math.sqrt(n)) for n in people]
    chart.line(local, color=1, label="local")
    chart.line(hidden, color=3, label="shuffled (δ = 10⁻⁶)")
    chart.line([(n, spread / n) for n in people], color=0, label="central")
    return chart


def _local(people: int) -> Fraction:
    return calibrate_shuffled(epsilon=1, delta="1e-6", people=people, binary=True)


def response_error(epsilon: Fraction) -> float:
    """The standard deviation of one estimate by randomized response, at its worst."""
    kept, lied = response_chances(epsilon, 2)
    return math.sqrt(kept * lied) / float(kept - lied)


LOCAL = {
    "oracle-variances": oracle_variances,
    "number-variances": number_variances,
    "price-of-a-year": price_of_a_year,
    "three-models": three_models,
}
