"""The printed statements: their shape, their size, and what they never let through."""

# ruff: noqa: S608 (the statements are compared, not run)

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import HashOrder, Performance
from discreet.engines.expressions import Expressions
from discreet.engines.fragments import deep_trees
from discreet.errors import UnknownName, WrongType
from discreet.query.expressions import Call, Column, Literal, Window
from discreet.query.relations import Filter, Join, Project, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from tests.engines.answers import flat
from tests.engines.edges import arrow_table, both
from tests.engines.visits import TYPES, VISITS, by_ward, cents, visits
from tests.reference.engine import Reference

ORDER = HashOrder(salt=7)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Return an engine over a table of a database file, whose scans show in EXPLAIN."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with duckdb.connect(path) as made:
        made.register("rows", visits(2000))
        made.execute("CREATE TABLE visits AS FROM rows")
    with DuckDB({"visits": path}, Performance(threads=1)) as opened:
        yield opened


def scans(engine, statement):
    return str(engine._connection.fetch(f"EXPLAIN {statement}").to_pylist()).count("Seq Scan")


ONES = Total(name="ones", row=Literal(1), low=0, high=1)
CROWD = [
    {"patient": who, "ward": f"ward {number % 5}", "cost": cost}
    for who in (None, 1, 2)
    for number, cost in enumerate(
        [0.0, 99.999, 100.0, 250.5, -3.0, 1e300, -1e300, *map(float, ("inf", "-inf", "nan"))] * 2
    )
]


@pytest.mark.parametrize(
    "changes",
    [
        {"measures": (Total(name="cents", row=cents(), low=0, high=50000),)},
        {"measures": (Total(name="cents", row=cents(), low=0, high=15000),)},
        {
            "measures": (ONES, Total(name="cents", row=cents(), low=0, high=10000)),
            "unit": (),
            "groups": None,
        },
        {},
    ],
    ids=["a statement above", "with bounds that bite", "rows above", "all measures"],
)
def test_these_statements_answer_as_the_reference_does(changes):
    """The texts above may change; people beyond every limit still count as much as they may."""
    lowered, order = by_ward(**changes), HashOrder(salt=7, portable=True)
    with DuckDB({"visits": arrow_table(CROWD, TYPES)}, Performance(threads=1)) as engine:
        found = flat(engine.run(lowered, order=order))
    expected = flat(Reference({"visits": CROWD}, {"visits": TYPES}).run(lowered, order=order))
    assert found == expected
    assert sum(found["units"]) == (60 if lowered.groups is None else 6)


def test_nested_expressions_print_in_linear_size():
    node = Column("c0")
    for _ in range(30):
        node = Call("LEAST", (Call("+", (node, Column("c1"))), Column("c1")))
        node = Call("GREATEST", (Call("/", (Column("c1"), node)), Column("c0"), Column("c1")))
    with deep_trees():
        printed = Expressions(DUCKDB, {"c0": Type.FLOAT, "c1": Type.FLOAT}).node(node)
    assert len(DUCKDB.printed(printed)) < 10**5


def test_deep_expressions_agree():
    node = Column("c0")
    for at in range(6):
        node = Call("LEAST", (Call("+", (node, Column("c1"))), Column("c1")))
        node = Call("GREATEST", (Call("/", (Column("c1"), node)), Call("CEIL", (Column("c0"),))))
        node = Call("GREATEST", (node, Column("c1"), Literal(at)))
    types = {"id": Type.INTEGER, "c0": Type.FLOAT, "c1": Type.FLOAT}
    values = [None, 0.0, -0.0, 1e308, -1e308, 1.5, float("inf"), float("nan"), 5e-324]
    pairs = [(one, other) for one in values for other in values]
    rows = [{"id": at, "c0": one, "c1": other} for at, (one, other) in enumerate(pairs)]
    outputs = (("id", Column("id")), ("o", node))
    found, expected = both(
        Project(Scan("t", tuple(types.items())), outputs), {"t": rows}, {"t": types}
    )
    assert found == expected


ODD = ["u0", "k0", "x0", "y0", "n", "s0", "h", "place", "leaf", "position", "one", "_v", "t0"]
ODD += ["window 0"]


@pytest.mark.parametrize("first", [*ODD, 'it"s', "it's", "a;--", "é", " ", "select", "rowid"])
def test_names_of_the_question_and_our_own_do_not_meet(first):
    second = "k0" if first != "k0" else "u0"
    rows = [{first: at % 3, second: "ab"[at % 2], "m'x\"": at} for at in range(9)]
    types = {first: Type.INTEGER, second: Type.TEXT, "m'x\"": Type.INTEGER}
    rank = Window("ROW_NUMBER", (), partition=(Column(first),))
    scan = Scan("odd 't\"able", tuple(types.items()))
    node = Project(
        Filter(scan, Call(">=", (Column("m'x\""), Literal(0)))),
        ((second, Column(second)), (first, Column(first)), ("w", rank), ("v", Column("m'x\""))),
    )
    lowered = EngineRequest(
        relation=node,
        unit=(Column(first),),
        keys=(KeyColumn("it's", Column(second), Type.TEXT),),
        groups=1,
        measures=(Total(name="v", row=Column("v"), low=0, high=100),),
    )
    with DuckDB({scan.table: arrow_table(rows, types)}, Performance(threads=1)) as engine:
        found = flat(engine.run(lowered, order=ORDER))
        found_both = engine.fetch(
            f"SELECT count(*) AS n FROM ({DUCKDB.printed(engine.scan(scan))})", {}
        )
    assert sum(found["units"]) == 3
    assert found_both.to_pylist() == [{"n": 9}]


def test_texts_cannot_leave_their_quotes():
    sly = "'; DROP TABLE visits; --"
    node = Project(VISITS, (("o", Call("=", (Column("ward"), Literal(sly)))),))
    rows = [{"patient": 1, "ward": sly, "cost": 0.0}, {"patient": 1, "ward": "'", "cost": 0.0}]
    found, expected = both(node, {"visits": rows}, {"visits": TYPES})
    assert found == expected
    assert len(found) == 2


def test_an_unknown_table_is_refused_before_anything_is_read(engine):
    scan = Scan("/etc/passwd", (("a", Type.TEXT),))
    lowered = by_ward(relation=Join(VISITS, scan, "cross"))
    with pytest.raises(UnknownName):
        engine.run(lowered, order=ORDER)


def test_a_column_of_another_type_is_refused_before_anything_is_read(engine):
    scan = Scan("visits", (("cost", Type.DATE),))
    with pytest.raises(WrongType):
        engine.run(by_ward(relation=scan, unit=(), groups=None, keys=()), order=ORDER)
