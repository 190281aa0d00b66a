"""The registry of engines: which one opens a source, found by its URL scheme.

Trust: public.  An engine of another package declares an entry point in the group
``discreet.engines``: its name is a URL scheme, or the library of a data frame, and its value a
class that takes tables by name and options (docs/guide/write-an-engine.md).  It passes
:mod:`discreet.engines.conformance` before anybody trusts it with data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine
from discreet.errors import WrongKind

__all__ = ["GROUP", "engine_for", "engine_of", "is_remote"]

GROUP: Final = "discreet.engines"
_OURS: Final = {
    "postgresql": "discreet.engines.postgres.engine:Postgres",
    "postgres": "discreet.engines.postgres.engine:Postgres",
    "pyspark": "discreet.engines.spark:Spark",
}
_FILES: Final = frozenset({"file", "pandas", "polars", "pyarrow", "duckdb", "discreet", "builtins"})
"""What DuckDB reads without anybody's help."""
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+)://")


def engine_of(source: object) -> str | None:
    """Return the name under which the engine of a source is registered; None for DuckDB.

    >>> engine_of("postgresql://db.example/clinic/visits"), engine_of("visits.parquet")
    ('postgresql', None)
    """
    if isinstance(source, str):
        found = _SCHEME.match(source)
        name = "" if found is None else found.group(1)
    else:
        named = getattr(source, "engine", None)  # which is a column of a frame of Spark Connect
        name = named if isinstance(named, str) else type(source).__module__.partition(".")[0]
        if name == "pyspark" and type(source).__name__ != "DataFrame":
            return None
    if not name or name in _FILES:
        return None
    return name if name in _OURS or entry_points(group=GROUP, name=name) else None


def is_remote(source: object) -> bool:
    """Say whether an address names a table in a place that asks for a scheme.

    >>> is_remote("postgresql://db.example/clinic"), is_remote("visits.csv")
    (True, False)
    """
    return isinstance(source, str) and engine_of(source) is not None


def engine_for(tables: Mapping[str, object], performance: object = None) -> Engine:
    """Open tables with the engine that they need.

    >>> import pyarrow as pa
    >>> engine = engine_for({"visits": pa.table({"patient": [1]})})
    >>> engine.tables()
    {'visits': {'patient': INTEGER}}
    >>> engine.close()
    """
    names = {name for data in tables.values() if (name := engine_of(data)) is not None}
    classes = {_loaded(name) for name in names}
    if len(classes) > 1:
        raise WrongKind(
            what="the tables are on several engines.",
            why="a question is computed by one engine, which reads all of its tables.",
            do="copy the tables of one engine to where the others are.",
        )
    made: Any = next(iter(classes), DuckDB)
    wanted = getattr(made, "performance", type(None))
    if performance is not None and not isinstance(performance, wanted):
        raise WrongKind(
            what="the options are those of another engine.",
            why="what makes an engine faster is different for each.",
            do=f"give a {wanted.__name__}, or none.",
        )
    engine: Engine = made(tables, performance)
    return engine


def _loaded(name: str) -> type:
    """Return the class of an engine; its library is loaded only now."""
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        found: type = getattr(import_module(module), attribute)
        return found
    (entry,) = entry_points(group=GROUP, name=name)
    loaded: type = entry.load()
    return loaded
