"""Long jobs tell how far they are, and can be stopped; what was charged stays charged, once."""

import logging
import signal
import threading
import time

import pytest
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

import discreet as dp
from discreet.engines.engine import SparkPerformance
from discreet.errors import EngineFailed, EngineStopped
from tests.engines.spark.sparks import ORDER, engine, facts
from tests.engines.visits import TYPES, by_ward
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
KNOWN = facts("visits", TYPES, unit=("patient",))
SLOW = """
SELECT id % 50 AS patient, concat('ward ', id % 12) AS ward, CAST(id % 90 AS DOUBLE) AS cost
FROM range(0, 400, 1, 2)
WHERE id % 200 > 0 OR reflect('java.lang.Thread', 'sleep', {wait}L) = 'null'
"""
POLICY = 'format = 1\n[limits]\nmax_rows = 5\n[tables.visits]\nunit = ["patient"]'
COUNT = "SELECT COUNT(*) AS n FROM visits"


def frame(wait):
    """Return rows of which two keep a task waiting."""
    return local_session().sql(SLOW.format(wait=wait))


def once_running(act):
    """Do something as soon as a job runs, in another thread."""
    tracker = local_session().sparkContext.statusTracker()

    def wait():
        for _ in range(1200):
            if tracker.getActiveStageIds():
                break
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_progress_rises_to_the_end():
    told = []
    options = SparkPerformance(progress=told.append)
    with engine({"visits": frame(900)}, KNOWN, performance=options) as opened:
        opened.run(by_ward(), order=ORDER)
    assert told == sorted(told)
    assert told[-1] == 1
    assert any(0 < share < 1 for share in told)
    assert local_session().sparkContext.getLocalProperty("spark.jobGroup.id") is None
    assert local_session().getTags() == set()


@pytest.fixture
def printed():
    """What pyspark would print by itself: the texts of errors, with values in them."""
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    for logger in loggers:
        logger.addHandler(handler)
    yield told
    for logger in loggers:
        logger.removeHandler(handler)


def test_nothing_is_printed_of_rows_that_fail(printed):
    """A row that cannot be computed is quoted by Spark, and by pyspark on stderr; not for us."""
    texts = local_session().createDataFrame(
        [(1, "A", "4711x")], "patient long, ward string, t string"
    )
    rows = texts.selectExpr("patient", "ward", "CAST(t AS DOUBLE) AS cost")
    with engine({"visits": rows}, KNOWN) as opened, pytest.raises(EngineFailed):
        opened.run(by_ward(), order=ORDER)
    assert printed == []
    with pytest.raises(PySparkException):
        rows.collect()
    assert any("4711x" in text for text in printed)  # others are heard as before


def test_another_thread_can_stop_a_job():
    with engine({"visits": frame(100_000)}, KNOWN) as opened:
        thread = once_running(opened.cancel)
        with pytest.raises(EngineStopped) as caught:
            opened.run(by_ward(), order=ORDER)
        thread.join()
    assert caught.value.__context__ is None
    assert local_session().sparkContext.statusTracker().getActiveJobsIds() == []


def test_an_interrupt_stops_the_job_and_leaves_the_ledger_right(tmp_path):
    """What was charged is not released; asking again completes it, and costs nothing more."""
    path = tmp_path / "visits.ledger"
    budget = dp.Budget(epsilon=1)

    def opened(wait, **more):
        return dp.open(
            {"visits": frame(wait)},
            unit=dp.person("patient"),
            budget=budget,
            policy=POLICY,
            ledger=path,
            **more,
        )

    main = threading.main_thread().ident
    with opened(100_000) as session:
        session.plan(COUNT, epsilon=0.5)  # so that the next job is the one of the answer
        thread = once_running(lambda: signal.pthread_kill(main, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            session.ask(COUNT, epsilon=0.5)
        thread.join()
        after = session.remaining.details
    with opened(0, performance=SparkPerformance()) as session:
        assert session.remaining.details == after
        answer = session.ask(COUNT, epsilon=0.5)
        assert session.remaining.details == after
        assert not answer.replayed
        assert session.ask(COUNT, epsilon=0.5).replayed
