"""Generated tables of visits, their policies, and the questions of ``benchmarks/ask.py``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

PLACES: Final = 1000
GROUPS, ROWS = 10, 5
"""The groups of a person, and the rows of a person that count in one of them."""
EPSILON, DELTA = 1, "1e-9"
BITS: Final = 20
"""Of the fraction, where a sum is written by hand with whole numbers."""

PERSON, ROW = "person", "row"

QUESTION: Final = (
    "SELECT place, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM visits GROUP BY place"
)

SMALL_QUESTION: Final = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
SMALL_POLICY: Final = """
format = 1
unit = "patient"
[budget]
epsilon = "2"
[limits]
max_groups = 3
max_rows = 5
[tables.visits.columns.patient]
type = "integer"
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B", "C", "D"]
"""


def policy(unit: str) -> str:
    """Return the rules for the generated tables, by the name of the unit."""
    return f"""
        format = 1
        unit = "{unit}"
        [limits]
        max_groups = {GROUPS}
        max_rows = {ROWS}
        delta_per_question = "{DELTA}"
        [tables.visits.columns.amount]
        type = "float"
        low = "0"
        high = "100"
        nullable = false
    """


def plain(path: Path) -> str:
    """Write the question without any privacy."""
    return (
        "SELECT place, count(*), sum(amount), avg(amount) "  # noqa: S608 (a path of ours)
        f"FROM read_parquet('{path}') GROUP BY place"
    )


def bounded(path: Path, salt: int = 1) -> str:
    """Write by hand what bounds the contributions of a person, without noise.

    Clamped amounts become whole numbers, each person and place one row; a person keeps the places
    with the lowest hashes.
    """
    one = 1 << BITS
    return f"""
        WITH cells AS (
            SELECT person, place, count(*) AS n,
                sum(CAST(floor(least(greatest(amount, 0), 100) * {one} + 0.5) AS BIGINT)) AS s
            FROM read_parquet('{path}') WHERE person IS NOT NULL GROUP BY person, place
        ), clamped AS (
            SELECT person, place, least(n, {ROWS}) AS n, least(s, {100 * ROWS * one}) AS s,
                hash({salt}::BIGINT, person, place) AS h
            FROM cells
        ), ranked AS (
            SELECT *, row_number() OVER (PARTITION BY person ORDER BY h, place) AS k FROM clamped
        )
        SELECT place, count(*) AS people, sum(n) AS n, sum(s) AS s
        FROM ranked WHERE k <= {GROUPS} GROUP BY place ORDER BY place
    """  # noqa: S608 (numbers and a path of ours)


@dataclass(frozen=True, slots=True)
class Tables:
    """Files in a folder, each written when it is first asked for."""

    folder: Path

    def visits(self, rows: int, people: int) -> Path:
        """Return a file of visits: few places have many of them, and amounts are floats."""
        path = self.folder / f"visits-{rows}-{people}.parquet"
        if not path.exists():
            rng = np.random.default_rng(rows)
            place = (PLACES * rng.random(rows) ** 2).astype(np.int64)
            amount = np.minimum(rng.gamma(2.0, 10.0, rows), 200.0)
            columns = {"person": rng.integers(0, people, rows), "place": place, "amount": amount}
            pq.write_table(pa.table(columns), path)
        return path

    def small(self) -> Path:
        """Return a CSV file of a thousand visits to four wards."""
        path = self.folder / "visits.csv"
        if not path.exists():
            rng = np.random.default_rng(1)
            wards = np.array(["A", "B", "C", "D"])[rng.integers(0, 4, 1000)]
            table = pa.table({"patient": rng.integers(0, 300, 1000), "ward": wards})
            pyarrow.csv.write_csv(table, path)
        return path
