"""The pictures of synthetic data, beside those of ``draw.py``."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.charts import Axis, Chart
from discreet.noise import KeyedEntropy
from discreet.synthetic.dual_query.conjunctions import Conjunctions, count_conjunctions
from discreet.synthetic.dual_query.oracle import LocalSearch
from discreet.synthetic.dual_query.settings import DualQuerySettings, play
from discreet.synthetic.inference.inference import CodedDomain

KINDS = (((1, 1, 0, 1), 400), ((0, 0, 1, 0), 350), ((1, 0, 0, 0), 150), ((0, 1, 0, 1), 100))
PUBLISHED = {0.25: 0.469, 0.5: 0.293, 0.75: 0.251, 1: 0.223, 2: 0.156, 3: 0.133, 4: 0.114, 5: 0.101}
"""Figure 2 of Gaboardi and others 2014: epsilon, and the largest error on the Adult table."""
OURS = {0.25: 0.153, 0.5: 0.110, 0.75: 0.097, 1: 0.092, 2: 0.067, 3: 0.059, 4: 0.053, 5: 0.046}
"""The same for our defaults, on the same table with as many conjunctions: means of three runs, by
``python -m benchmarks.rows.synthetic_queries ADULT curve``."""
AGAIN = 0.204
"""The same for the settings of the paper at epsilon 1, which cost .31 by our accountant."""


def largest_error(
    queries: Conjunctions, held: NDArray[np.int64], rows: NDArray[np.int64], people: int
) -> float:
    """Return how far the worst query is off, as a share."""
    found, _ = count_conjunctions(queries, rows.T, np.ones(len(rows), np.int64))
    return float(np.abs(held / people - found / len(rows)).max())


def game_errors() -> Chart:
    """The largest error of the game on a thousand people, round by round, three times."""
    people = np.array([row for row, count in KINDS for _ in range(count)])
    pairs = [[(a, 1, True), (b, 1, True)] for a, b in itertools.combinations(range(4), 2)]
    queries = Conjunctions.of(CodedDomain(("a", "b", "c", "d"), (2, 2, 2, 2)), pairs)
    held, missed = count_conjunctions(queries, people.T, np.ones(len(people), np.int64))
    chart = Chart(
        title="DualQuery on 1,000 people: the worst of six pairs",
        x=Axis(label="rows released", low=1, high=60, ticks=(1, 10, 20, 30, 40, 50, 60)),
        y=Axis(label="largest error", low=0, high=0.6, ticks=(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    )
    for color, samples in enumerate((1, 5, 100)):
        settings = DualQuerySettings(rounds=60, samples=samples, rate=Fraction(1), rows=1000)
        rows = play(
            queries,
            held,
            missed,
            settings,
            oracle=LocalSearch(),
            stream=KeyedEntropy(key=bytes(32), label="the oracle"),
            entropy=KeyedEntropy(key=bytes(32), label=f"draws {samples}"),
        ).astype(np.int64)
        errors = [
            (float(count), min(0.6, largest_error(queries, held, rows[:count], 1000)))
            for count in range(1, 61)
        ]
        chart.line(errors, color=color, label=f"{samples} draw{'s' if samples > 1 else ''} a round")
    return chart


def published_and_ours() -> Chart:
    """The published curve and ours on the same table, as measured by the benchmark."""
    chart = Chart(
        title="DualQuery on the Adult table, published and ours (δ = 0.001)",
        x=Axis(label="ε", low=0.25, high=5, ticks=(0.25, 0.5, 1, 2, 5), log=True),
        y=Axis(label="largest error", low=0, high=0.5, ticks=(0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    )
    published = [(float(epsilon), error) for epsilon, error in PUBLISHED.items()]
    ours = [(float(epsilon), error) for epsilon, error in OURS.items()]
    chart.line(published, color=1, label="paper", dashed=True)
    chart.dots(published, color=1)
    chart.dots([(1.0, AGAIN)], color=2, label="its settings, our game")
    chart.line(ours, color=0, label="our settings")
    chart.dots(ours, color=0)
    return chart


SYNTHETIC = {"dual-query-rounds": game_errors, "dual-query-curve": published_and_ours}
