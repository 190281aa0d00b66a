"""Many counts: forty of five columns in one question, and a hundred questions on one budget."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import discreet as dp
from benchmarks.rows.accuracy_tables import POLICIES, AccuracyRow, Bench, geometric
from discreet.loss import ZeroConcentrated
from discreet.plan.pricing.calibration import gaussian_rho

BITS = ("black", "hispanic", "union", "inlf", "kidlt6")
DELTA = "1e-9"


def rows(bench: Bench) -> Iterator[AccuracyRow]:
    """Yield a row for each way to ask for many counts."""
    yield forty(bench)
    yield from hundred(bench)


def forty(bench: Bench) -> AccuracyRow:
    """Count all pairs of values of five columns, and add up 32 cells, as others can."""
    pairs = [
        (one, other, i, j)
        for one, other in itertools.combinations(BITS, 2)
        for i, j in itertools.product((0, 1), repeat=2)
    ]
    asked = ", ".join(
        f"COUNTIF(`{one}` = {i} AND `{other}` = {j}) AS c{at}"
        for at, (one, other, i, j) in enumerate(pairs)
    )
    truths = [
        float(((bench.column("R", one) == i) & (bench.column("R", other) == j)).sum())
        for one, other, i, j in pairs
    ]
    errors, covered = [], []
    for _ in range(max(10, bench.draws // 10)):
        with dp.open({"r": bench.tables["R"]}, policy=POLICIES["R"], test_mode=True) as session:
            question = f"SELECT {asked} FROM r"  # noqa: S608  (ours)
            (row,) = session.ask(question, epsilon=1).to_arrow(unclipped=True).to_pylist()
        for at, truth in enumerate(truths):
            errors.append(row[f"c{at}_unclipped"] - truth)
            covered.append(row[f"c{at}_low"] <= truth <= row[f"c{at}_high"])
    return AccuracyRow(
        question="R 40 counts of pairs of five columns",
        epsilon="1",
        ours=float(np.sqrt(np.mean(np.square(errors)))),
        other=geometric(1.0) * math.sqrt(8),
        who="32 cells, added up by hand",
        law=True,
        covered=float(np.mean(covered)),
    )


def hundred(bench: Bench) -> Iterator[AccuracyRow]:
    """Ask a hundred counts for a hundredth of a budget each."""
    for delta in (DELTA, "1e-6"):
        budget = dp.Budget(epsilon=1, delta=delta)
        with (
            TemporaryDirectory() as folder,
            dp.open(
                {"r": bench.tables["R"]},
                policy=POLICIES["R"],
                budget=budget,
                ledger=Path(folder) / "r.ledger",
            ) as session,
        ):
            plan = session.plan("SELECT COUNT(*) AS n FROM r", share="1/100")
        laws = {
            "OpenDP, rho": most_rho(1.0, Fraction(delta)),
            "PipelineDP, PLD": float(gaussian_rho(Fraction(1), Fraction(delta))),
        }
        for who, rho in laws.items():
            yield AccuracyRow(
                question=f"R each of 100 counts, delta {delta}",
                epsilon="1",
                ours=math.sqrt(float(plan.noises[0].mechanism.variance)),
                other=math.sqrt(100 / (2 * rho)),
                who=who,
                law=True,
            )


def most_rho(epsilon: float, delta: Fraction) -> float:
    """Return the largest rho that keeps an epsilon at a delta, to four digits."""
    low, high = 0.0, epsilon
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        kept = ZeroConcentrated(rho=Fraction(middle)).epsilon(delta=delta) <= epsilon
        low, high = (middle, high) if kept else (low, middle)
    return low
