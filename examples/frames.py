"""Open the frame that you hold, and get the answer back as a frame of the same library.

Needs the extras ``polars`` and ``pandas``. Run it with ``python examples/frames.py``.
"""

import duckdb
import pandas as pd
import polars as pl

import discreet as dp

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 4
max_groups = 1
[tables.visits.columns]
ward = { type = "text", categories = ["A", "B", "C"], nullable = false }
"""
QUESTION = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def main() -> None:
    """Ask four libraries the same."""
    rows = {
        "patient": [visit % 1500 for visit in range(5000)],
        "ward": ["AABC"[visit % 4] for visit in range(5000)],
    }
    database = duckdb.connect()
    database.register("rows", pl.DataFrame(rows))
    frames = {
        "Polars": pl.DataFrame(rows),
        "Polars, lazily": pl.DataFrame(rows).lazy().filter(pl.col("patient") < 1000),
        "pandas": pd.DataFrame(rows),
        "DuckDB": database.sql("SELECT * FROM rows WHERE ward <> 'C'"),
    }
    for library, visits in frames.items():
        # a real session has a budget and a ledger; in test mode nothing is private
        with dp.open({"visits": visits}, policy=POLICY, test_mode=True) as session:
            answer = session.ask(QUESTION, epsilon=0.5).to_native(visits)
        print(library, type(answer), answer, sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
