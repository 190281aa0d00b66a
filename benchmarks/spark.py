"""Race private answers on Spark against Spark SQL and Tumult Analytics: ``./run bench spark``.

docs/benchmarks/spark.md says what is measured and how to read it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.bars.spark import bars, costs, notes
from benchmarks.measure import Result, machine, read_options, run_all
from benchmarks.peers.environment import PeersUnavailable
from benchmarks.report import bar_list, table, write_json
from benchmarks.rows.ask_tables import Tables
from benchmarks.rows.spark import (
    BOUNDED,
    CODES_COUNTS,
    CODES_ROWS,
    PLAIN,
    QUICK_COUNTS,
    QUICK_ROWS,
    ROW_COUNTS,
    TUMULT,
    Field,
)
from benchmarks.rows.spark_session import Watched, spark_session
from benchmarks.rows.spark_tumult import Tumult

COLUMNS = {BOUNDED: "bounded SQL", PLAIN: "plain SQL", TUMULT: "Tumult"}
LIMIT, QUICK_LIMIT = 240.0, 120.0
"""CPU seconds that one answer of Tumult may take."""


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("spark", __doc__, rounds=3, quick=2)
    described = machine()
    described["versions"] |= {name: version(name) for name in ("duckdb", "pyarrow", "pyspark")}
    missing = None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-spark-")))
        tables, tumult = Tables(folder), None
        if options.peers:
            try:
                peers = stack.enter_context(Watched(TUMULT))
                tumult = Tumult(peers, tables, QUICK_LIMIT if options.quick else LIMIT)
            except PeersUnavailable as failure:
                missing = str(failure)
        described["peers"] = {} if tumult is None else tumult.peers.versions
        field = Field(
            spark=stack.enter_context(spark_session(folder)),
            tables=tables,
            sizes=ROW_COUNTS[:1] if options.quick else ROW_COUNTS,
            codes=(QUICK_ROWS, QUICK_COUNTS) if options.quick else (CODES_ROWS, CODES_COUNTS),
            tumult=tumult,
            stack=stack,
        )
        results = run_all(field.races(), options.rounds)
    said = [] if tumult is None else tumult.notes
    verdict, told, lines = bars(results), notes(results), costs(results)
    print_report(described, results, missing, said)
    if lines:
        print("\nWhat it costs\n" + "\n".join(f"  {line}" for line in lines))
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nBeside them\n{bar_list(told)}")
    if options.json:
        everything = [*verdict, *told]
        write_json(
            options.json,
            machine=described,
            results=results,
            bars=everything,
            costs=lines,
            notes=said,
        )
    return int(missing is not None or any(bar.passed is False for bar in verdict))


def print_report(
    described: dict[str, Any], results: list[Result], missing: str | None, said: Sequence[str]
) -> None:
    """Print how long everything took, on what."""
    installed = {"python": described["python"], **described["versions"], **described["peers"]}
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(", ".join(f"{name} {number}" for name, number in installed.items()))
    print("CPU time for one answer, all processes; best of all rounds, and one of Tumult.\n")
    print(table(results, COLUMNS))
    for note in said:
        print(note)
    if missing is not None:
        print(f"\nNO FIGURES FOR Tumult: {missing}")
        print("Give --no-peers to leave it out on purpose.")


if __name__ == "__main__":
    sys.exit(main())
