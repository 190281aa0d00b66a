"""Random tables and questions: a PostgreSQL server gives what the reference gives, bit for bit."""

import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines.postgres.engine import Postgres
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from tests.engines.answers import flat, reference
from tests.engines.contract.checks import comparable
from tests.engines.postgres.rows import fill, make, storable
from tests.engines.questions import (
    TYPES,
    crowded_tables,
    lowered_questions,
    orders,
    plain_questions,
    tables,
)

FEW = settings(max_examples=20, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=200, suppress_health_check=list(HealthCheck))


def schema(unit):
    """Say whose rows the tables hold."""
    return Schema(
        TableFacts(
            name=table,
            columns=tuple(ColumnFacts(name=name, type=kind) for name, kind in types.items()),
            public=table == "wards",
            unit=unit if table == "events" else (),
        )
        for table, types in TYPES.items()
    )


@pytest.fixture(scope="module")
def engine(postgres):
    for table, types in TYPES.items():
        make(postgres, table, types)
    places = {table: f"{postgres.address()}/{table}" for table in TYPES}
    with Postgres(places) as engine:
        yield engine


def check(engine, postgres, rows, lowered, order):
    rows = storable(rows)
    fill(postgres, rows)
    lowered = comparable(lowered)
    expected = reference(lowered, rows, order)
    assert flat(engine.run(lowered, order=order)) == expected


@given(rows=crowded_tables(), lowered=plain_questions(), order=orders())
@FEW
def test_plain_questions_agree(engine, postgres, rows, lowered, order):
    engine.learn_schema(schema(()))
    check(engine, postgres, rows, lowered, order)


@given(rows=tables(), lowered=lowered_questions(), order=orders())
@FEW
def test_questions_agree(engine, postgres, rows, lowered, order):
    engine.learn_schema(schema(()))
    check(engine, postgres, rows, lowered, order)


@given(rows=tables(), lowered=lowered_questions(by_row=False), order=orders())
@FEW
def test_questions_agree_without_the_rows_of_nobody(engine, postgres, rows, lowered, order):
    engine.learn_schema(schema(("u",)))
    check(engine, postgres, rows, lowered, order)


@pytest.mark.slow
@given(
    rows=tables() | crowded_tables(),
    lowered=lowered_questions(depth=3) | plain_questions(),
    order=orders(),
)
@MANY
def test_many_questions_agree(engine, postgres, rows, lowered, order):
    engine.learn_schema(schema(("u",) if lowered.unit else ()))
    check(engine, postgres, rows, lowered, order)
