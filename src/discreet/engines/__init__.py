"""Engines: they compute bounded integer totals of tables, and never fail with a word about data.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Columns, Engine, HashOrder, Performance, SparkPerformance
from discreet.engines.sources.files import Database

if TYPE_CHECKING:  # another engine is loaded when first used
    from discreet.engines.spark import Spark

__all__, __getattr__, __dir__ = open_door(
    __name__,
    __file__,
    also=(
        "Columns",
        "Database",
        "DuckDB",
        "Engine",
        "HashOrder",
        "Performance",
        "SparkPerformance",
    ),
)
