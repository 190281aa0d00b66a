"""Tables of Spark: hostile names, values and types, of which none can make a task fail."""

import decimal
import sys
from subprocess import run

import pyarrow as pa
import pytest

from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Performance, SparkPerformance
from discreet.engines.spark import Spark
from discreet.errors import UnreadableSource, WrongKind
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Leaves, Total
from tests.engines.spark.sparks import duckdb_answer, facts, spark_answer
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


def hostile():
    """Return a table whose columns have names that are no names."""
    return pa.table(
        {
            "a.b": [1, 2, 3, 1, 2, 9] * 5,
            "`c`": ["`", None, "a.b", '"', "'", ""] * 5,
            "d \"e\" 'f'": list(range(30)),
            " ": [None, 2.5, -0.0, 0.0, float("nan"), float("inf")] * 5,
            "part": [True, None, False] * 10,
            "tag": [7] * 30,
            "kind": ["x", "y"] * 15,
        }
    )


def test_names_are_never_looked_up():
    table = hostile()
    kinds = [
        Type.INTEGER,
        Type.TEXT,
        Type.INTEGER,
        Type.FLOAT,
        Type.BOOLEAN,
        Type.INTEGER,
        Type.TEXT,
    ]
    types = dict(zip(table.column_names, kinds, strict=True))
    lowered = EngineRequest(
        relation=Scan("t", tuple(types.items())),
        unit=(Column("a.b"),),
        keys=(
            KeyColumn("k", Column("`c`"), Type.TEXT),
            KeyColumn("p", Column("part"), Type.BOOLEAN),
        ),
        groups=2,
        measures=(
            Total(name="x", row=Column("d \"e\" 'f'"), low=-5, high=12, rows=2),
            DistinctCount(name="y", expression=Column(" "), most=2),
            DistinctCount(name="r", expression=Column("kind"), most=2),
            Leaves(name="leaf", row=Column("tag"), leaves=9, rows=3),
        ),
    )
    session = local_session()
    known = facts("t", types, unit=("a.b",))
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        actual = spark_answer({"t": session.createDataFrame(table)}, lowered, known)
    finally:
        session.conf.unset("spark.sql.caseSensitive")
    assert actual == duckdb_answer({"t": table}, lowered)


EVERY = """
SELECT CAST(id % 7 AS {unit}) AS u,
       CASE id % 5 WHEN 0 THEN CAST(X'FF41' AS STRING) WHEN 1 THEN CAST(X'C3A9' AS STRING)
                   WHEN 2 THEN 'a' WHEN 3 THEN '' END AS t,
       CAST('x' AS CHAR(3)) AS c,
       CAST(id AS TINYINT) AS i8, CAST(id * 300 AS SMALLINT) AS i16, CAST(id AS INT) AS i32,
       CAST(id AS FLOAT) / 3 AS f32,
       CASE id % 4 WHEN 0 THEN double('nan') WHEN 1 THEN double('-0.0') WHEN 2 THEN double('inf')
                   ELSE 0.0D END AS f64,
       CAST(id AS DECIMAL(38, 18)) / 7 AS dec,
       CASE id % 3 WHEN 0 THEN date_add(DATE'9999-12-31', 9)
                   WHEN 1 THEN date_from_unix_date(-999999) ELSE DATE'2024-02-29' END AS d,
       CASE id % 3 WHEN 0 THEN TIMESTAMP_NTZ'+294247-01-01 00:00:00' WHEN 1
                   THEN TIMESTAMP_NTZ'-290000-01-01 00:00:00'
                   ELSE TIMESTAMP_NTZ'2024-02-29 01:02:03.000004' END AS m,
       id % 2 = 0 AS b, 'Aé' COLLATE UTF8_LCASE AS l,
       current_timestamp() AS z, array(id) AS a, X'00' AS bin
FROM range(30)
"""
COLUMNS = {
    "u": Type.INTEGER,
    "t": Type.TEXT,
    "c": Type.TEXT,
    "i8": Type.INTEGER,
    "i16": Type.INTEGER,
    "i32": Type.INTEGER,
    "f32": Type.FLOAT,
    "f64": Type.FLOAT,
    "dec": Type.FLOAT,
    "d": Type.DATE,
    "m": Type.TIMESTAMP,
    "b": Type.BOOLEAN,
    "l": Type.TEXT,
    "z": None,
    "a": None,
    "bin": None,
}


def every(unit="INT"):
    return local_session().sql(EVERY.format(unit=unit))


def test_no_value_makes_a_task_fail():
    """What our types do not hold is NULL: texts that are not Unicode, days after year 9999."""
    types = {name: kind for name, kind in COLUMNS.items() if kind is not None}
    lowered = EngineRequest(
        relation=Scan("t", tuple(types.items())),
        unit=(Column("u"),),
        keys=tuple(KeyColumn(name, Column(name), types[name]) for name in ("d", "m")),
        groups=3,
        measures=tuple(
            DistinctCount(name=name, expression=Column(name), most=9)
            for name, kind in types.items()
            if name != "u"
        ),
    )
    known = facts("t", types, unit=("u",))
    actual = spark_answer({"t": every()}, lowered, known)
    assert {None} < set(actual["keys"][0])
    assert len(actual["units"]) == 2
    counts = {name: sum(values) for name, values in actual["totals"].items()}
    assert counts["t"] == 3 + 3  # the one that is not Unicode does not count
    assert counts["f64"] == 1 + 1  # zero has one sign, and is all that is finite
    assert counts["l"] == counts["c"] == 2
    rows = every().toArrow().select([name for name in types if name != "t"])
    safe = [measure for measure in lowered.measures if measure.name != "t"]
    without = EngineRequest(
        relation=Scan("t", tuple((n, k) for n, k in types.items() if n != "t")),
        unit=lowered.unit,
        keys=lowered.keys,
        groups=3,
        measures=tuple(safe),
    )
    expected = duckdb_answer({"t": rows}, without)
    assert {name: actual["totals"][name] for name in expected["totals"]} == expected["totals"]


def test_decimals_are_floats():
    session = local_session()
    values = [decimal.Decimal("0.1"), decimal.Decimal("99999999999999999999.123"), None]
    table = pa.table({"u": [1, 2, 3], "x": pa.array(values, pa.decimal128(38, 3))})
    lowered = EngineRequest(
        relation=Scan("t", (("u", Type.INTEGER), ("x", Type.FLOAT))),
        unit=(Column("u"),),
        keys=(),
        groups=1,
        measures=(DistinctCount(name="x", expression=Column("x"), most=1),),
    )
    known = facts("t", {"u": Type.INTEGER, "x": Type.FLOAT}, unit=("u",))
    actual = spark_answer({"t": session.createDataFrame(table)}, lowered, known)
    assert actual == duckdb_answer({"t": table}, lowered)


def test_streams_sessions_and_names_that_are_alike_are_refused():
    session = local_session()
    with pytest.raises(UnreadableSource, match="is a stream"):
        Spark({"t": session.readStream.format("rate").load()})
    with pytest.raises(UnreadableSource, match="one name"):
        Spark({"t": session.sql("SELECT 1 AS a, 2 AS A")})
    again = type(session).getActiveSession()  # another object for the same session
    Spark({"s": session.range(1), "t": again.range(1)}).close()
    with pytest.raises(WrongKind, match="one session"):
        Spark({"s": session.range(1), "t": session.newSession().range(1)})
    with pytest.raises(WrongKind):
        engine_for({"t": session.range(1)}, Performance(threads=1))
    with pytest.raises(WrongKind):
        engine_for({"t": pa.table({"a": [1]})}, SparkPerformance())


def test_nothing_loads_spark_before_it_is_used():
    program = (
        "import sys, discreet, discreet.session, discreet.engines.dispatch; "
        "assert not any(name.split('.')[0] == 'pyspark' for name in sys.modules)"
    )
    done = run([sys.executable, "-c", program], check=False)
    assert done.returncode == 0
