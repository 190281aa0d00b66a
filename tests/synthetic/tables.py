"""Small tables for tests of synthetic tables, and sessions on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp

POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "50"
delta = "1e-6"
[limits]
max_rows = 1
max_groups = 1
[tables.visits.columns]
patient = { type = "integer" }
ward = { type = "text", categories = ["A", "B", "C"], nullable = false }
age = { type = "integer", low = 0, high = 99, nullable = false }
smoker = { type = "boolean", nullable = true }
cost = { type = "float", low = 0, high = 100, nullable = false }
seen = { type = "date", low = 2024-01-01, high = 2024-12-31, nullable = false }
"""

SCHEMA = pa.schema(
    [
        ("patient", pa.int64()),
        ("ward", pa.string()),
        ("age", pa.int64()),
        ("smoker", pa.bool_()),
        ("cost", pa.float64()),
        ("seen", pa.date32()),
    ]
)


def visits(rows: int = 3000, seed: int = 1) -> pa.Table:
    """Return made-up visits, one a patient, whose columns depend on each other."""
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 100, rows)
    ward = np.where(age > 60, "C", np.where(generator.random(rows) < 0.7, "A", "B"))
    smoker = [None if draw < 0.1 else bool(draw < 0.4) for draw in generator.random(rows)]
    cost = np.clip(age * 0.8 + generator.normal(0, 5, rows), 0, 100)
    days = generator.integers(0, 366, rows).astype("timedelta64[D]") + np.datetime64("2024-01-01")
    columns: list[Any] = [np.arange(rows), ward, age, smoker, cost, days]
    return pa.table([pa.array(column) for column in columns], names=SCHEMA.names).cast(SCHEMA)


@contextmanager
def opened(
    table: pa.Table, folder: Path, *, policy: str = POLICY, **more: Any
) -> Iterator[dp.session.Session]:
    """Open a session on a table, with a ledger of its own."""
    with dp.open(
        {"visits": table}, policy=policy, ledger=folder / "visits.ledger", **more
    ) as session:
        yield session
