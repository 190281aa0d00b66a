"""The pictures of single rows of the course: delta as area, coupling, budgets, games, lectures."""

from __future__ import annotations

import math

from discreet.charts import Axis, Chart
from discreet.explain import Guesses
from discreet.loss import Pure, laplace_scale
from discreet.mechanisms import Exponential
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet_course.puzzle_laws import no_data


def delta_area() -> Chart:
    """What e^epsilon times one law does not cover of the other."""
    law, factor = DiscreteGaussian(variance=4), math.exp(0.5)
    chart = Chart(
        title="δ is the area that e^ε times one law does not cover (Gaussian, σ = 2, ε = 1/2)",
        x=Axis(label="published count", low=93.5, high=108.5, ticks=range(94, 109, 2)),
        y=Axis(label="chance", low=0, high=0.35, ticks=(0, 0.1, 0.2, 0.3)),
    )
    shown = range(94, 109)
    here = {k: law.pmf(k - 100) * factor for k in shown}
    there = {k: law.pmf(k - 101) for k in shown}
    uncovered = [k for k in shown if there[k] > here[k]]
    low = [(k + s, here[k]) for k in uncovered for s in (-0.5, 0.5)]
    high = [(k + s, there[k]) for k in uncovered for s in (-0.5, 0.5)]
    chart.band(low, high, color=1, label="δ")
    for color, (name, chances) in enumerate(
        {"without you, times e^ε": here, "with you": there}.items()
    ):
        outline = [(k + s, p) for k, p in chances.items() for s in (-0.5, 0.5)]
        chart.line(outline, color=color, label=name, dashed=color == 1)
    return chart


def normalized_counts() -> Chart:
    """The error of a share: noise L(1/(n epsilon)) against the error of sampling."""
    chart = Chart(
        title="A share of n people: privacy against sampling, 95 % sure (p = 1/2)",
        x=Axis(label="people n", low=10, high=1e6, ticks=(10, 100, 1e3, 1e4, 1e5, 1e6), log=True),
        y=Axis(label="error", low=1e-6, high=10, ticks=(1e-6, 1e-4, 1e-2, 1), log=True),
    )
    people = [10 ** (k / 10) for k in range(10, 61)]
    chart.line([(n, 1.96 * 0.5 / math.sqrt(n)) for n in people], color=2, label="sampling")
    for color, epsilon in enumerate((0.1, 1)):
        noise = float(laplace_scale(epsilon=str(epsilon))) * math.log(20)
        chart.line([(n, noise / n) for n in people], color=color, label=f"noise, ε = {epsilon}")
    return chart


def universal() -> Chart:
    """The exponential mechanism with u = -|r - q|, and the Laplace mechanism."""
    chart = Chart(
        title="u = −|r − q|: the exponential mechanism is the Laplace mechanism (scale 2, q = 20)",
        x=Axis(label="answer", low=7.5, high=32.5, ticks=range(8, 33, 4)),
        y=Axis(label="chance", low=0, high=0.3, ticks=(0, 0.1, 0.2, 0.3)),
    )
    law = Exponential(candidates=41, scale=2).reference_pmf([-abs(r - 20) for r in range(41)])
    chosen = [(r, law[r].nearest()) for r in range(8, 33)]
    chart.bars(chosen, width=0.8, color=0, label="exponential")
    noise = DiscreteLaplace(scale=2)
    chart.dots([(r, noise.pmf(r - 20)) for r in range(8, 33)], color=1, label="Laplace")
    return chart


def coupling() -> Chart:
    """The coupling proof of AboveThreshold: what it pays to keep two samples at a distance."""
    chart = Chart(
        title="A coupling: pay to keep two samples at a set distance",
        x=Axis(
            label="step of the run",
            low=0,
            high=7,
            ticks=range(1, 7),
            names=["threshold", "below", "below", "below", "below", "above"],
        ),
        y=Axis(label="paid so far, in ε", low=0, high=1.1, ticks=(0, 0.5, 1)),
    )
    paid = [(0, 0), (1, 0), (1, 0.5), (6, 0.5), (6, 1), (7, 1)]
    chart.line(paid, color=0, label="paid")
    chart.dots([(k, 0.5) for k in range(2, 6)], color=2, label="free: the threshold moved along")
    chart.dots([(1, 0.5), (6, 1)], color=1, label="ε/2 each")
    return chart


def adaptive_budget() -> Chart:
    """Odds of each pair of answers where the second price is chosen after the first answer."""
    chart = Chart(
        title="A price chosen after the first answer: odds of each outcome",
        x=Axis(
            label="first and second answer",
            low=-0.6,
            high=3.6,
            ticks=range(4),
            names=("0, 0", "0, 1", "1, 0", "1, 1"),
        ),
        y=Axis(label="odds", low=0, high=30, ticks=(0, 3, 9, 27)),
    )
    chart.bars([(0, 3), (1, 3), (2, 1 / 3 * 9), (3, 27)], width=0.7, color=0, label="attained")
    chart.line([(-0.6, 3), (3.6, 3)], color=1, label="the sum that was usually spent", dashed=True)
    chart.line([(-0.6, 27), (3.6, 27)], color=2, label="the sum planned for", dashed=True)
    return chart


def attack_fails() -> Chart:
    """Bits found out of ten by exhaustive search, against the error of the answers."""
    chart = Chart(
        title="Ten people, all subsets counted: bits that may be wrong in a table that fits",
        x=Axis(label="error of each answer, at most", low=0, high=3, ticks=(0, 1, 2, 3)),
        y=Axis(label="bits, at most", low=0, high=10, ticks=(0, 2, 4, 6, 8, 10)),
    )
    chart.line([(error, 4 * error) for error in (0, 1, 2)] + [(2.5, 10), (3, 10)], color=0)
    chart.dots([(0, 0), (1, 4), (2, 8), (2.5, 10), (3, 10)], color=1, label="wrong, at most")
    return chart


DIGITS = {1: 96.65, 3: 98.18, 8: 98.58, 100: 98.54, 1000: 98.56, 10_000: 98.57}
"""Accuracy on MNIST by epsilon, at delta 1e-5: measured, docs/benchmarks/learning.md."""


def absurd_epsilons() -> Chart:
    """Accuracy that was measured, and the catch rate that a promise leaves, against epsilon."""
    chart = Chart(
        title="From ε = 3 to 10,000 the promise goes, and 0.4 digits of 100 are won",
        x=Axis(label="ε", low=0.01, high=1e4, ticks=(0.01, 0.1, 1, 10, 100, 1e3, 1e4), log=True),
        y=Axis(label="of 100", low=0, high=115, ticks=(0, 25, 50, 75, 100)),
    )
    epsilons = [10 ** (k / 8) for k in range(-16, 33)]
    caught = [(e, 100 * Guesses(Pure(epsilon=f"{e:.6f}")).caught("0.01")) for e in epsilons]
    chart.line(caught, color=0, label="caught, at most")
    chart.dots(list(DIGITS.items()), color=1, label="digits right, measured")
    return chart


def broken_counter() -> Chart:
    """The puzzle of the empty table: two laws, one of which has an output of its own."""
    chart = Chart(
        title="A puzzle: a count with one row, and without any",
        x=Axis(
            label="output",
            low=-0.6,
            high=5.6,
            ticks=range(6),
            names=("0", "1", "2", "3", "4", "no data"),
        ),
        y=Axis(label="chance", low=0, high=1, ticks=(0, 0.25, 0.5, 0.75, 1)),
    )
    one, none = no_data((1,)), no_data(())
    chart.bars(
        [(k - 0.2, float(one.get(k, 0))) for k in range(5)], width=0.35, color=0, label="one row"
    )
    chart.bars([(5.2, float(none["no data"]))], width=0.35, color=1, label="no row")
    return chart


def lectures() -> Chart:
    """Minutes of the two lectures."""
    names = ("talk", "pictures", "code", "exercises", "puzzle")
    chart = Chart(
        title="Two lectures of 90 minutes",
        x=Axis(label="part", low=-0.6, high=4.6, ticks=range(5), names=names),
        y=Axis(label="minutes", low=0, high=40, ticks=(0, 10, 20, 30, 40)),
    )
    for color, (side, minutes) in enumerate(
        ((-0.2, (35, 15, 15, 15, 10)), (0.2, (30, 15, 15, 20, 10)))
    ):
        chart.bars(
            [(k + side, m) for k, m in enumerate(minutes)],
            width=0.35,
            color=color,
            label=f"lecture {color + 1}",
        )
    return chart


COURSE = {
    "delta-area": delta_area,
    "normalized-counts": normalized_counts,
    "universal": universal,
    "coupling": coupling,
    "adaptive-budget": adaptive_budget,
    "attack-fails": attack_fails,
    "absurd-epsilons": absurd_epsilons,
    "broken-counter": broken_counter,
    "lectures": lectures,
}
