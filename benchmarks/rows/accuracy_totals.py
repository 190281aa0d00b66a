"""Counts, sums, means, variances and deviations by row; others by the laws of their noise.

OpenDP adds geometric noise to counts and sums, of scale 1 / epsilon and B / epsilon.  Tumult and
Google release a mean as a sum of what is above the middle of the bounds and a count, each for half
of epsilon.  A variance is compared with these and a sum of centered squares, each for a third.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.rows.accuracy_tables import EPSILONS, AccuracyRow, Bench, Drawn, geometric

HIGH = 2000


def rows(bench: Bench) -> Iterator[AccuracyRow]:
    """Yield a row for each total and price."""
    values = np.clip(bench.column("R", "earns"), 0, HIGH)
    young = float((bench.column("R", "age") < 40).sum())
    for text in EPSILONS:
        epsilon = float(text)
        drawn = {
            "COUNT": bench.drawn("R", "COUNTIF(age < 40)", young, epsilon=text),
            "SUM": bench.drawn("R", "SUM(earns)", float(values.sum()), epsilon=text),
            "AVG": bench.drawn("R", "AVG(earns)", float(values.mean()), epsilon=text),
            "VAR_POP": bench.drawn("R", "VAR_POP(earns)", float(values.var()), epsilon=text),
            "STDDEV_POP": bench.drawn("R", "STDDEV_POP(earns)", float(values.std()), epsilon=text),
        }
        for name, (who, other) in laws(values, epsilon).items():
            yield of(
                f"R {name}(earns)" if name != "COUNT" else "R COUNT", text, drawn[name], who, other
            )


def of(question: str, epsilon: str, drawn: Drawn, who: str, other: float) -> AccuracyRow:
    """Return a row whose peer is a law."""
    return AccuracyRow(
        question=question,
        epsilon=epsilon,
        ours=drawn.rmse,
        other=other,
        who=who,
        law=True,
        covered=drawn.covered,
        wide=drawn.wide,
    )


def laws(values: np.ndarray, epsilon: float) -> dict[str, tuple[str, float]]:
    """Return the best of the others by its law."""
    half, rows_, mean = HIGH / 2, values.size, float(values.mean()) - HIGH / 2
    variance = float(values.var())
    two, three = math.sqrt(2) * 2 / epsilon, math.sqrt(2) * 3 / epsilon
    average = math.hypot(half * two, mean * two) / rows_
    moments = (half**2, 2 * mean * half, variance - mean**2)
    spread = math.hypot(*(each * three for each in moments)) / rows_
    return {
        "COUNT": ("OpenDP", geometric(1 / epsilon)),
        "SUM": ("OpenDP", geometric(HIGH / epsilon)),
        "AVG": ("Tumult, Google", average),
        "VAR_POP": ("three sums, a third of epsilon each", spread),
        "STDDEV_POP": ("three sums, a third of epsilon each", spread / (2 * math.sqrt(variance))),
    }
