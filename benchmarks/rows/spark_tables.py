"""Tables, questions and SQL of ``benchmarks/spark.py``; visits are those of ``ask_tables``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.rows.ask_tables import BITS, DELTA, GROUPS, ROWS

CODES_QUESTION: Final = "SELECT code, COUNT(*) AS n, SUM(amount) AS s FROM codes GROUP BY code"
CODES_GROUPS: Final = 2
"""The codes of a person that count, with one row each."""
CODES_POLICY: Final = f"""
    format = 1
    unit = "person"
    [limits]
    max_groups = {CODES_GROUPS}
    max_rows = 1
    delta_per_question = "{DELTA}"
    [tables.codes.columns.amount]
    type = "integer"
    low = 0
    high = 100
    nullable = false
"""


def plain(view: str) -> str:
    """Write the question about visits without any privacy."""
    return f"SELECT place, count(*), sum(amount), avg(amount) FROM {view} GROUP BY place"  # noqa: S608 (a name of ours)


def bounded(view: str) -> str:
    """Write by hand what bounds the visits of a person, without noise.

    ``DISTRIBUTE BY`` brings the rows of a person together once.  Without it there are two shuffles,
    of rows by person and place and of what is left by person, which take longer.
    """
    one = 1 << BITS
    amount = f"CAST(floor(least(greatest(amount, 0), 100) * {one} + 0.5) AS BIGINT)"
    return _bounded(view, "place", amount, GROUPS, ROWS, 100 * ROWS * one) + " ORDER BY place"


def bounded_codes(view: str) -> str:
    """Write the same for codes, of which there are too many to be sorted."""
    amount = "least(greatest(amount, 0), 100)"
    return _bounded(view, "code", amount, CODES_GROUPS, 1, 100)


def _bounded(view: str, key: str, amount: str, groups: int, rows: int, most: int) -> str:  # noqa: PLR0913, PLR0917 (what differs)
    return f"""
        WITH visits AS (
            SELECT person, {key}, amount FROM {view}
            WHERE person IS NOT NULL DISTRIBUTE BY person
        ), cells AS (
            SELECT person, {key}, count(*) AS n, sum({amount}) AS s
            FROM visits GROUP BY person, {key}
        ), clamped AS (
            SELECT person, {key}, least(n, {rows}) AS n, least(s, {most}) AS s,
                xxhash64(1L, person, {key}) AS h
            FROM cells
        ), ranked AS (
            SELECT *, row_number() OVER (PARTITION BY person ORDER BY h, {key}) AS k FROM clamped
        )
        SELECT {key}, count(*) AS people, sum(n) AS n, sum(s) AS s
        FROM ranked WHERE k <= {groups} GROUP BY {key}
    """  # noqa: S608 (names and numbers of ours)


@dataclass(frozen=True, slots=True)
class Codes:
    """Tables with many groups, each written when it is first asked for."""

    folder: Path

    def table(self, rows: int, groups: int) -> Path:
        """Return a file in which each code occurs, and a few of them often; two rows a person."""
        path = self.folder / f"codes-{rows}-{groups}.parquet"
        if not path.exists():
            rng = np.random.default_rng(groups)
            crowded = (groups * rng.random(rows - groups) ** 4).astype(np.int64)
            columns = {
                "person": rng.permutation(rows) // 2,
                "code": np.concatenate([np.arange(groups), crowded]),
                "amount": rng.integers(0, 100, rows),
            }
            pq.write_table(pa.table(columns), path)
        return path
