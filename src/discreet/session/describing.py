"""The columns of tables, before there are any rules for them.

Trust: kernel.  Names and types are read from what describes the data, and no row is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.choice import engine_for
from discreet.engines.engine import Columns
from discreet.session.sources import named_sources

__all__ = ["describe"]


def describe(source: object, *, tables: str | Sequence[str] | None = None) -> Mapping[str, Columns]:
    """Return the columns of every table with their types; None for what cannot be read.

    >>> import pyarrow as pa
    >>> describe(pa.table({"age": [34, 71]}), tables="people")
    {'people': {'age': INTEGER}}
    """
    engine = engine_for(named_sources(source, tables, []))
    try:
        return engine.tables()
    finally:
        engine.close()
