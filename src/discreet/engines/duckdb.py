"""The engine on DuckDB.

Trust: kernel.

Nothing that an analyst writes reaches DuckDB: statements are printed from checked nodes.  The
connection reads the sources and nothing else: no other file and no extension, and no setting can be
changed once it is open.  Every failure reads the same.

A request that might not fit into memory is refused before anything is charged: whether it fits must
not depend on a row.
Definition.  DuckDB computes with vectors of ``ROWS`` rows, one after the other in every thread.  So
at any moment a thread holds at most ``ROWS`` texts of ``LONGEST_TEXT`` bytes for every text that
the question makes of a row (:mod:`discreet.requests.text_limits`).  These may take half of the
memory.  What joins, sums, windows and sorts hold longer goes to disk where it does not fit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeGuard, final

import duckdb
import pyarrow as pa

from discreet.engines.connection import Connection
from discreet.engines.engine import ClosingEngine, Columns, Performance
from discreet.engines.execution import run_interruptibly, run_sanitized, stopped_error
from discreet.engines.hash_order import HashOrder
from discreet.engines.single_rows import AT_ONCE, READ, RowStatement, SingleRows
from discreet.engines.sources.identity import Identity, run_if_unchanged, scanned_tables
from discreet.engines.sql.cell_sums import cell_sums
from discreet.engines.sql.contribution_bounding import PUBLIC, ContributionBounding, public_tables
from discreet.engines.sql.distinct_values import distinct
from discreet.engines.sql.totals import TotalStatements, leaves
from discreet.engines.threshold_bounding import ThresholdBounding, source_of
from discreet.errors import UnsupportedSQL
from discreet.query.functions import LONGEST_TEXT
from discreet.requests.cell_sums import CellSums
from discreet.requests.distinct_sum import DistinctSum
from discreet.requests.engine_request import DistinctCount, EngineRequest, Leaves
from discreet.requests.raw_totals import RawTotals, integers, sparse_leaves
from discreet.requests.table_schema import Schema, StoredColumn
from discreet.requests.text_limits import text_work

__all__ = ["MANY", "ROWS", "DuckDB", "PreparedRequest"]

ROWS: Final = 2048
MANY: Final = 2**16
"""Tables of at least this many rows are worth sampling first."""


def check_memory(request: EngineRequest, memory: Callable[[], tuple[int, int]]) -> None:
    """Refuse a request whose texts may take more than half of the memory.

    Args:
        request: what is to be computed.
        memory: returns how many bytes the engine may use, and how many threads share them.
    """
    work = text_work(request)
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


@final
@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request and its statements, which work with every salt.

    One statement computes all totals; every other measure has its own, by name.  Where ``rows``
    are read first, the totals are printed if need be: of the same expressions.
    """

    bounding: ContributionBounding
    rows: RowStatement | None
    totals: str | None
    distinct: Mapping[str, str]
    leaves: Mapping[str, str]
    longest: str
    """The column of the totals with how many rows are added up in one sum, at most."""
    exact: int | None = None
    """How many rows one sum can add up exactly; None for all."""

    @property
    def request(self) -> EngineRequest:
        """What the statements compute."""
        return self.bounding.request


@final
class DuckDB(ClosingEngine):
    """Tables by name, each a path, a pattern of paths, a table of a database, or a frame.

    >>> import pyarrow as pa
    >>> with DuckDB({"visits": pa.table({"patient": [1, 1, 2]})}) as engine:
    ...     engine.tables()
    {'visits': {'patient': INTEGER}}
    """

    __slots__ = ("_bounds_by_threshold", "_checked", "_connection", "_lock", "_single_rows")

    def __init__(
        self, tables: Mapping[str, object], performance: Performance | None = None
    ) -> None:
        """Open the tables; only their descriptions are read."""
        options = performance or Performance()
        self._connection = Connection(tables, options)
        self._bounds_by_threshold = options.memory is None  # else DuckDB decides what fits
        self._single_rows = SingleRows(self._connection)
        self._checked: PreparedRequest | None = None
        self._lock = threading.Lock()

    def tables(self) -> Mapping[str, Columns]:
        """Return the columns of every table."""
        return self._connection.columns

    def stored(self) -> Mapping[str, Mapping[str, StoredColumn]]:
        """Return how the source of every table stores its columns."""
        return self._connection.stored

    def learn_schema(self, schema: Schema) -> None:
        """Learn in which form units are named; nothing else depends on whose rows these are."""
        self._checked = None
        self._connection.normalize(schema)

    def identities(self, tables: Iterable[str]) -> Mapping[str, Identity]:
        """Return the state that tables were opened in; refuse what has changed since."""
        return self._connection.identities(tables)

    def check(self, request: EngineRequest) -> PreparedRequest:
        """Refuse what cannot be printed, and what may need more memory than there is."""
        checked = self._checked
        prepared = checked if _is_for(checked, request) else self.prepare(request)
        check_memory(request, self._connection.memory)
        self._checked = prepared
        return prepared

    def prepare(self, request: EngineRequest, *, portable: bool = False) -> PreparedRequest:
        """Print the statements; they hold nothing but the question and public numbers."""
        connection, measures = self._connection, request.measures
        bounding = ContributionBounding(request, connection.scan, connection.open_scan, portable)
        statements = TotalStatements.in_floats(bounding)
        rows = RowStatement.of(bounding)
        return PreparedRequest(
            bounding,
            rows=rows,
            totals=statements.totals() if rows is None else None,
            distinct={
                m.name: distinct(bounding, m)
                for m in measures
                if isinstance(m, DistinctCount | DistinctSum)
            },
            leaves={
                **{m.name: leaves(bounding, m) for m in measures if isinstance(m, Leaves)},
                **{m.name: cell_sums(bounding, m) for m in measures if isinstance(m, CellSums)},
            },
            longest=statements.longest,
            exact=statements.exact_rows,
        )

    def _prepared(self, request: EngineRequest, order: HashOrder) -> PreparedRequest:
        """Return what the last check has prepared, if it was for this very request.

        Requests that are only equal are printed anew: no statement runs for another request.
        """
        checked = self._checked
        if _is_for(checked, request) and not order.portable:
            return checked
        return self.prepare(request, portable=order.portable)

    def cell_counts(self, table: str) -> Mapping[str, int]:
        """Count the cells of each column that the source holds; for the owner's check alone."""
        with self._lock:
            return run_sanitized(lambda: self._connection.cell_counts(table))

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers."""
        tables = scanned_tables(request.relation)
        with self._lock:
            return run_if_unchanged(
                lambda: self.identities(tables),
                lambda: run_sanitized(lambda: self._run_interruptibly(request, order)),
            )

    def _run_interruptibly(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        prepared = self._prepared(request, order)
        read, parts = self._plain_parts(prepared)
        if parts is not None:
            return parts
        try:
            return run_interruptibly(
                lambda: self._run(prepared, order.salt, read), stop=self._connection.interrupt
            )
        except duckdb.InterruptException:  # comes of an interrupt, and of nothing else
            raise stopped_error() from None

    def _run(self, prepared: PreparedRequest, salt: int, read: pa.Table | None) -> RawTotals:
        request, fetch = prepared.request, self._connection.fetch
        parts = self._parts(prepared) if read is None else None
        if parts is not None:
            return parts
        tables = public_tables(request)
        if read is not None and prepared.rows is not None:
            tables[READ] = read
            prepared = replace(prepared, bounding=prepared.rows.in_memory)
        if request.unit:  # else nothing is put in an order
            self._connection.set_salt(salt)
        first = self._totals(prepared, tables)
        named = first if request.listed is None else tables[PUBLIC]
        numbers = {
            total.name: integers(first, f"t{index}") for index, total in enumerate(request.totals)
        }
        for measure, statement in prepared.distinct.items():
            second = fetch(statement, tables)
            _check_same_groups(first, second, request)
            numbers[measure] = integers(second, "t0")
        return RawTotals(
            keys=tuple(named.column(index).combine_chunks() for index in range(len(request.keys))),
            units=integers(first, "units"),
            totals=numbers,
            leaves={
                measure: sparse_leaves(fetch(statement, tables))
                for measure, statement in prepared.leaves.items()
            },
        )

    def _plain_parts(self, prepared: PreparedRequest) -> tuple[pa.Table | None, RawTotals | None]:
        """Return rows of a small table, which takes no time that one would interrupt.

        Where they are single, they are the totals, too.
        """
        if prepared.rows is None or not self._bounds_by_threshold:
            return None, None
        read = self._single_rows.read_plainly(prepared.rows)
        if read is None:
            return None, None
        return read, self._single_rows.plain_totals(prepared.rows, read)

    def _parts(self, prepared: PreparedRequest) -> RawTotals | None:
        """Return totals in parts where these are single rows, which need no order."""
        if prepared.rows is None or not self._bounds_by_threshold:
            return None
        return self._single_rows.totals(prepared.rows)

    def _totals(self, prepared: PreparedRequest, tables: dict[str, pa.Table]) -> pa.Table:
        """Return the totals: by a threshold, by the statement, or by integers where floats end."""
        connection, bounding, request = self._connection, prepared.bounding, prepared.request
        source = source_of(request) if self._bounds_by_threshold else None
        size = None if source is None else connection.size(source)
        if size is not None and size >= MANY:
            statements = TotalStatements.in_floats(bounding)
            table = ThresholdBounding(connection, statements, tables).totals()
            if table is not None:
                return table
        table = connection.fetch(prepared.totals or _printed(bounding, size), tables)
        exact, longest = prepared.exact, prepared.longest
        if exact is None or integers(table, longest).max(initial=0) <= exact:
            return table
        return connection.fetch(TotalStatements(bounding).totals(), tables)

    def close(self) -> None:
        """Release the data."""
        self._connection.close()


def _is_for(prepared: PreparedRequest | None, request: EngineRequest) -> TypeGuard[PreparedRequest]:
    """Say whether statements were printed for this very request, and for no other equal to it."""
    return prepared is not None and prepared.request is request


def _printed(bounding: ContributionBounding, size: int | None) -> str:
    """Print totals in parts, but of a table that is large: DuckDB holds its groups, and no rows."""
    statements = TotalStatements.in_floats(bounding)
    small = bounding.request.unit and size is not None and size <= AT_ONCE
    return statements.parts() if small else statements.totals()


def _check_same_groups(first: pa.Table, second: pa.Table, request: EngineRequest) -> None:
    """Make sure that two statements saw the same rows."""
    keys = [] if request.listed is not None else [f"k{index}" for index in range(len(request.keys))]
    if first.num_rows != second.num_rows or not first.select(keys).equals(second.select(keys)):
        message = "the data changed between two statements"
        raise RuntimeError(message)
