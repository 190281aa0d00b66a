"""An engine of another package: tables of ClickHouse, which runs in this process (chdb).

Trust: kernel.  A statement cannot fail: what does not fit is NULL (T2).

An engine is a dialect, a transport that returns Arrow, descriptions of tables, and the state of
their data.  A package declares it as an entry point, and ``dp.open`` finds it by its URL scheme:

    [project.entry-points."discreet.engines"]
    clickhouse = "clickhouse_engine:ClickHouse"

An address is ``clickhouse:///folder/database.table``.
"""

# ruff: noqa: S608  (names are word characters alone)

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Final, final

import pyarrow as pa
from chdb import session as chdb
from sqlglot import exp

from discreet.engines.dialect import Dialect, Value
from discreet.engines.engine import Columns, HashOrder
from discreet.engines.expressions import Expressions
from discreet.engines.fragments import Node, select
from discreet.engines.sources.identity import Identity, digest_of, identified
from discreet.engines.sources.stored_columns import read_columns, unknown_table
from discreet.engines.sql_engine import SqlEngine
from discreet.errors import UnreadableSource, UnsupportedSQL
from discreet.query.expression_types import CASTS
from discreet.query.relations import Scan, folded
from discreet.query.types import Scalar, Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import StoredColumn

FIRST, LAST = date(1900, 1, 1), date(2299, 12, 31)  # the days that ClickHouse has
SETTINGS: Final = {
    "enable_extended_results_for_datetime_functions": 1,
    "join_use_nulls": 1,
    "prefer_column_name_to_alias": 1,  # a column of ours may have the name of one below it
    "session_timezone": "'UTC'",
    "short_circuit_function_evaluation": "'force_enable'",  # CASE guards what is in its branches
}
FORMS: Final = {
    **{f"{sign}Int{bits}": Type.INTEGER for sign in ("", "U") for bits in (8, 16, 32, 64)},
    "Float32": Type.FLOAT,
    "Float64": Type.FLOAT,
    "Decimal": Type.FLOAT,
    "String": Type.TEXT,
    "UUID": Type.TEXT,
    "Enum8": Type.TEXT,
    "Enum16": Type.TEXT,
    "Bool": Type.BOOLEAN,
    "Date": Type.DATE,
    "Date32": Type.DATE,
    "DateTime64": Type.TIMESTAMP,
}
EXACT: Final = {
    Type.INTEGER: "integer",
    Type.TEXT: "text",
    Type.BOOLEAN: "boolean",
    Type.DATE: "date",
}
ADDRESS: Final = re.compile(r"clickhouse://(/.+)/(\w+)\.(\w+)")


def _exact(function: str) -> str:
    return f"accurateCastOrNull({function}(toInt256(:x), toInt256(:y)), 'Int64')"


@final
class ClickHouseDialect(Dialect):
    """ClickHouse: 256 bits hold every sum, and accurateCastOrNull is NULL for what does not fit."""

    name = "clickhouse"
    title = "ClickHouse"
    types: ClassVar[Mapping[Type, str]] = {
        Type.INTEGER: "Nullable(Int64)",
        Type.FLOAT: "Nullable(Float64)",
        Type.TEXT: "Nullable(String)",
        Type.BOOLEAN: "Nullable(Bool)",
        Type.DATE: "Nullable(Date32)",
        Type.TIMESTAMP: "Nullable(DateTime64(6))",
    }
    let = "arrayMap(_v -> :body, :items)[1]"
    templates: ClassVar[Mapping[str, str]] = {
        "same": "isNotDistinctFrom(:x, :y)",
        "+": _exact("plus"),
        "-": _exact("minus"),
        "*": _exact("multiply"),
        "DIV": _exact("intDivOrNull"),
        "MOD": _exact("moduloOrNull"),
        "quotient": "intDivOrNull(:x, :y)",
        "wide": "toInt256(:x)",
        "sum": "sum(toInt256(:x))",
        "narrow": "accurateCastOrNull(:x, 'Int64')",
        "fitting": "accurateCastOrNull(:x, 'Int64')",
        "finite": "CASE WHEN isFinite(:x) THEN :x END",
        "FLOAT /": "divide(:x, :y)",
        "FLOAT ROUND": "CASE WHEN abs(:x - trunc(:x)) >= 0.5 THEN trunc(:x) + sign(:x)"
        " ELSE trunc(:x) END",
        "FLOAT to INTEGER": "accurateCastOrNull(:x, 'Int64')",
        "INTEGER to FLOAT": "toFloat64(:x)",
        "INTEGER to TEXT": "toString(:x)",
        "FLOAT to TEXT": "toString(:x)",
        "DATE to TEXT": "toString(:x)",
        "BOOLEAN to INTEGER": "CASE WHEN :x THEN toInt64(1) WHEN NOT :x THEN toInt64(0) END",
        "TEXT to INTEGER": "CASE WHEN match(:x, :form) THEN toInt64OrNull(:x) END",
        "TEXT to FLOAT": "CASE WHEN match(:x, :form) THEN toFloat64OrNull(:x) END",
        "bytes": "toInt64(length(:x))",
        "LENGTH": "toInt64(lengthUTF8(:x))",
        "translate": "translate(:x, :y, :z)",
        "SUBSTR": "substringUTF8(:x, :y, :z)",
        "TRIM": "trim(BOTH ' ' FROM :x)",
        "STARTS_WITH": "startsWith(:x, :y)",
        "ENDS_WITH": "endsWith(:x, :y)",
        "REPLACE": "replaceAll(:x, :y, :z)",
        **{
            f"EXTRACT {part}": f"{function}(:x)"
            for part, function in (
                ("YEAR", "toYear"),
                ("QUARTER", "toQuarter"),
                ("MONTH", "toMonth"),
                ("DAY", "toDayOfMonth"),
                ("DAYOFYEAR", "toDayOfYear"),
                ("HOUR", "toHour"),
                ("MINUTE", "toMinute"),
                ("SECOND", "toSecond"),
            )
        },
        "EXTRACT DAYOFWEEK": "toDayOfWeek(:x) % 7 + 1",
        "DATE_DIFF": "dateDiff('day', :y, :x)",
        "micros": "toUnixTimestamp64Micro(:x)",
        "md5": "lower(hex(MD5(:x)))",
        "hash": "sipHash64(:y, :x)",
        "hex number": "reinterpretAsInt64(reverse(unhex(concat('0', substring(:x, 1, 15)))))",
    }

    def literal(self, value: Scalar | float, kind: Type | None) -> Node:
        """Return a literal; days that ClickHouse does not have are refused."""
        if isinstance(value, date) and not FIRST <= date(*value.timetuple()[:3]) <= LAST:
            raise UnsupportedSQL(
                what="a day is before 1900 or after 2299.",
                why="ClickHouse would take it for another day.",
                do="leave it out of the question.",
            )
        return super().literal(value, kind)

    def semi_join(
        self, outputs: Sequence[Node], left: exp.Expr, right: exp.Expr, on: Node, *, anti: bool
    ) -> exp.Select:
        """Return the rows on the left that meet one on the right, or that meet none."""
        found = select(outputs, left)
        join = exp.Join(this=right, side="LEFT", kind="ANTI" if anti else "SEMI", on=on.leaf)
        found.set("joins", [join])
        return found


CLICKHOUSE: Final = ClickHouseDialect()


@final
@dataclass(frozen=True)
class Parts:
    """The state of a table: the hashes of its parts, which change whenever a row does."""

    session: Any
    database: str
    table: str
    state: str
    kind: str = "clickhouse"
    content: None = None

    @property
    def places(self) -> frozenset[tuple[object, ...]]:
        """What the table is read from."""
        return frozenset({("clickhouse", self.database, self.table)})

    def is_unchanged(self) -> bool:
        """Look again."""
        return state_of(self.session, self.database, self.table) == self.state


def rows_of(session: Any, statement: str) -> pa.Table:
    """Run a statement, and return its rows."""
    found = session.query(statement, "ArrowStream")  # which owns the bytes
    with pa.ipc.open_stream(bytes(found.bytes())) as reader:
        return reader.read_all()


def state_of(session: Any, database: str, table: str) -> str:
    """Return a digest of the columns and the data of a table."""
    where = f"WHERE database = '{database}' AND table = '{table}'"
    columns = rows_of(session, f"SELECT name, type FROM system.columns {where} ORDER BY position")
    parts = rows_of(
        session,
        f"SELECT name, hash_of_all_files FROM system.parts {where} AND active ORDER BY name",
    )
    return digest_of((str(columns.to_pylist()), str(parts.to_pylist())))


@final
class ClickHouse(SqlEngine):
    """Tables by name, each an address; all of them are in one folder."""

    __slots__ = ("_columns", "_places", "_session", "_stamps")

    dialect = CLICKHOUSE

    def __init__(self, tables: Mapping[str, object], performance: None = None) -> None:  # noqa: ARG002
        """Describe the tables; no row is read."""
        super().__init__()
        found = {name: ADDRESS.fullmatch(str(address)) for name, address in tables.items()}
        places = {name: each.groups() for name, each in found.items() if each is not None}
        if len(places) != len(tables) or len({folder for folder, *_ in places.values()}) != 1:
            raise UnreadableSource(
                what="the tables are not in one folder of ClickHouse.",
                why="a question reads all of its tables at once.",
                do="give 'clickhouse:///folder/database.table' for each.",
            )
        self._session: Any = chdb.Session(next(iter(places.values()))[0])  # type: ignore[no-untyped-call,unused-ignore]
        self._places = {name: (database, table) for name, (_, database, table) in places.items()}
        self._columns = {name: self._described(*at) for name, at in self._places.items()}
        self._stamps = {
            name: Parts(self._session, *at, state_of(self._session, *at))
            for name, at in self._places.items()
        }

    def _described(self, database: str, table: str) -> dict[str, str]:
        listed = rows_of(
            self._session,
            "SELECT name, type FROM system.columns"
            f" WHERE database = '{database}' AND table = '{table}' ORDER BY position",
        ).to_pylist()
        if not listed:
            raise UnreadableSource(
                what=f"there is no table {database}.{table}.",
                why="only tables that are there can be read.",
                do="name another one.",
            )
        plain = re.compile(r"(?:LowCardinality\(|Nullable\()*(\w+).*")
        return {each["name"]: plain.sub(r"\1", each["type"]) for each in listed}

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return {
            name: {each: FORMS.get(form) for each, form in columns.items()}
            for name, columns in self._columns.items()
        }

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how ClickHouse stores the columns."""
        return {
            name: {
                each: StoredColumn(
                    source="clickhouse",
                    native=form,
                    form="uuid" if form == "UUID" else EXACT.get(FORMS.get(form, Type.FLOAT)),
                )
                for each, form in columns.items()
            }
            for name, columns in self._columns.items()
        }

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        wished = {folded(table) for table in tables}
        return identified(
            {
                folded(name): (stamp, tuple(self._columns[name].items()))
                for name, stamp in self._stamps.items()
                if folded(name) in wished
            }
        )

    def scan(self, scan: Scan) -> exp.Select:
        """Return how a table is read."""
        name = next((n for n in self._places if folded(n) == folded(scan.table)), None)
        if name is None:
            raise unknown_table(scan.table)
        forms = self._columns[name]
        columns = read_columns(
            CLICKHOUSE, scan, forms, lambda each, kind: self._reading(each, forms[each], kind)
        )
        database, table = self._places[name]
        source = exp.Table(
            this=exp.to_identifier(table, quoted=True), db=exp.to_identifier(database, quoted=True)
        )
        return select(columns, source)

    def _reading(self, name: str, form: str, to: Type) -> Node | None:
        kind = FORMS.get(form)
        if kind is None or to not in CASTS[kind]:
            return None
        node = CLICKHOUSE.column(name)
        if form == "UInt64":
            node = CLICKHOUSE.own("accurateCastOrNull(:x, 'Int64')", x=node)
        elif kind is not Type.TEXT:
            node = CLICKHOUSE.cast(node, kind)
        else:
            node = CLICKHOUSE.own("toNullable(toString(:x))", x=node)
        value = Value(node, kind, open=kind is Type.FLOAT)
        return Expressions(CLICKHOUSE, {}).read(value, to)

    def fetch(self, statement: str, tables: Mapping[str, pa.Table]) -> pa.Table:  # noqa: ARG002
        """Run a statement."""
        settings = ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())
        return rows_of(self._session, f"{statement} SETTINGS {settings}")

    def _run(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        if self._session is None:
            raise RuntimeError("the engine is closed")
        return super()._run(request, order)

    def close(self) -> None:
        """Release the data."""
        if self._session is not None:
            self._session.close()
        self._session = None


if __name__ == "__main__":
    print(f"{CLICKHOUSE.title}: dp.open('clickhouse:///folder/database.table', policy=...)")
