"""The fourth engine is a plug-in: found by its scheme, and held against the kit."""

import sys
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from chdb import session as chdb

import discreet as dp
from discreet.engines import conformance
from discreet.engines.dispatch import engine_for

ROOT = Path(__file__).parents[2]
NATIVE = {
    pa.int64(): "Nullable(Int64)",
    pa.string(): "Nullable(String)",
    pa.float64(): "Nullable(Float64)",
    pa.bool_(): "Nullable(Bool)",
    pa.date32(): "Nullable(Date32)",
    pa.timestamp("us"): "Nullable(DateTime64(6, 'UTC'))",
}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install the example as a package would be: its module, and its entry point."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    metadata = tmp_path / "site" / "clickhouse_engine-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: clickhouse-engine\nVersion: 1\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[discreet.engines]\nclickhouse = clickhouse_engine:ClickHouse\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield
    sys.modules.pop("clickhouse_engine", None)


def filled(folder, tables):
    """Write tables into a folder of ClickHouse, and return their addresses."""
    with chdb.Session(str(folder)) as connection:
        connection.query("CREATE DATABASE IF NOT EXISTS clinic ENGINE = Atomic")
        for name, table in tables.items():
            columns = ", ".join(f"{each.name} {NATIVE[each.type]}" for each in table.schema)
            connection.query(
                f"CREATE TABLE clinic.{name} ({columns}) ENGINE = MergeTree ORDER BY ()"
            )
            rows = ", ".join(
                f"({', '.join(map(written, row.values()))})" for row in table.to_pylist()
            )
            connection.query(f"INSERT INTO clinic.{name} VALUES {rows}")  # noqa: S608
    return {name: f"clickhouse://{folder}/clinic.{name}" for name in tables}


def written(value):
    """Return a value as ClickHouse reads it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case datetime() | date():
            return f"'{value}'"
        case _:
            return repr(value)


def test_the_plug_in_passes_the_kit(installed, tmp_path):
    report = conformance.check(lambda tables: engine_for(filled(tmp_path / "data", tables)))
    assert (report.wrong, report.failed) == ((), ())
    assert len(report.passed) > 0.9 * len(conformance.CASES), report.refused


def test_a_session_asks_it_like_any_other(installed, tmp_path):
    rows = pa.table({"patient": [1, 1, 2, None] * 9, "ward": ["A", "B", "A", None] * 9})
    places = filled(tmp_path / "data", {"visits": rows})
    policy = 'format = 1\nunit = "patient"\n[limits]\nmax_rows = 3\nmax_groups = 1\n'
    with dp.open(places, policy=policy, test_mode=True) as session:
        plan = session.plan("SELECT COUNT(*) AS n FROM visits", epsilon="1e6")
        assert '"clinic"."visits"' in plan.sql()
        assert session.ask(plan, confirm=True).to_arrow().column("n").to_pylist() == [6]
