"""Every feature of the matrix as something to try, on any engine.

``tried`` does it and returns what comes out, as plain values; where the matrix says so, it is
refused instead.  Features of lowered questions are tried with the first case that needs them.
"""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.dispatch import engine_for
from discreet.engines.engine import SparkPerformance
from discreet.errors import DiscreetError
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from tests.engines.answers import flat
from tests.engines.contract.cases import CASES, CROWD, ONES, PORTABLE, ask
from tests.engines.contract.matrix import DONE, MATRIX
from tests.engines.questions import TYPES
from tests.reference.engine import Reference

POLICY = """
format = 1
unit = "u"
[limits]
max_rows = 5
max_groups = 9
[tables.events.columns]
u = {type = "integer"}
k = {type = "text"}
i = {type = "integer", low = -7, high = 15}
f = {type = "float"}
[tables.wards]
public = true
"""
MOST = {"epsilon": 1e20, "delta": 1e-9}  # no noise to speak of


def tried(place, feature, folder):
    """Do what a feature is about, and return what comes out."""
    if feature in SCENES:
        return SCENES[feature](place, folder)
    asked = place.taken(next(asked for asked in CASES if feature in asked.features))
    return answered(place.sources(asked), asked.schema, asked.request)


def answered(sources, schema, lowered):
    """Open tables, check a question and answer it."""
    engine = engine_for(sources)
    try:
        engine.learn_schema(schema)
        engine.check(lowered)
        return flat(engine.run(lowered, order=PORTABLE))
    finally:
        engine.close()


def view(place, folder):
    """Ask about a view of the tables."""
    asked = place.taken(ask("view"))
    return answered(place.view(asked, folder), asked.schema, asked.request)


def stream(place, folder):
    """Ask about rows that come once, or never end."""
    asked = ask("stream")
    return answered(place.stream(asked), asked.schema, asked.request)


def zoned(place, folder):
    """Ask about moments that have a time zone."""
    scan = Scan("moments", (("u", Type.INTEGER), ("m", Type.TIMESTAMP)))
    values = DistinctCount(name="values", expression=Column("m"), most=1)
    facts = [ColumnFacts(name=name, type=kind) for name, kind in scan.columns]
    schema = Schema([TableFacts(name="moments", columns=tuple(facts), unit=("u",))])
    fields = {"unit": (Column("u"),), "keys": (), "groups": 1, "measures": (ONES, values)}
    return answered(place.zoned(), schema, EngineRequest(relation=scan, **fields))


def session(place):
    """Open a session in which nothing is private."""
    sources = place.sources(place.taken(ask("session")))
    return dp.open(sources, policy=POLICY, test_mode=True)


def large(place, folder):
    """Ask about a public table of eight bytes more than 64 MiB."""
    large = {"wards": pa.table({"beds": np.arange(2**23 + 1)})}
    sources = {**place.sources(place.taken(ask("large"))), **large}
    with dp.open(sources, policy=POLICY, test_mode=True) as opened:
        found = opened.ask("SELECT COUNT(*) AS n FROM events JOIN wards ON i = beds", **MOST)
        return found.to_arrow().column("n").to_pylist()


def estimated(place, folder):
    """Ask for a sum whose bounds are found first."""
    with session(place) as opened:
        found = opened.ask(
            "SELECT SUM(f) AS s FROM events", bounds=dp.estimate(epsilon=1e20), **MOST
        )
        return found.to_arrow().column("s").to_pylist()


def progress(place, folder):
    """Ask, and be told how far it is."""
    told = []
    sources = place.sources(place.taken(ask("session")))
    options = SparkPerformance(progress=told.append)
    with dp.open(sources, policy=POLICY, test_mode=True, performance=options) as opened:
        opened.ask("SELECT COUNT(*) AS n FROM events", **MOST)
    return told[-1:] == [1.0] and all(0 < share <= 1 for share in told)


SCENES = {
    "public tables of more than 64 MiB": large,
    "views": view,
    "streams": stream,
    "timestamps with a time zone": zoned,
    "estimated bounds": estimated,
    "progress": progress,
    "interrupting": lambda place, folder: session(place).close(),  # more in test_interrupts
}


KNOWN = {
    "progress": lambda: True,
    "views": lambda: flat(Reference(CROWD, TYPES).run(ask("view").request, order=PORTABLE)),
}
"""What comes out where DuckDB does not have the feature."""
_EXPECTED = {}


def to_try(engine):
    """Return the features that no case has, and those that an engine refuses."""
    return [name for name, on in MATRIX.items() if name in SCENES or on[engine].mark is not DONE]


def check_feature(place, duckdb, feature, folder):
    """A feature works as on DuckDB, or is refused with the reason that the matrix gives."""
    cell = MATRIX[feature][place.engine]
    if cell.mark is DONE:
        if feature not in _EXPECTED:  # once for all engines
            _EXPECTED[feature] = KNOWN.get(feature, lambda: tried(duckdb, feature, folder))()
        expected = _EXPECTED[feature]
        found = tried(place, feature, folder)
        assert found == expected, (found, expected)  # this file is not rewritten by pytest
        return
    with pytest.raises(DiscreetError) as caught:
        tried(place, feature, folder)
    assert caught.value.why == cell.reason
