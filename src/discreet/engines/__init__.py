"""Engines: they compute bounded integer totals of tables, and never fail with a word about data.

Trust: kernel.
"""

from discreet.engines.connection import Performance
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Columns, Engine
from discreet.engines.order import HashOrder
from discreet.engines.reference.engine import Reference
from discreet.engines.sources.database import Database

__all__ = ["Columns", "Database", "DuckDB", "Engine", "HashOrder", "Performance", "Reference"]
