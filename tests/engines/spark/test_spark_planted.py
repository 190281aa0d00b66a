"""Tasks enforce the box that is charged: people outside a wrong one do not count."""

import pytest

from discreet.requests.table_schema import Schema
from tests.engines.answers import flat
from tests.engines.contract.places import spark_types
from tests.engines.planted import (
    BY_ROW,
    ORDER,
    POLICY,
    QUESTIONS,
    TYPES,
    boxes,
    clinic,
    outside,
    planted,
    record,
    without,
)
from tests.engines.spark.sparks import engine
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
FULL = clinic()


def answer(lowered, tables, policy=POLICY):
    """Answer with Spark."""
    known = Schema(policy.tables).tables
    session = local_session()
    frames = {
        each.name: session.createDataFrame(
            [tuple(row[name] for name in TYPES[each.name]) for row in tables[each.name]],
            spark_types(TYPES[each.name]),
        )
        for each in known
    }
    with engine(frames, *known) as opened:
        opened.check(lowered)
        return flat(opened.run(lowered, order=ORDER))


@pytest.mark.theorem("question-scope")
@pytest.mark.parametrize(("question", "box"), [(0, 0), (1, 2), (2, 5), (3, 1), (4, 3)])
def test_people_outside_a_wrong_box_do_not_count(monkeypatch, question, box):
    plan = planted(monkeypatch, boxes(seed=5, count=0)[box], QUESTIONS[question])
    gone = outside(plan.scope, FULL)
    assert gone
    assert answer(plan.request, FULL) == answer(plan.request, without(FULL, gone))


@pytest.mark.theorem("question-scope")
def test_rows_outside_a_wrong_box_do_not_count(monkeypatch):
    question = "SELECT COUNT(*) AS n, SUM(cost) AS s FROM visits WHERE cost >= 0"
    box = boxes(seed=5, count=0, policy=BY_ROW)[4]
    plan = planted(monkeypatch, box, question, policy=BY_ROW, epsilon=1)
    kept = [row for row in FULL["visits"] if record(row, BY_ROW) in plan.scope]
    totals = answer(plan.request, FULL, BY_ROW)
    assert totals == answer(plan.request, {**FULL, "visits": kept}, BY_ROW)
    assert 0 < len(kept) < len(FULL["visits"])
