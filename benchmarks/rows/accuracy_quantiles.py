"""Quantiles: values of discreet with and without intervals, and OpenDP's, which has none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.rows.accuracy_tables import EPSILONS, AccuracyRow, Bench

ASKED = (
    ("R", "earns", 0.5, 2001, 1),
    ("R", "earns", 0.9, 2001, 1),
    ("R", "age", 0.9, 101, 1),
    ("P", "hours", 0.5, 5001, 8),
    ("P", "hours", 0.9, 5001, 8),
)


def rows(bench: Bench) -> Iterator[AccuracyRow]:
    """Yield a row for each quantile and price."""
    for table, name, level, places, most in ASKED:
        values = np.minimum(bench.column(table, name), places - 1)
        truth = float(np.quantile(values, level, method="inverted_cdf"))
        for epsilon in EPSILONS:
            ours = bench.drawn(table, f"PERCENTILE_CONT({name}, {level})", truth, epsilon=epsilon)
            told = bench.by_opendp(
                work="quantile draws",
                values=values.astype(int).tolist(),
                level=level,
                places=places,
                moved=most,
                epsilon=float(epsilon),
                draws=bench.draws,
            )
            other = None if told is None else float(np.sqrt(np.mean((np.array(told) - truth) ** 2)))
            yield AccuracyRow(
                question=f"{table} {name} at {level}",
                epsilon=epsilon,
                ours=ours.rmse,
                other=other,
                who="OpenDP",
                covered=ours.covered,
                wide=ours.wide,
            )
