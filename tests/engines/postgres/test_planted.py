"""Wrong boxes on a server's tables: people outside the box that is charged do not count."""

import pytest

from discreet.engines.engine import Performance
from discreet.engines.postgres.engine import Postgres
from discreet.requests.table_schema import Schema
from tests.engines.answers import flat
from tests.engines.planted import (
    ORDER,
    POLICY,
    QUESTIONS,
    TYPES,
    boxes,
    clinic,
    outside,
    planted,
    without,
)
from tests.engines.postgres.rows import fill, make

FULL = clinic()


@pytest.fixture(scope="module")
def engine(postgres):
    for table, types in TYPES.items():
        make(postgres, table, types)
    places = {table: f"{postgres.address()}/{table}" for table in TYPES}
    with Postgres(places, Performance(threads=1)) as engine:
        engine.learn_schema(Schema(POLICY.tables))
        yield engine


@pytest.mark.theorem("question-scope")
@pytest.mark.parametrize("question", QUESTIONS)
def test_people_outside_a_wrong_box_do_not_count(monkeypatch, postgres, engine, question):
    """Questions take turns at the boxes: half of them have one half, and half the other."""
    for box in boxes(seed=6, count=4)[QUESTIONS.index(question) % 2 :: 2]:
        plan = planted(monkeypatch, box, question)
        if plan is None:
            continue
        found = []
        for tables in (FULL, without(FULL, outside(plan.scope, FULL))):
            fill(postgres, tables, TYPES)
            engine.check(plan.request)
            found.append(flat(engine.run(plan.request, order=ORDER)))
        assert found[0] == found[1]
