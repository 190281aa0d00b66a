"""Logistic regression on the Adult table at epsilon 0.1: accuracy and area under the curve.

The table is not part of the repository: give the folder with ``adult.data`` and ``adult.test``.

    python benchmarks/learning_models.py FOLDER
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import discreet as dp

NAMES = [
    "age",
    "workclass",
    "weight",
    "education",
    "education_years",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
NUMBERS = {
    "age": (17, 90),
    "education_years": (1, 16),
    "gain": (0, 20_000),
    "loss": (0, 3_000),
    "hours": (1, 99),
}
LISTED = (
    "workclass",
    "education",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "country",
)
TRAINED = 39_073


def adults(folder: Path) -> pa.Table:
    """Read both files as one table."""
    rows = []
    for name in ("adult.data", "adult.test"):
        for line in (folder / name).read_text(encoding="ascii").splitlines():
            cells = [cell.strip() for cell in line.rstrip(".").split(",")]
            if len(cells) == len(NAMES):
                rows.append(cells)
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    made: dict[str, list[object]] = {"person": list(range(len(rows)))}
    for name in NUMBERS:
        made[name] = [int(value) for value in columns[name]]
    for name in LISTED:
        made[name] = list(columns[name])
    made["rich"] = [value == ">50K" for value in columns["income"]]
    return pa.table(made)


def policy(table: pa.Table) -> str:
    """Declare what the table's documentation says: bounds, and the lists of categories."""
    lines = ["format = 1", 'unit = "person"', "[limits]", "max_rows = 1", "max_groups = 1"]
    for name, (low, high) in NUMBERS.items():
        lines += [
            f"[tables.adults.columns.{name}]",
            'type = "integer"',
            f"low = {low}",
            f"high = {high}",
        ]
    for name in LISTED:
        values = ", ".join(f'"{value}"' for value in sorted(set(table.column(name).to_pylist())))
        lines += [f"[tables.adults.columns.{name}]", 'type = "text"', f"categories = [{values}]"]
    return "\n".join(
        [*lines, "[tables.adults.columns.rich]", 'type = "boolean"', "nullable = false"]
    )


def area(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Return the area under the curve of hits against false alarms."""
    ranks = scores.argsort(kind="stable").argsort(kind="stable") + 1.0
    hits = int(truth.sum())
    return float((ranks[truth].sum() - hits * (hits + 1) / 2) / (hits * (truth.size - hits)))


def main(folder: Path) -> None:
    """Fit three times, each on another part of the table."""
    table = adults(folder)
    rules = policy(table)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(table.num_rows)
        train, test = table.take(order[:TRAINED]), table.take(order[TRAINED:])
        with dp.open({"adults": train}, policy=rules, test_mode=True) as session:
            start = time.perf_counter()
            model = dp.learning.LogisticRegression(
                epsilon="0.1", delta="1e-5", steps=32, learning_rate=4
            )
            model.fit(session.table("adults"), label="rich")
            seconds = time.perf_counter() - start
        truth = np.array(test.column("rich").to_pylist())
        right = float((model.predict(test) == truth).mean())
        curve = area(model.decision_function(test), truth)
        print(f"seed {seed}: accuracy {right:.4f}, area {curve:.4f}, {seconds:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
