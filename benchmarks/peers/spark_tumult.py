"""Tumult Analytics; runs inside its environment, started by ``environment.py``.

Each line of standard input is a request: the name of some work and the path of a Parquet file.  The
answer comes when a table with noise has been collected.  Its CPU time is taken from outside, since
most of it is that of a Java process.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import warnings
from importlib.metadata import version

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

ROWS, GROUPS = 5, 10
"""Rows of a person that count in one group, and the groups of a person."""
EPSILON, DELTA = 1, 1e-9
QUERIES = 3
"""For places, counts and sums; means are quotients."""


def person(spark: SparkSession, *, path: str) -> int:
    """Count, sum and mean by place, for people with many rows."""
    session = Session.from_dataframe(
        privacy_budget=ApproxDPBudget(EPSILON, DELTA),
        source_id="visits",
        dataframe=spark.read.parquet(path),
        protected_change=AddRowsWithID("person"),
    )
    share = ApproxDPBudget(EPSILON / QUERIES, 0)
    visits = (
        QueryBuilder("visits")
        .enforce(MaxGroupsPerID("place", GROUPS))
        .enforce(MaxRowsPerGroupPerID("place", ROWS))
    )
    choice = ApproxDPBudget(EPSILON / QUERIES, DELTA)
    places = session.evaluate(visits.get_groups(["place"]), choice)
    found = visits.groupby(KeySet.from_dataframe(places))
    counts = session.evaluate(found.count(name="n"), share)
    sums = session.evaluate(found.sum("amount", 0, 100, name="s"), share)
    answer = counts.join(sums, "place").selectExpr("place", "n", "s", "s / n AS a")
    return len(answer.collect())


WORK = {"person": person}


def started(folder: str, settings: dict[str, str]) -> SparkSession:
    """Start Spark with the settings of all contenders, and those that the library asks for."""
    own = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": f"{folder}/local",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in {**settings, **own}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    packages = ("tmlt.analytics", "tmlt.core", "pyspark")
    told = {f"{name} of Tumult" if name == "pyspark" else name: version(name) for name in packages}
    print(json.dumps({"versions": told}), flush=True)
    settings = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory(prefix="bench-spark-tumult-") as folder:
        os.chdir(folder)
        spark = started(folder, settings)
        print(json.dumps({"started": True}), flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            work = WORK[request.pop("work")]
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    value = work(spark, **request)
            except Exception as failure:  # noqa: BLE001  whatever it is, the row says it
                why = f"{type(failure).__name__}: {failure}".partition("\n")[0][:300]
                print(json.dumps({"why": why}), flush=True)
                continue
            print(json.dumps({"value": value}), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
