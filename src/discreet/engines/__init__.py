"""Engines: they compute bounded integer totals of tables, and never fail with a word about data.

Trust: kernel.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.connection import Performance
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Columns, Engine
from discreet.engines.order import HashOrder
from discreet.engines.sources.database import Database

if TYPE_CHECKING:  # another engine is loaded when first used
    from discreet.engines.reference.engine import Reference
    from discreet.engines.spark.engine import Spark
    from discreet.engines.spark.performance import SparkPerformance

__all__ = [
    "Columns",
    "Database",
    "DuckDB",
    "Engine",
    "HashOrder",
    "Performance",
    "Reference",
    "Spark",
    "SparkPerformance",
]

_FILES: Final = {
    "Reference": "reference.engine",
    "Spark": "spark.engine",
    "SparkPerformance": "spark.performance",
}

if not TYPE_CHECKING:  # to which every name would be one of this room

    def __getattr__(name: str) -> Any:
        """Load the file of a name the first time that it is asked for."""
        if name not in _FILES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        found = getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
