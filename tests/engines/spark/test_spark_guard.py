"""The shuffle is not trusted: rows of a unit in two tasks end the job."""

from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException

from discreet.engines.engine import SparkPerformance
from discreet.engines.spark import aggregation as sums
from discreet.engines.spark import partitioning as parts
from discreet.engines.spark import workers
from discreet.engines.spark.engine import Spark
from discreet.errors import EngineFailed, UnreadableSource
from discreet.requests.engine_request import Total
from tests.engines.answers import flat
from tests.engines.spark.sparks import ORDER, duckdb_answer, engine, facts
from tests.engines.visits import TYPES, by_ward, visits
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
KNOWN = facts("visits", TYPES, unit=("patient",))


@pytest.fixture(scope="module")
def table():
    return visits(600)


@pytest.fixture
def opened(table):
    """Open an engine with three tasks."""
    frame = local_session().createDataFrame(table)
    with engine({"visits": frame}, KNOWN, performance=SparkPerformance(tasks=3)) as found:
        yield found


def only_totals():
    return by_ward(measures=tuple(m for m in by_ward().measures if isinstance(m, Total)))


def dealt(rows, tasks):
    """Deal rows out to tasks one by one, whoever they belong to."""
    return rows.repartition(tasks or 2)


@pytest.mark.theorem("division-by-unit")
def test_a_part_that_two_tasks_have_seen_fails(opened, monkeypatch):
    assert opened.groups(only_totals(), order=ORDER).count() == 12
    monkeypatch.setattr(parts, "divided", dealt)
    for lowered in (by_ward(), only_totals()):
        with pytest.raises(EngineFailed):
            opened.run(lowered, order=ORDER)
    with pytest.raises(PySparkException, match="not brought together"):
        opened.groups(only_totals(), order=ORDER).collect()


def test_without_the_guard_the_answer_would_be_wrong(opened, table, monkeypatch):
    """A mutant: nobody looks at the parts."""
    monkeypatch.setattr(parts, "divided", dealt)
    monkeypatch.setattr(sums, "_checked", lambda _, kept: kept)
    actual = flat(opened.run(by_ward(), order=ORDER))
    assert actual != duckdb_answer({"visits": table}, by_ward())


@pytest.mark.theorem("limbs")
def test_more_parts_than_limbs_can_be_added_up_of_fail(opened, monkeypatch):
    monkeypatch.setattr(sums, "MOST_PARTS", 3)
    opened.run(by_ward(), order=ORDER)
    monkeypatch.setattr(sums, "MOST_PARTS", 2)
    with pytest.raises(EngineFailed):
        opened.run(by_ward(), order=ORDER)


@pytest.mark.parametrize("tasks", [None, 1, 7])
def test_neither_tasks_nor_settings_change_an_answer(table, tasks):
    session = local_session()
    settings = {
        "spark.sql.adaptive.enabled": "false" if tasks == 7 else "true",
        "spark.sql.session.timeZone": "Asia/Kathmandu",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "13",
        "spark.sql.execution.arrow.useLargeVarTypes": "true" if tasks else "false",
    }
    before = {name: session.conf.get(name) for name in settings}
    frame = session.createDataFrame(table).repartition(4)
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        with engine({"visits": frame}, KNOWN, performance=SparkPerformance(tasks=tasks)) as opened:
            answer = flat(opened.run(by_ward(), order=ORDER))
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
    assert answer == duckdb_answer({"visits": table}, by_ward())


@contextmanager
def settings_of(session, **settings):
    """Set the session otherwise for a while."""
    names = {f"spark.sql.{name.replace('__', '.')}": value for name, value in settings.items()}
    before = {name: session.conf.get(name) for name in names}
    for name, value in names.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def test_no_setting_of_the_session_changes_an_answer(table):
    session = local_session()
    expected = duckdb_answer({"visits": table}, by_ward())
    frame = session.createDataFrame(table)
    with (
        settings_of(
            session,
            retainGroupColumns="false",
            ansi__enabled="false",
            caseSensitive="true",
            codegen__wholeStage="false",
            groupByAliases="false",
            groupByOrdinal="false",
            execution__arrow__maxRecordsPerBatch="0",
            execution__arrow__pyspark__enabled="false",
            join__preferSortMergeJoin="false",
            legacy__timeParserPolicy="EXCEPTION",
            analyzer__failAmbiguousSelfJoin="true",
            inMemoryColumnarStorage__compressed="false",
        ),
        engine({"visits": frame}, KNOWN) as opened,
    ):
        opened.check(by_ward())
        assert flat(opened.run(by_ward(), order=ORDER)) == expected
        assert opened.groups(only_totals(), order=ORDER).count() == 12


@pytest.mark.parametrize(
    "setting",
    [
        {"parquet__datetimeRebaseModeInRead": "EXCEPTION"},
        {"parquet__int96RebaseModeInRead": "exception"},
        {"avro__datetimeRebaseModeInRead": "EXCEPTION"},
        {"files__ignoreCorruptFiles": "true"},
        {"files__ignoreMissingFiles": "TRUE"},
    ],
    ids=str,
)
def test_a_session_in_which_one_row_can_stop_reading_is_refused(opened, table, setting):
    """At opening, and before every charge: whoever owns the session may set it at any time."""
    session = local_session()
    frame = session.createDataFrame(table)
    with settings_of(session, **setting):
        with pytest.raises(UnreadableSource):
            opened.check(by_ward())
        with pytest.raises(UnreadableSource):
            Spark({"visits": frame})
    opened.check(by_ward())


def test_workers_without_the_same_duckdb_are_refused_before_anything_is_charged(
    opened, monkeypatch
):
    opened.check(by_ward())
    monkeypatch.setattr(workers.duckdb, "__version__", "0.0.1")
    with pytest.raises(UnreadableSource, match=r"duckdb==0\.0\.1"):
        opened.check(by_ward())
    with pytest.raises(EngineFailed):  # whoever does not check hears of it in the task
        opened.run(by_ward(), order=ORDER)


def test_an_engine_that_was_told_nothing_answers_nothing(table):
    with (
        Spark({"visits": local_session().createDataFrame(table)}) as opened,
        pytest.raises(EngineFailed),
    ):
        opened.run(by_ward(), order=ORDER)
