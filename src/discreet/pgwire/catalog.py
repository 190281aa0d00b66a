"""What clients look up before they ask: schemas, tables, columns and types, and never a row.

Trust: public.  A catalog is a DuckDB in memory with the tables of PostgreSQL's catalog, filled with
what is public about one dataset.  It holds nothing else, so nothing is told that may not be; what
a question to it can use is bounded (T1):

- it names tables of the catalog and functions of a list, and nothing else is run;
- DuckDB reads no file, loads no extension and keeps its settings;
- questions are read and answered in processes of their own (:func:`look_up`), whose memory and time
  the operating system limits: a text can need any of both, whatever DuckDB is told.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import pickle
import re
import resource
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, TypeAlias, final

import duckdb
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.documents import DatasetDocument
from discreet.errors import UnsupportedSQL
from discreet.pgwire.statements import refused_catalog, tokens_of
from discreet.pgwire.values import OIDS, type_oid

_MEMORY: Final = 1 << 30
_SECONDS: Final = 5
_ROWS: Final = 20_000
_LARGEST: Final = 8 << 20
_LETTERS: Final = 65_536
_SETTINGS: Final = {
    "memory_limit": "128MB",
    "max_temp_directory_size": "0KB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
TOO_MUCH: Final = "this question about tables takes too long, or is too large."
Found: TypeAlias = tuple[list[tuple[str, int]], list[tuple[Any, ...]]]
"""Columns with the object ids of their types, and rows."""
_FACTS: Final = (
    "database TEXT, of_table INT, name TEXT, about TEXT, number INT, column_name TEXT, kind INT, "
    "nullable BOOLEAN, facts TEXT"
)
_SCHEMAS: Final = {"pg_catalog": "pg", "information_schema": "info"}
_CODES: Final = {
    "t": "VARCHAR",
    "i": "INTEGER DEFAULT 0",
    "b": "BOOLEAN DEFAULT false",
    "f": "DOUBLE DEFAULT 0",
    "s": "TIMESTAMP",
}
_FUNCTIONS: Final = """
    abs array_agg array_length array_position array_to_string bool_and bool_or cardinality cast
    ceil char_length coalesce concat concat_ws count current_date current_timestamp date_trunc
    exists extract floor generate_series generate_subscripts greatest in_list initcap json_agg
    json_build_object json_object_agg least left length like lower ltrim max md5 min mod now nullif
    position regexp_replace replace right round row_number rtrim split_part starts_with string_agg
    strpos substr substring sum to_char trim unnest upper case if and or not
    any any_value array explode group_concat json_build_object json_object json_object_agg
    logical_and logical_or regexp_like regexp_i_like str_position string_to_array xor
    array_size exploding_generate_series all
"""


@final
class Catalog:
    """The catalog of one dataset."""

    __slots__ = ("_connection",)

    def __init__(self, name: str, dataset: DatasetDocument) -> None:
        """Fill the tables that name something."""
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        run = self._connection.execute
        run("CREATE SCHEMA pg; CREATE SCHEMA info; CREATE SCHEMA public_facts")
        run(f"CREATE TABLE public_facts.columns ({_FACTS})")
        for table, columns in _layout().items():
            run(f"CREATE TABLE {table} ({', '.join(columns)})")
        for row in _facts(name, dataset):
            run("INSERT INTO public_facts.columns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for statement in _script("contents.sql").split(";\n"):
            run(statement)
        run(_script("functions.sql"))
        for setting, value in _SETTINGS.items():
            run(f"SET {setting} = '{value}'")

    def answer(self, sql: str) -> Found:
        """Return the columns and rows of a question that was translated."""
        run = self._connection.execute
        try:
            run("BEGIN TRANSACTION READ ONLY")
            cursor = run(sql)
            described = cursor.description or []
            rows = cursor.fetchmany(_ROWS + 1)
        except (duckdb.Error, MemoryError):
            raise refused_catalog("this question about tables is not answered.") from None
        finally:
            run("ROLLBACK")
        if len(rows) > _ROWS:
            raise refused_catalog(f"this question about tables has more than {_ROWS:,} rows.")
        columns = [(column[0], type_oid(str(column[1]))) for column in described]
        return columns, rows


# --- contents -----------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _script(name: str) -> str:
    return files("discreet.pgwire").joinpath(name).read_text(encoding="ascii")


@lru_cache(maxsize=1)
def _layout() -> dict[str, list[str]]:
    """Return the tables of PostgreSQL's catalog, with their columns as DuckDB declares them."""
    lines = (line.split() for line in _script("catalog.txt").splitlines())
    return {name: [_declared(*each.split(":")) for each in rest] for name, *rest in lines}


def _declared(name: str, code: str) -> str:
    if code.isupper():
        return f'"{name}" {_CODES[code.lower()].partition(" ")[0]}[]'
    return f'"{name}" {_CODES[code]}'


@lru_cache(maxsize=1)
def _defined() -> frozenset[str]:
    """Return the functions of PostgreSQL that are defined here."""
    return frozenset(re.findall(r"^CREATE MACRO (\w+)", _script("functions.sql"), re.MULTILINE))


def _facts(database: str, dataset: DatasetDocument) -> Iterator[list[Any]]:
    """Return what is public about columns: types, bounds and categories."""
    for at, (name, table) in enumerate(sorted(dataset.tables.items())):
        about = "public" if table.public else f"protects {dataset.unit}"
        for number, column in enumerate(table.columns, 1):
            words = None
            if column.categories is not None:
                words = f"one of: {', '.join(map(str, column.categories[:50]))}"
            elif column.low is not None and column.high is not None:
                words = f"from {column.low} to {column.high}"
            yield [
                *(database, 16384 + at, name, about, number),
                *(column.name, OIDS[column.type], column.nullable, words),
            ]


# --- translation ----------------------------------------------------------------------------------


_POSTGRES: Final = Postgres()
_KINDS: Final = {
    "regclass": "oid_of_class",
    "regtype": "oid_of_type",
    "regproc": "oid_of_proc",
    "regnamespace": "oid_of_namespace",
}
_VERBS: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE"})
_INTEGERS: Final = frozenset({"oid", "xid", "cid", "int4", "int8", "int2", "regrole"})


def translated(text: str, values: Sequence[Any], session: Mapping[str, str]) -> str | None:
    """Return a statement about the catalog alone in DuckDB's words; None if it is about tables."""
    tree = _parsed(text) if len(text) <= _LETTERS else None
    if not isinstance(tree, exp.Query):
        return None
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    if not all(_place(table, named) is not None for table in tree.find_all(exp.Table)):
        return None
    for node in reversed(list(tree.walk())):  # inner ones first
        changed = _changed(node, values, session, named)
        if changed is not node:
            node.replace(changed)
    if tree.find(exp.DML, exp.DDL, exp.Into, exp.Lock, exp.Placeholder, exp.Command):
        raise refused_catalog("this question about tables is not answered.")
    try:
        return str(tree.sql(dialect="duckdb"))
    except (SqlglotError, RecursionError, ValueError):
        return None


def _parsed(text: str) -> Any:
    """Return the tree of one statement, or None."""
    tokens = tokens_of(text)
    for place, (before, token) in enumerate(itertools.pairwise(tokens), 1):
        if before.token_type == TokenType.ALIAS and token.text.upper() in _VERBS:  # AS select
            where = token.line, token.col, token.start, token.end
            tokens[place] = Token(TokenType.IDENTIFIER, token.text, *where)
    try:
        (tree,) = _POSTGRES.parser().parse(tokens, text)
    except (SqlglotError, RecursionError, ValueError):
        return None
    return tree


def _place(table: exp.Table, named: set[str]) -> str | None:
    """Return what a table of the catalog is called here; None for any other one."""
    named_last = table.this.expression if isinstance(table.this, exp.Dot) else table.this
    if isinstance(named_last, exp.Func):
        return ""
    if named_last is not table.this:  # a name of four parts or more
        return None
    name, schema = table.name.lower(), table.db.lower()
    if not schema and name in named:
        return ""
    if not schema:
        schema = "pg_catalog"
    place = f"{_SCHEMAS.get(schema, '')}.{name}"
    return place if place in _layout() else None


def _changed(  # noqa: C901, PLR0911  one case each
    node: Any, values: Sequence[Any], session: Mapping[str, str], named: set[str]
) -> Any:
    match node:
        case exp.Parameter() if node.name.isdigit() and 0 < int(node.name) <= len(values):
            return exp.convert(values[int(node.name) - 1])
        case exp.Table():
            return _table(node, named)
        case exp.CTE():
            node.args["alias"].set("this", _renamed(node.alias))
        case exp.Dot() if node.this.name.lower() in _SCHEMAS:
            return node.expression
        case exp.Any() if isinstance(node.this.unnest(), exp.Literal):
            node.set("this", exp.paren(exp.cast(_list(node.this.unnest()), "VARCHAR[]")))
        case exp.Column() if node.args.get("db"):
            return exp.column(node.this, table=node.args["table"])
        case exp.Collate():
            return node.this
        case exp.Operator():
            return _operated(node)
        case exp.Cast():
            return _cast(node)
        case exp.Func():
            return _called(node, session)
    return node


def _table(node: exp.Table, named: set[str]) -> Any:
    """Return a table as it is called here, under the name that the text knows it by."""
    place = _place(node, named)
    if place:
        schema, name = place.split(".")
        return exp.Table(
            this=exp.to_identifier(name, quoted=True),
            db=exp.to_identifier(schema),
            alias=node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name)),
            joins=node.args.get("joins"),
            laterals=node.args.get("laterals"),
        )
    node.set("db", None)
    if isinstance(node.this, exp.Identifier):
        node.set("alias", node.args.get("alias") or exp.TableAlias(this=node.this.copy()))
        node.set("this", _renamed(node.name))
    return node


def _renamed(name: str) -> Any:
    """Return the name of a WITH here: out of its scope, it is not a view of DuckDB's own (T1)."""
    return exp.to_identifier(f"with {name}", quoted=True)


def _operated(node: Any) -> Any:
    sign = str(node.args["operator"]).rpartition(".")[2]
    left, right = node.this, node.expression
    found: dict[str, Any] = {
        "~": exp.RegexpLike(this=left, expression=right),
        "!~": exp.not_(exp.RegexpLike(this=left, expression=right)),
        "=": exp.EQ(this=left, expression=right),
    }
    if sign not in found:
        raise refused_catalog("this operator is not answered.")
    return found[sign]


def _cast(node: Any) -> Any:
    kind = node.to.args.get("kind") if node.to.this == exp.DType.USERDEFINED else node.to
    name = kind.sql("postgres").lower().rpartition(".")[2].strip('"')
    if name in _KINDS:
        return exp.Anonymous(this=_KINDS[name], expressions=[node.this])
    if name.endswith("[]") and isinstance(node.this, exp.Literal):
        node.set("this", _list(node.this))
    if name.rstrip("[]") in _INTEGERS:
        name = name.replace(name.rstrip("[]"), "BIGINT")
    elif node.to.this == exp.DType.USERDEFINED:
        name = name if name in {"text", "boolean"} else "text"
    else:
        return node
    return exp.Cast(this=node.this, to=exp.DataType.build(name, dialect="duckdb"))


def _list(literal: Any) -> Any:
    """Return a list in DuckDB's form: [a, b] in place of {a,b}."""
    text = str(literal.this)
    return exp.Literal.string(f"[{text[1:-1]}]") if text[:1] + text[-1:] == "{}" else literal


def _called(node: Any, session: Mapping[str, str]) -> Any:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    name = "version" if name == "current_version" else name
    if name == "current_setting":
        asked = node.expressions[0].name if node.expressions else ""
        return exp.Literal.string(session.get(asked.lower(), ""))
    if name in session:
        value = exp.Literal.string(session[name])
        return exp.alias_(value, name) if isinstance(node.parent, exp.Select) else value
    if name == "all" and node.expressions and isinstance(node.expressions[0], exp.Literal):
        node.set("expressions", [exp.cast(_list(node.expressions[0]), "VARCHAR[]")])
    if name == "json_build_object":
        return exp.Anonymous(this="json_object", expressions=node.expressions)
    if name not in _defined() and name not in _ALLOWED:
        raise refused_catalog(f"the function {name[:60]} is not answered about the catalog.")
    return node


_ALLOWED: Final = frozenset(_FUNCTIONS.split())


# --- the process ----------------------------------------------------------------------------------


def begin_process() -> None:
    """End with the server, however that ends, and write nothing to its output or log."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    server = multiprocessing.parent_process()
    assert server is not None  # noqa: S101  it has started this process
    server.join()
    os._exit(0)


def look_up(
    name: str,
    dataset: str,
    text: str,
    values: Sequence[Any],
    session: Mapping[str, str],
) -> Found | str | None:
    """Answer a statement in a worker process; return words if it is refused.

    Args:
        name: of the dataset.
        dataset: what is public about it, as JSON.
        text: one statement.
        values: those of its parameters.
        session: what ``current_user``, ``version`` and other functions without arguments return.

    Returns:
        The columns and rows; None for a statement that is about tables.
    """
    catalog = _catalog(name, dataset)
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, _MEMORY),
        (resource.RLIMIT_CPU, int(time.process_time()) + 1 + _SECONDS),
    ):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))
    try:
        sql = translated(text, values, session)
        found = None if sql is None else catalog.answer(sql)
    except UnsupportedSQL as error:
        return error.what
    except MemoryError:
        return TOO_MUCH
    return TOO_MUCH if len(pickle.dumps(found)) > _LARGEST else found


@lru_cache(maxsize=8)
def _catalog(name: str, dataset: str) -> Catalog:
    return Catalog(name, DatasetDocument.read(json.loads(dataset)))
