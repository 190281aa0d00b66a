"""The engine on DuckDB.

Trust: kernel.

The memory that a question may need at once, from its plan alone.

 A question that might not fit is refused before anything is charged: whether it does
must not depend on a row.

Definition.  DuckDB computes with vectors of ``ROWS`` rows, one after the other in every thread.  So
at any moment a thread holds at most ``ROWS`` texts of ``LONGEST_TEXT`` bytes for every text that
the question makes of a row (:mod:`discreet.requests.text_limits`), if all rows at hand have texts
as long as can be.  These may take half of the memory.  What has to be held longer, in joins, sums,
windows and sorts, goes to disk where it does not fit.

The engine on DuckDB.

Nothing that an analyst writes reaches DuckDB: statements are printed from checked nodes.  The
connection reads the sources and nothing else: no other file and no extension, and no setting can be
changed once it is open.  Whatever fails, fails with one and the same sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self, final

import duckdb
import pyarrow as pa

from discreet.engines.connection import Connection, Performance
from discreet.engines.execution import run_interruptibly, run_sanitized, stopped_error
from discreet.engines.hash_order import HashOrder
from discreet.engines.sources.identity import Identity, run_if_unchanged, scanned_tables
from discreet.engines.sql.contribution_bounding import PUBLIC, ContributionBounding, public_tables
from discreet.engines.sql.distinct_and_quantiles import distinct, leaves
from discreet.engines.sql.totals import exact_rows, totals, whole_floats
from discreet.engines.threshold_bounding import ThresholdBounding, source_of
from discreet.errors import UnsupportedSQL
from discreet.query.scalar_functions import LONGEST_TEXT
from discreet.requests.engine_request import Distinct, EngineRequest, Leaves, Total
from discreet.requests.raw_totals import Integers, RawTotals, SparseLeaves, numbers
from discreet.requests.text_limits import text_work

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.engines.engine import Columns
    from discreet.requests.table_schema import Schema, StoredColumn

__all__ = ["MANY", "ROWS", "DuckDB", "Statements", "check_memory"]

ROWS: Final = 2048


def check_memory(lowered: EngineRequest, memory: Callable[[], tuple[int, int]]) -> None:
    """Refuse a question whose texts may take more than half of the memory.

    Args:
        lowered: what is to be computed.
        memory: says how many bytes the engine may use, and how many threads share them.
    """
    work = text_work(lowered)
    if not work:
        return
    most, threads = memory()
    if work * ROWS * LONGEST_TEXT * threads > most // 2:
        raise UnsupportedSQL(
            what="the texts that the question makes might not fit into the memory of the engine.",
            why="an engine that runs out of memory tells whose rows were too long.",
            do="use fewer functions of texts, or have the owner open the tables with more memory "
            "or fewer threads (discreet.engines.Performance).",
        )


MANY: Final = 2**16
"""From so many rows on, it pays to look at some of them first."""


@final
@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of one run: one for all totals, one for every other measure by its name."""

    totals: str
    distinct: Mapping[str, str]
    leaves: Mapping[str, str]
    exact: int | None = None
    """How many rows of a group the totals can add up exactly; None for all."""


@final
class DuckDB:
    """Tables by name, each a path, a pattern of paths, a table of a database, or a frame.

    >>> import pyarrow as pa
    >>> with DuckDB({"visits": pa.table({"patient": [1, 1, 2]})}) as engine:
    ...     engine.tables()
    {'visits': {'patient': INTEGER}}
    """

    __slots__ = ("_connection", "_culls", "_lock")

    def __init__(
        self, tables: Mapping[str, object], performance: Performance | None = None
    ) -> None:
        """Open the tables; only what describes them is read."""
        options = performance or Performance()
        self._connection = Connection(tables, options)
        self._culls = options.memory is None  # what does not fit in memory is left to DuckDB
        self._lock = threading.Lock()

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._connection.columns

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table holds its columns."""
        return self._connection.stored

    def owned(self, schema: Schema) -> None:
        """Learn in which form units are named; whose rows there are makes no other difference."""
        self._connection.normalize(schema)

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        return self._connection.identities(tables)

    def check(self, lowered: EngineRequest) -> None:
        """Refuse what cannot be printed, and what may need more memory than there is."""
        self.statements(lowered, order=HashOrder(salt=0))
        check_memory(lowered, self._connection.memory)

    def statements(self, lowered: EngineRequest, *, order: HashOrder) -> Statements:
        """Print the statements; they hold nothing but the question and public numbers."""
        bounding = self._bounding(lowered, order)
        measures = lowered.measures
        added = _totals(lowered)
        floats = {} if lowered.unit else whole_floats(bounding, added)
        return Statements(
            totals=totals(bounding, added, floats),
            exact=exact_rows(floats),
            distinct={
                each.name: distinct(bounding, each)
                for each in measures
                if isinstance(each, Distinct)
            },
            leaves={
                each.name: leaves(bounding, each) for each in measures if isinstance(each, Leaves)
            },
        )

    def _bounding(self, lowered: EngineRequest, order: HashOrder) -> ContributionBounding:
        return ContributionBounding(
            lowered, self._connection.scan, order, self._connection.open_scan
        )

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        with self._lock:
            return run_sanitized(lambda: self._connection.cell_counts(table))

    def run(self, lowered: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers."""
        tables = scanned_tables(lowered.relation)
        with self._lock:
            return run_if_unchanged(
                lambda: self.identities(tables),
                lambda: run_sanitized(lambda: self._listening(lowered, order)),
            )

    def _listening(self, lowered: EngineRequest, order: HashOrder) -> RawTotals:
        statements = self.statements(lowered, order=order)
        try:
            return run_interruptibly(
                lambda: self._run(lowered, statements, order), stop=self._connection.interrupt
            )
        except duckdb.InterruptException:  # comes of an interrupt, and of nothing else
            raise stopped_error() from None

    def _run(self, lowered: EngineRequest, statements: Statements, order: HashOrder) -> RawTotals:
        tables = public_tables(lowered)
        first = self._totals(lowered, statements, order, tables)
        named = first if lowered.listed is None else tables[PUBLIC]
        keys = tuple(named.column(at).combine_chunks() for at in range(len(lowered.keys)))
        found = {each.name: _integers(first, f"t{at}") for at, each in enumerate(_totals(lowered))}
        for each, statement in statements.distinct.items():
            table = self._connection.fetched(statement, tables)
            _same_groups(first, table, lowered)
            found[each] = _integers(table, "t0")
        sparse = {
            each: _sparse(self._connection.fetched(statement, tables))
            for each, statement in statements.leaves.items()
        }
        return RawTotals(keys=keys, units=_integers(first, "units"), totals=found, leaves=sparse)

    def _totals(
        self,
        lowered: EngineRequest,
        statements: Statements,
        order: HashOrder,
        tables: dict[str, pa.Table],
    ) -> pa.Table:
        """Return the totals: by culling, by the statement, or with integers where floats end."""
        bounding, added = self._bounding(lowered, order), _totals(lowered)
        source = source_of(lowered) if self._culls else None
        size = None if source is None else self._connection.size(source)
        if size is not None and size >= MANY:
            found = ThresholdBounding(self._connection, bounding, added, tables).totals()
            if found is not None:
                return found
        found = self._connection.fetched(statements.totals, tables)
        if statements.exact is None or _integers(found, "units").max(initial=0) <= statements.exact:
            return found
        return self._connection.fetched(totals(bounding, added), tables)

    def close(self) -> None:
        """Let go of the data."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the data."""
        self.close()


def _totals(lowered: EngineRequest) -> list[Total]:
    return [each for each in lowered.measures if isinstance(each, Total)]


def _integers(table: pa.Table, name: str) -> Integers:
    column = table.column(name)
    if column.null_count:
        message = "a total is missing"
        raise RuntimeError(message)
    found: Integers = numbers(column)
    return found


def _sparse(table: pa.Table) -> SparseLeaves:
    return _integers(table, "g"), _integers(table, "leaf"), _integers(table, "c")


def _same_groups(first: pa.Table, second: pa.Table, lowered: EngineRequest) -> None:
    """Make sure that two statements saw the same rows."""
    keys = [] if lowered.listed is not None else [f"k{at}" for at in range(len(lowered.keys))]
    if first.num_rows != second.num_rows or not first.select(keys).equals(second.select(keys)):
        message = "the data changed between two statements"
        raise RuntimeError(message)
