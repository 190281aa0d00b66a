"""Engines compute bounded totals of tables; options make them faster, and change no answer.

Trust: kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self, final, runtime_checkable

from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.identity import Identity
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn

Columns = Mapping[str, Type | None]
"""The columns of a table; a column that no question can name has type None."""


class Engine(Protocol):
    """Computes bounded totals of tables; when it fails, it says nothing about the data."""

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table, from its description and never from its rows."""
        ...

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table stores its columns."""
        ...

    def learn_schema(self, schema: Schema) -> None:
        """Learn whose rows the tables hold, before anything is asked; refuse what cannot be."""
        ...

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in, by folded name; refuse what has changed."""
        ...

    def check(self, request: EngineRequest) -> object:
        """Refuse what cannot be computed, before anything is charged; prepare the rest.

        The next ``run`` of the same request executes what was prepared.
        """
        ...

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers; refuse if a table changes meanwhile."""
        ...

    def close(self) -> None:
        """Release the data."""
        ...


class ClosingEngine(ABC):
    """An engine that releases the data at the end of a ``with`` block."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Release the data."""

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the data."""
        self.close()


@runtime_checkable
class CellCounts(Protocol):
    """An engine that can tell the owner how many cells a source holds.

    No question needs it, and none may reach it: the counts have no noise.
    """

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that are not NULL in the source."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """What changes how fast an answer comes, and never the answer.

    >>> Performance(threads=1).memory is None
    True
    """

    threads: int | None = None
    memory: str | None = None


Progress = Callable[[float], None]
"""Receives the share of a job that is done, from 0 to 1; a question may take several jobs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPerformance:
    """What changes how fast an answer comes, and never the answer.

    ``progress`` receives the progress of a job.

    >>> SparkPerformance().progress is None
    True
    """

    progress: Progress | None = None
