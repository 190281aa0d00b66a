"""The public kit that every engine passes: the same questions, and the integers of DuckDB.

Trust: public.  DuckDB itself is held against an engine in plain Python by our own tests.

A plug-in calls :func:`check` with a function that fills tables with rows and opens them.  Rows
hold the edges of all types; in the portable order of hashes, every answer must be that of DuckDB,
bit for bit.  A question that the engine refuses before anything is read counts as refused, not as
passed; what it may refuse is for its page to say.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, final

import pyarrow as pa

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, HashOrder
from discreet.errors import DiscreetError, EngineFailed, UnsupportedSQL
from discreet.query.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Order,
    Window,
)
from discreet.query.relations import Aggregated, Filter, Join, Project, Relation, Scan, UnionAll
from discreet.query.types import Type
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    EngineRequest,
    KeyColumn,
    Leaves,
    Total,
)
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import ColumnFacts, Product, Schema, TableFacts

__all__ = ["CASES", "Question", "Report", "check", "tables"]

_TYPES: Final = {
    "u": Type.INTEGER,
    "k": Type.TEXT,
    "i": Type.INTEGER,
    "f": Type.FLOAT,
    "b": Type.BOOLEAN,
    "d": Type.DATE,
    "m": Type.TIMESTAMP,
}
_ORDER: Final = HashOrder(salt=20240229, portable=True)
_INTEGERS: Final = (None, 0, 1, -1, 7, -7, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
_FLOATS: Final = (None, 0.0, -0.0, 0.5, -2.5, 0.1, 1e16, 1e308, -1e308, 5e-324, 9.3e18)
_TEXTS: Final = (None, "", " ", "a", "A", "é", "it's", '"', "\\", "%", "12", "-0", "2024-02-29")
_DAYS: Final = (None, date(1900, 3, 1), date(1970, 1, 1), date(2024, 2, 29), date(2100, 12, 31))
_MOMENTS: Final = (None, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 30))  # noqa: DTZ001


def tables(rows: int = 400) -> dict[str, pa.Table]:
    """Return the tables that questions are about: rows of 40 units, with edges of every type.

    >>> sorted(tables(3)), tables(3)["events"].num_rows
    (['events', 'wards'], 3)
    """
    numbers = [(7919 * row + 104729 * (row // 11) + 13) % 1000003 for row in range(rows)]
    values: dict[str, list[object]] = {
        "u": [None if number % 41 == 40 else number % 41 for number in numbers],
        "k": [_TEXTS[number // 7 % len(_TEXTS)] for number in numbers],
        "i": [
            _INTEGERS[number // 3 % 10] if number % 5 == 0 else number % 23 - 7
            for number in numbers
        ],
        "f": [
            _FLOATS[number // 5 % 11] if number % 7 == 0 else number % 99 / 8 for number in numbers
        ],
        "b": [(None, True, False)[number % 3] for number in numbers],
        "d": [_DAYS[number // 2 % len(_DAYS)] for number in numbers],
        "m": [_MOMENTS[number // 4 % len(_MOMENTS)] for number in numbers],
    }
    kinds = (
        pa.int64(),
        pa.string(),
        pa.int64(),
        pa.float64(),
        pa.bool_(),
        pa.date32(),
        pa.timestamp("us"),
    )
    columns = zip(values.items(), kinds, strict=True)
    wards = {
        "ward": pa.array(["a", "A", "é", None, "12"]),
        "beds": pa.array([3, 0, 4, 1, None], pa.int64()),
    }
    return {
        "events": pa.table({name: pa.array(held, kind) for (name, held), kind in columns}),
        "wards": pa.table(wards),
    }


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A question by name."""

    name: str
    request: EngineRequest


_SCAN: Final = Scan("events", tuple(_TYPES.items()))
_WARDS: Final = Scan("wards", (("ward", Type.TEXT), ("beds", Type.INTEGER)))
_U, _K, _I, _F, _B = map(Column, "ukifb")
_BY_TEXT: Final = KeyColumn("k", _K, Type.TEXT)
_ONES: Final = Total(name="ones", row=Literal(1), low=0, high=3)
_MEASURES: Final = {
    "counts": (_ONES,),
    "sums": (
        Total(name="sum", row=_I, low=-20, high=50),
        Total(name="mean", row=_I, low=-(2**62), high=2**62, rows=2),
        Total(name="square", row=Call("*", (_I, _I)), low=0, high=2**63 - 1, rows=3),
    ),
    "different values": (
        DistinctCount(name="values", expression=_I, most=2),
        DistinctSum(name="added", row=_I, low=-(2**40), high=2**41, most=2),
    ),
    "leaves": (Leaves(name="leaves", row=Call("MOD", (_I, Literal(5))), leaves=4, rows=2),),
    "cells": (
        CellSums(
            name="cells",
            row=Call("MOD", (_I, Literal(3))),
            cells=3,
            value=_I,
            low=-99,
            high=2**39,
            rows=2,
        ),
    ),
}


def _rows() -> Iterator[tuple[str, Relation]]:
    """Yield relations with the columns of the events."""
    yield "all rows", _SCAN
    yield "a condition", Filter(_SCAN, Call("OR", (_B, Call("<", (_F, Literal(3))))))
    yield "a join", Join(_SCAN, _WARDS, "left", Call("=", (_K, Column("ward"))))
    yield "a union", UnionAll((_SCAN, Filter(_SCAN, _B)))
    rank = Window("ROW_NUMBER", (), (_U,), (Order(_I, True, True), Order(_F)))
    ranked = Project(_SCAN, (("u", _U), ("k", _K), ("i", _I), ("place", rank)))
    yield "a window", Filter(ranked, Call("<=", (Column("place"), Literal(3))))
    grouped = Aggregated(_SCAN, (("u", _U), ("k", _K)), (("i", Aggregate("SUM", _I)),))
    yield "groups of a unit", grouped


_FUNCTIONS: Final[Mapping[str, Expression]] = {
    "arithmetic": Call("-", (Call("*", (_I, _I)), Call("ABS", (_I,)))),
    "division": Call("DIV", (_I, Call("MOD", (_I, Literal(4))))),
    "floats": Cast(Call("FLOOR", (Call("/", (_F, Literal(3))),)), Type.INTEGER),
    "rounding": Cast(_F, Type.INTEGER),
    "large floats": Cast(Call("*", (_F, _F)), Type.INTEGER),
    "strings": Call("LENGTH", (Call("CONCAT", (_K, Call("UPPER", (_K,)))),)),
    "patterns": Cast(Call("LIKE", (_K, Literal("%a%"))), Type.INTEGER),
    "numbers in strings": Cast(_K, Type.INTEGER),
    "cases": Case(((_B, _I),), Call("NEGATE", (_I,))),
    "years": Call("EXTRACT", (Literal("YEAR"), Column("d"))),
    "hours": Call("EXTRACT", (Literal("HOUR"), Column("m"))),
}


def _cases() -> Iterator[Question]:
    def case(name: str, **changes: object) -> Question:
        fields: dict[str, object] = {
            "relation": _SCAN,
            "unit": (_U,),
            "keys": (_BY_TEXT,),
            "groups": 2,
            "measures": (_ONES,),
        }
        fields |= changes
        if not fields["unit"]:
            fields["groups"] = None
        return Question(name, EngineRequest(**fields))  # type: ignore[arg-type]

    for (rows, relation), (what, measures) in itertools.product(_rows(), _MEASURES.items()):
        yield case(f"{what} of {rows}", relation=relation, measures=measures)
    for what, measures in _MEASURES.items():
        yield case(f"{what} of rows", unit=(), measures=measures)
        yield case(f"{what} without groups", keys=(), measures=measures)
        listed = (("a",), ("nowhere",), (None,), ("",))
        yield case(f"{what} of listed groups", public=listed, measures=measures)
        product = Product((("a", "é", None, "nowhere"), (True, False)))
        two = (_BY_TEXT, KeyColumn("b", _B, Type.BOOLEAN))
        yield case(f"{what} of a product", public=product, keys=two, measures=measures)
    for name, value in _FUNCTIONS.items():
        total = Total(name="x", row=value, low=-(2**40), high=2**40)
        yield case(name, measures=(total,))
    keys = tuple(KeyColumn(name, Column(name), _TYPES[name]) for name in ("k", "b", "d", "m"))
    yield case("keys of all types", keys=keys, groups=5)


CASES: Final = tuple(_cases())
"""All questions; each is asked of the same tables."""


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Names of questions: answered as DuckDB does, refused, answered otherwise, and failed."""

    passed: tuple[str, ...]
    refused: tuple[str, ...]
    wrong: tuple[str, ...]
    failed: tuple[str, ...]


def check(opened: Callable[[Mapping[str, pa.Table]], Engine]) -> Report:
    """Ask an engine everything, and compare.

    Args:
        opened: puts Arrow tables where the engine reads them, and opens them.

    >>> report = check(lambda tables: DuckDB(tables))
    >>> report.wrong, report.failed, report.refused, len(report.passed) == len(CASES)
    ((), (), (), True)
    """
    found: dict[str, list[str]] = {"passed": [], "refused": [], "wrong": [], "failed": []}
    data = tables()
    with DuckDB(data) as oracle:
        engine = opened(data)
        try:
            engine.learn_schema(_schema())
            for case in CASES:
                found[_outcome(engine, oracle, case.request)].append(case.name)
        finally:
            engine.close()
    return Report(**{kind: tuple(names) for kind, names in found.items()})


def _outcome(engine: Engine, oracle: Engine, request: EngineRequest) -> str:
    try:
        engine.check(request)
    except UnsupportedSQL:
        return "refused"
    try:
        raw = engine.run(request, order=_ORDER)
    except (EngineFailed, DiscreetError):
        return "failed"
    return "passed" if _plain(raw) == _plain(oracle.run(request, order=_ORDER)) else "wrong"


def _plain(raw: RawTotals) -> object:
    return (
        [key.to_pylist() for key in raw.keys],
        raw.units.tolist(),
        {name: values.tolist() for name, values in raw.totals.items()},
        {name: [part.tolist() for part in parts] for name, parts in raw.leaves.items()},
    )


def _schema() -> Schema:
    wards = dict(_WARDS.columns)
    return Schema(
        TableFacts(
            name=name,
            columns=tuple(ColumnFacts(name=each, type=kind) for each, kind in types.items()),
            public=name == "wards",
            unit=("u",) if name == "events" else (),
        )
        for name, types in (("events", _TYPES), ("wards", wards))
    )
