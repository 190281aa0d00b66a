"""Who a row belongs to: units of several tables and types, and linked tables."""

from dataclasses import replace

import pyarrow as pa
import pytest

from discreet.errors import BadPolicy, UnknownName
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Join, Project, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Total
from discreet.requests.table_schema import Link
from tests.engines.spark.sparks import duckdb_answer, engine, facts, spark_answer
from tests.servers.spark import local_session

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
VISITS = {"patient": Type.INTEGER, "ward": Type.TEXT}
EXACT = (Total(name="n", row=Literal(1), low=0, high=10**6),)


def counted(relation, unit, key="ward"):
    return EngineRequest(
        relation=relation,
        unit=(Column(unit),),
        keys=(KeyColumn(key, Column(key), Type.TEXT),),
        groups=2,
        measures=(
            Total(name="n", row=Literal(1), low=0, high=2),
            DistinctCount(name="who", expression=Column(unit), most=1),
        ),
    )


def texts():
    return pa.table(
        {
            "patient": ["07", "7", "+7", "x", None, "8", "08", "9", "-0", "0"] * 7,
            "ward": [f"ward {number % 4}" for number in range(70)],
        }
    )


def test_texts_that_are_one_number_are_one_person():
    session, table = local_session(), texts()
    lowered = counted(Scan("visits", tuple(VISITS.items())), "patient")
    known = facts("visits", VISITS, unit=("patient",))
    actual = spark_answer({"visits": session.createDataFrame(table).repartition(3)}, lowered, known)
    assert actual == duckdb_answer({"visits": table}, lowered)
    assert sum(actual["units"]) == 4 * 2  # 7, 8, 9 and 0 keep two groups each


def test_rows_of_two_tables_meet_where_widths_of_integers_differ():
    session = local_session()
    numbers = list(range(-9, 40))
    visits = pa.table(
        {"patient": pa.array(numbers, pa.int32()), "ward": ["A", "B", None] * 16 + ["A"]}
    )
    stays = pa.table(
        {
            "person": pa.array(numbers[::2] * 2, pa.int8()),
            "days": [number % 5 for number in range(50)],
        }
    )
    joined = Join(
        Scan("visits", tuple(VISITS.items())),
        Scan("stays", (("person", Type.INTEGER), ("days", Type.INTEGER))),
        "left",
        Call("=", (Column("patient"), Column("person"))),
    )
    lowered = counted(joined, "patient")
    known = (
        facts("visits", VISITS, unit=("patient",)),
        facts("stays", {"person": Type.INTEGER, "days": Type.INTEGER}, unit=("person",)),
    )
    frames = {"visits": session.createDataFrame(visits), "stays": session.createDataFrame(stays)}
    actual = spark_answer(frames, lowered, *known)
    assert actual == duckdb_answer({"visits": visits, "stays": stays}, lowered)
    with engine(frames, *known) as plain:  # each table by itself, too
        plain.check(counted(Scan("visits", tuple(VISITS.items())), "patient"))


def clinic():
    """Return notes of visits of stays: two links, one of them with a broken promise."""
    stays = pa.table({"patient": [1, 1, 2, 3, None], "stay": ["a", "b", "c", "a", "d"]})
    visits = pa.table(
        {
            "visit": [f"{number:02}" for number in range(12)],
            "stay": ["a", "b", "c", "d", "e", None] * 2,
        }
    )
    notes = pa.table(
        {
            "visit": [number % 14 for number in range(40)],
            "word": [f"word {number % 3}" for number in range(40)],
        }
    )
    return {"stays": stays, "visits": visits, "notes": notes}


def test_rows_of_linked_tables_meet_those_that_they_point_to():
    """A stay of two patients breaks a promise, and its visits belong to both."""
    session, tables = local_session(), clinic()
    stays = Scan("stays", (("patient", Type.INTEGER), ("stay", Type.TEXT)))
    visits = Scan("visits", (("visit", Type.INTEGER), ("stay", Type.TEXT)))
    notes = Scan("notes", (("visit", Type.INTEGER), ("word", Type.TEXT)))
    renamed = Project(visits, (("seen", Column("visit")), ("during", Column("stay"))))
    inner = Join(renamed, stays, "inner", Call("=", (Column("during"), Column("stay"))))
    whole = Join(notes, inner, "inner", Call("=", (Column("visit"), Column("seen"))))
    lowered = replace(counted(whole, "patient", key="word"), measures=EXACT)
    known = (
        facts("stays", dict(stays.columns), unit=("patient",)),
        facts("visits", dict(visits.columns), link=Link(column="stay", parent="stays", key="stay")),
        facts(
            "notes", dict(notes.columns), link=Link(column="visit", parent="visits", key="visit")
        ),
    )
    frames = {name: session.createDataFrame(table) for name, table in tables.items()}
    expected = duckdb_answer(tables, lowered)
    assert sum(expected["units"]) == 6
    assert spark_answer(frames, lowered, *known) == expected


def test_rows_may_point_to_the_column_that_names_the_unit():
    """It is read once as the key and once as the unit, here by DuckDB, since both are texts."""
    session = local_session()
    tables = {
        "people": pa.table({"id": ["1", "02", "3", "x"], "city": ["A", "B", None, "C"]}),
        "visits": pa.table(
            {"patient": ["01", "2", "3", "3", "7", None] * 3, "ward": ["A", "B"] * 9}
        ),
    }
    people = Scan("people", (("id", Type.INTEGER), ("city", Type.TEXT)))
    visits = Scan("visits", tuple(VISITS.items()))
    joined = Join(visits, people, "inner", Call("=", (Column("patient"), Column("id"))))
    lowered = replace(counted(joined, "id"), measures=EXACT)
    known = (
        facts("people", dict(people.columns), unit=("id",), key=("id",)),
        facts("visits", VISITS, link=Link(column="patient", parent="people", key="id")),
    )
    frames = {name: session.createDataFrame(table) for name, table in tables.items()}
    expected = duckdb_answer(tables, lowered)
    assert sum(expected["totals"]["n"]) == 4 * 3
    assert spark_answer(frames, lowered, *known) == expected


def test_an_unknown_table_and_a_private_one_from_elsewhere_are_refused():
    frame = local_session().createDataFrame(texts())
    scan = Scan("others", tuple(VISITS.items()))
    with engine({"visits": frame}, facts("visits", VISITS)) as opened, pytest.raises(UnknownName):
        opened.check(counted(scan, "patient"))
    with (
        pytest.raises(BadPolicy),
        engine({"visits": frame, "stays": texts()}, facts("visits", VISITS)),
    ):
        pass
