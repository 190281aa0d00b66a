"""The pictures of heavy hitters and of hostile reports, beside those of ``draw.py``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.charts import Axis, Chart
from discreet.local import Estimates, Hadamard, Prefixes
from discreet.noise import KeyedEntropy
from discreet_course.heavy_hitters import bitstogram, succinct_histogram, tree_hist

BITS, WORDS, PEOPLE, TOP = 24, 2000, 60_000, 8
EPSILONS = (0.5, 1, 2, 3, 4)


def words() -> NDArray[np.int64]:
    """Everybody's word, the most frequent first: frequencies after Zipf, words far apart."""
    weights = 1 / np.arange(1, WORDS + 1) ** 1.1
    counts = np.floor(PEOPLE * weights / weights.sum()).astype(np.int64)
    names = np.arange(1, WORDS + 1) * 0x9E3779 % (1 << BITS)
    return names.repeat(counts)


def hitters_found() -> Chart:
    """How many of the most frequent words are found, by epsilon and by method."""
    people = words()
    frequent = set(list(dict.fromkeys(people.tolist()))[:TOP])
    chart = Chart(
        title=f"The {TOP} most frequent words of {len(people):,} people",
        x=Axis(label="ε of the one report", low=0.5, high=4, ticks=EPSILONS, log=True),
        y=Axis(label="found among the first eight", low=-0.4, high=TOP, ticks=range(0, TOP + 1, 2)),
    )
    chart.line(_prefixes(people, frequent), color=0, label="prefixes")
    others = (("TreeHist", tree_hist), ("Bitstogram", bitstogram), ("succinct", succinct_histogram))
    for color, (name, find) in enumerate(others, start=1):
        points = []
        for epsilon in EPSILONS:
            fixed = KeyedEntropy(key=bytes(32), label=f"{name} {epsilon}")
            found = find(people, bits=BITS, epsilon=epsilon, entropy=fixed)[:TOP]
            points.append((epsilon, float(sum(each.word in frequent for each in found))))
        chart.line(points, color=color, label=name, dashed=True)
    return chart


def _prefixes(people: NDArray[np.int64], frequent: set[int]) -> list[tuple[float, float]]:
    points = []
    for epsilon in EPSILONS:
        plan = Prefixes(bits=BITS, epsilon=epsilon, top=TOP, step=12, pool=1 << 12)
        fixed = KeyedEntropy(key=bytes(32), label=f"prefixes {epsilon}")
        tally = plan.response.tally(plan.response.run_each(people, entropy=fixed))
        points.append((epsilon, float(sum(h.word in frequent for h in plan.hitters(tally)))))
    return points


def poisoned_histogram() -> Chart:
    """A histogram to which an attacker sends reports, with bars that know of it and that do not."""
    honest, hostile, target, values = 20_000, 640, 13, 16
    oracle = Hadamard(epsilon=1, values=values)
    shares = np.arange(values, 0, -1) / (values * (values + 1) / 2)
    counts = np.floor(shares * honest).astype(np.int64)
    fixed = KeyedEntropy(key=bytes(32), label="honest people")
    tally = oracle.tally(oracle.run_each(np.arange(values).repeat(counts), entropy=fixed))
    for report in range(2 * oracle.rows):  # of each row, the sign that supports the target
        if oracle.supports(oracle.tally(np.array([report])))[target]:
            tally[report] += hostile // oracle.rows
    people = int(tally.sum())
    estimates = Estimates.of(oracle, tally, people=people, values=range(values))
    chart = Chart(
        title=f"{hostile} hostile reports among {people:,} (ε = 1, Hadamard response)",
        x=Axis(label="value", low=-0.6, high=values - 0.4, ticks=range(values)),
        y=Axis(label="share", low=0, high=0.25, ticks=(0, 0.05, 0.1, 0.15, 0.2, 0.25)),
    )
    points = [(float(value), share) for value, share in enumerate(shares.tolist())]
    chart.bars(points, width=0.8, color=0, label="the truth")
    for side, color, attackers in ((-0.18, 1, 0), (0.18, 2, hostile)):
        for row in estimates.table(hostile=attackers):
            chart.whisker(float(row.value) + side, row.low, min(row.high, 0.25), color=color)
        label = "bars that expect 640" if attackers else "plain bars"
        chart.line([(0, 0)] * 2, color=color, label=label)
    return chart


HITTERS = {"hitters-found": hitters_found, "poisoned-histogram": poisoned_histogram}
