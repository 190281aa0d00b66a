"""No row makes an engine fail, and where it does fail it says nothing about the data."""

import traceback

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder, Performance
from discreet.engines.sources.identity import FileStamp
from discreet.errors import EngineFailed
from discreet.query.expression_types import CASTS, FUNCTIONS, PARTS
from discreet.query.expressions import Call, Case, Cast, Column, Literal
from discreet.query.relations import Filter, Project, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, Total
from tests.engines.answers import flat
from tests.engines.edges import EDGES, WRITTEN, arrow_table, both
from tests.engines.visits import by_ward, visits

SECRET = "Ada Lovelace has gout"  # noqa: S105 (nobody's password)
ORDER = HashOrder(salt=5)
TYPES = {"id": Type.INTEGER, **{kind.value: kind for kind in Type}}
SCAN = Scan("t", tuple(TYPES.items()))


def poisoned():
    """Return rows that hold every edge of every type, each beside the others in many ways."""
    most = max(map(len, EDGES.values()))
    return [
        {
            "id": number * 7 + shift,
            **{
                kind.value: values[(number * (1 + shift * place)) % len(values)]
                for place, (kind, values) in enumerate(EDGES.items())
            },
        }
        for number in range(most)
        for shift in range(7)
    ]


def conditions():
    """Return a condition for every function and cast, each true or false by its value."""
    for function in FUNCTIONS.values():
        kinds = [min(kind, key=lambda each: each.value) for kind in function.takes]
        written = {index: kind for index, kind in enumerate(kinds) if index in function.written}
        arguments = [
            Literal(
                PARTS.get(function.name, WRITTEN.get(kind, [1]))[0] if index in written else None
            )
            if index in written
            else Column(kind.value)
            for index, kind in enumerate(kinds)
        ]
        if function.name == "SUBSTR":
            arguments = [Column("TEXT"), Literal(2**63 - 1), Literal(2**63 - 1)]
        yield Call("IS NULL", (Call(function.name, tuple(arguments)),))
    for start, ends in CASTS.items():
        yield from (Call("IS NULL", (Cast(Column(start.value), to),)) for to in ends)


def test_all_functions_at_once_over_poisoned_rows():
    outputs = [
        ("id", Column("id")),
        *((f"o{index}", condition) for index, condition in enumerate(conditions())),
    ]
    node = Filter(
        Project(SCAN, tuple(outputs)), Call("OR", tuple(Column(name) for name, _ in outputs[1:]))
    )
    actual, expected = both(node, {"t": poisoned()}, {"t": TYPES})
    assert actual == expected
    assert len(actual) > 200


def test_a_guard_cannot_be_moved_behind_what_it_guards():
    """Every part of a condition holds on its own, in whatever order an engine looks at them."""
    integer, number = Column("INTEGER"), Column("FLOAT")
    guarded = Call(
        "AND",
        (
            Call("<>", (integer, Literal(0))),
            Call(">=", (Call("DIV", (Literal(2**63 - 1), integer)), Literal(-(2**62)))),
            Call(">", (Call("*", (integer, integer)), Literal(0))),
            Call("<", (Cast(Column("TEXT"), Type.INTEGER), Literal(10**6))),
            Call("<", (Call("/", (Literal(1), number)), Literal(1))),
        ),
    )
    chosen = Case(((guarded, Call("*", (integer, integer))),), Call("NEGATE", (integer,)))
    node = Project(
        Filter(SCAN, Call("OR", (guarded, Call("IS NULL", (chosen,))))), (("c", chosen),)
    )
    actual, expected = both(node, {"t": poisoned()}, {"t": TYPES})
    assert actual == expected


@pytest.mark.parametrize("rows", [None, 1, 3])
def test_totals_of_extreme_numbers_are_clamped(rows):
    total = Total(name="x", row=Column("x"), low=-(2**63), high=2**63 - 1, rows=rows)
    scan = Scan("t", (("u", Type.INTEGER), ("x", Type.INTEGER)))
    lowered = EngineRequest(
        relation=scan, unit=(Column("u"),), keys=(), groups=1, measures=(total,)
    )
    for value, expected in ((2**63 - 1, 2**62), (-(2**63), -(2**62))):
        table = pa.table({"u": [1, 1, 1, 2, 2, 3] * 50, "x": [value] * 300})
        with DuckDB({"t": table}, Performance(threads=1)) as engine:
            assert flat(engine.run(lowered, order=ORDER))["totals"] == {"x": [expected]}


def broken(tmp_path):
    """Return an engine whose file is torn after it was opened, in the middle of its values."""
    path = tmp_path / "visits.parquet"
    table = visits(5000).set_column(1, "ward", pa.array([SECRET] * 5000))
    pq.write_table(table, path, compression=None, use_dictionary=False)
    engine = DuckDB({"visits": path}, Performance(threads=1))
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    damaged = b"PAR1" + SECRET.encode() * ((len(whole) - footer) // len(SECRET) + 1)
    path.write_bytes(damaged[: len(whole) - footer] + whole[-footer:])
    return engine


@pytest.fixture
def unseen(monkeypatch):
    """A file system on which changes do not show."""
    monkeypatch.setattr(FileStamp, "is_unchanged", lambda _: True)


@pytest.mark.usefixtures("unseen")
def test_a_failure_says_nothing_about_the_data(tmp_path):
    with broken(tmp_path) as engine, pytest.raises(EngineFailed) as caught:
        engine.run(by_ward(), order=ORDER)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    told = "".join(traceback.format_exception(error))
    assert SECRET not in told
    assert "parquet" not in told.lower()
    assert str(error).startswith("EngineFailed[E701]: the engine could not compute the answer.")


def test_a_closed_engine_fails_with_the_same_words():
    engine = DuckDB({"visits": visits(10)})
    engine.close()
    with pytest.raises(EngineFailed):
        engine.run(by_ward(), order=ORDER)


def test_too_much_memory_fails_with_the_same_words():
    table = arrow_table(
        [{"x": "a" * 500, "u": number} for number in range(2000)],
        {"x": Type.TEXT, "u": Type.INTEGER},
    )
    scan = Scan("t", (("u", Type.INTEGER), ("x", Type.TEXT)))
    twice = Call("CONCAT", (Column("x"),) * 16)
    lowered = EngineRequest(
        relation=Project(scan, (("u", Column("u")), ("x", twice))),
        unit=(Column("u"), Column("x")),
        keys=(),
        groups=1,
        measures=(Total(name="n", row=Literal(1), low=0, high=1),),
    )
    with DuckDB({"t": table}, Performance(threads=1, memory="10MB")) as engine:
        try:
            assert flat(engine.run(lowered, order=ORDER))["units"] == [2000]
        except EngineFailed as error:
            assert error.__context__ is None  # noqa: PT017 (either is right, as memory has it)
