"""Engines compute bounded totals of tables; options make them faster, and change no answer.

Trust: kernel.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, final

from discreet.engines.sources.identity import Identity
from discreet.exact import whole
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, StoredColumn

Columns = Mapping[str, Type | None]
"""The columns of a table; a column that no question can name has type None."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HashOrder:
    """The order of hashes, by which a unit keeps groups, values and rows (T2).

    ``salt`` is new for every release, and ``portable`` says whether all engines must agree.
    What is kept may depend on the unit's own rows and on public numbers alone; how well the hash
    mixes only decides how fair the choice is.

    Definition.  For a purpose, the *canonical text* of values is the salt, a space, the purpose,
    and then for every value ``-`` if it is NULL, else the number of code points of its text, a
    colon, and the text.  The text of a BOOLEAN is true or false, of a DATE its day as YYYY-MM-DD,
    of a TIMESTAMP its microseconds since 1970, of a number its shortest decimal form.  The
    *portable* order, which is the same on every engine but for floats, which engines write in ways
    of their own, sorts values by the hexadecimal MD5 of these texts.

    >>> HashOrder(salt=7).portable
    False
    """

    salt: int
    portable: bool = False

    def __post_init__(self) -> None:
        """Refuse a salt that is not a number of 63 bits."""
        whole(self.salt, name="salt", low=0, high=2**63 - 1)


class Engine(Protocol):
    """Computes bounded totals of tables; when it fails, it says nothing about the data."""

    @abstractmethod
    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table, from its description and never from its rows."""

    @abstractmethod
    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table stores its columns."""

    @abstractmethod
    def learn_schema(self, schema: Schema) -> None:
        """Learn whose rows the tables hold, before anything is asked; refuse what cannot be."""

    @abstractmethod
    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in, by folded name; refuse what has changed."""

    @abstractmethod
    def check(self, request: EngineRequest) -> object:
        """Refuse what cannot be computed, before anything is charged; prepare the rest.

        The next ``run`` of the same request executes what was prepared.
        """

    @abstractmethod
    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers; refuse if a table changes meanwhile."""

    @abstractmethod
    def close(self) -> None:
        """Release the data."""


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
