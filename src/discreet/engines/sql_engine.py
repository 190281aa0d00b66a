"""What all engines that run SQL have in common: check, print, run, and read totals.

Trust: kernel (T2).

An engine is a dialect, a transport that returns Arrow, descriptions of tables, and the state of its
data.  Everything else is here: what cannot be printed is refused before anything is charged; a
request is printed once; every failure after that is one sentence.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, final

import pyarrow as pa
from sqlglot import exp, parse_one

from discreet.engines.dialect import SALT, Dialect
from discreet.engines.engine import Engine, HashOrder
from discreet.engines.execution import run_interruptibly, run_sanitized
from discreet.engines.fragments import deep_trees
from discreet.engines.relations import Relations
from discreet.engines.sources.identity import run_if_unchanged, scanned_tables
from discreet.engines.statements import PublicTable, public_tables, statements
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import (
    ARROW_TYPES,
    RawTotals,
    arrow_values,
    integers,
    sparse_leaves,
)
from discreet.requests.table_schema import Schema

if TYPE_CHECKING:  # for the type checker
    from discreet.query.relations import Relation, Scan

__all__ = ["PreparedRequest", "SqlEngine", "arrow_table"]

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request and its printed statements, which work with every salt."""

    request: EngineRequest
    totals: str
    distinct: Mapping[str, str]
    leaves: Mapping[str, str]


class SqlEngine(Engine):
    """An engine that runs the statements of :mod:`discreet.engines.statements`."""

    __slots__ = ("_checked", "_lock")

    dialect: ClassVar[Dialect]
    registers: ClassVar[bool] = False
    """Whether tables of public groups are handed over, and not written into statements."""

    def __init__(self) -> None:
        """Prepare nothing yet."""
        self._checked: PreparedRequest | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the data."""
        self.close()

    @abstractmethod
    def scan(self, scan: Scan) -> exp.Select:
        """Return how a table is read: its columns as values of our types, which cannot fail."""

    @abstractmethod
    def fetch(self, statement: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Run a statement of the snapshot, with tables of public groups if they are handed over."""

    def cell_counts(self, table: str) -> Mapping[str, int]:  # noqa: ARG002
        """Count the cells of each column that are not NULL in the source; for the owner alone."""
        return {}

    def learn_schema(self, schema: Schema) -> None:  # noqa: ARG002
        """Learn whose rows the tables hold; most engines need not know."""
        self._checked = None

    @contextmanager
    def snapshot(self, order: HashOrder, tables: Sequence[str] = ()) -> Iterator[None]:  # noqa: ARG002
        """Keep the tables as they are while the statements of a request run."""
        yield

    def interrupt(self) -> None:
        """Stop the statement that is being run, if one is."""

    def check_unchanged(self, tables: Sequence[str]) -> None:
        """Refuse tables that have changed, before and after they are read."""
        self.identities(tables)

    def look(self, tables: Sequence[str]) -> None:
        """Refuse tables that are seen to have changed, after a failure."""

    def check(self, request: EngineRequest) -> PreparedRequest:
        """Refuse what cannot be printed; keep the statements for the next run."""
        if self._checked is None or self._checked.request is not request:
            self._checked = self.prepare(request)
        return self._checked

    def prepare(
        self, request: EngineRequest, *, portable: bool = False, pretty: bool = False
    ) -> PreparedRequest:
        """Print the statements; they hold nothing but the question and public numbers."""
        given = frozenset(public_tables(request)) if self.registers else frozenset()
        with deep_trees():
            found = statements(request, self.dialect, self.scan, portable=portable, given=given)

        def printed(each: exp.Select) -> str:
            return self.dialect.printed(each, pretty=pretty)

        return PreparedRequest(
            request,
            printed(found.totals),
            {name: printed(each) for name, each in found.distinct.items()},
            {name: printed(each) for name, each in found.leaves.items()},
        )

    def sql(self, request: EngineRequest) -> str:
        """Print all statements of a request for its reader; the salt is not in them."""
        found = self.prepare(request, pretty=True)
        listed = [found.totals, *found.distinct.values(), *found.leaves.values()]
        return ";\n\n".join(each.replace(SALT, "<salt>") for each in listed) + ";"

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Compute the answers."""
        tables = scanned_tables(request.relation)
        with self._lock:
            return run_if_unchanged(
                lambda: self.check_unchanged(tables),
                lambda: run_sanitized(lambda: self._guarded(lambda: self._run(request, order))),
                failed=lambda: self.look(tables),
            )

    def exact(self, statement: str, relations: Mapping[str, Relation]) -> list[tuple[Any, ...]]:
        """Run plain SQL over bound relations by name, for the owner alone: nothing is bounded.

        Tables are read as they are for answers.
        """
        print_ = Relations(self.dialect, self.scan)
        with deep_trees():
            given = {name: print_(relation) for name, relation in relations.items()}
            whole = parse_one(statement)
            listed = [
                exp.CTE(this=each, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
                for name, each in (*print_.tables.items(), *given.items())
            ]
            whole.set("with_", exp.With(expressions=listed))
            printed = self.dialect.printed(whole)
        tables = tuple({name for each in relations.values() for name in scanned_tables(each)})

        def fetch() -> list[tuple[Any, ...]]:
            with self.snapshot(HashOrder(salt=0), tables):
                found = self.fetch(printed, {})
            return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

        with self._lock:
            return run_if_unchanged(
                lambda: self.check_unchanged(tables),
                lambda: run_sanitized(lambda: self._guarded(fetch)),
                failed=lambda: self.look(tables),
            )

    def _guarded(self, action: Callable[[], T]) -> T:
        """Run an action that an interrupt stops."""
        return run_interruptibly(action, self.interrupt)

    def _run(self, request: EngineRequest, order: HashOrder) -> RawTotals:
        checked = self._checked
        if checked is None or checked.request is not request or order.portable:
            checked = self.prepare(request, portable=order.portable)
        public = public_tables(request)
        given = (
            {name: arrow_table(table) for name, table in public.items()} if self.registers else {}
        )

        def fetch(statement: str) -> pa.Table:
            return self.fetch(statement.replace(SALT, str(order.salt)), given)

        with self.snapshot(order, scanned_tables(request.relation)):
            first = fetch(checked.totals)
            distinct = {name: fetch(each) for name, each in checked.distinct.items()}
            leaves = {name: fetch(each) for name, each in checked.leaves.items()}
        for other in distinct.values():
            _check_same_groups(first, other, request)
        totals = {total.name: integers(first, f"t{at}") for at, total in enumerate(request.totals)}
        return RawTotals(
            keys=_keys(first, request),
            units=integers(first, "units"),
            totals={**totals, **{name: integers(each, "t0") for name, each in distinct.items()}},
            leaves={name: sparse_leaves(each) for name, each in leaves.items()},
        )


def arrow_table(table: PublicTable) -> pa.Table:
    """Return a table of public values as Arrow has it."""
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.names)
    return pa.table(
        {
            name: arrow_values(list(values), ARROW_TYPES[kind])
            for name, kind, values in zip(table.names, table.types, columns, strict=True)
        }
    )


def _keys(first: pa.Table, request: EngineRequest) -> tuple[pa.Array, ...]:
    kinds = [ARROW_TYPES[key.type] for key in request.keys]
    if request.listed is not None:
        columns: Sequence[Sequence[object]] = [
            [group[at] for group in request.listed] for at in range(len(kinds))
        ]
        return tuple(
            arrow_values(values, kind) for values, kind in zip(columns, kinds, strict=True)
        )
    found = [first.column(f"k{at}").combine_chunks() for at in range(len(kinds))]
    return tuple(
        each if each.type == kind else each.cast(kind)
        for each, kind in zip(found, kinds, strict=True)
    )


def _check_same_groups(first: pa.Table, second: pa.Table, request: EngineRequest) -> None:
    """Make sure that two statements saw the same rows."""
    keys = [] if request.listed is not None else [f"k{at}" for at in range(len(request.keys))]
    if first.num_rows != second.num_rows or not first.select(keys).equals(second.select(keys)):
        message = "the data changed between two statements"
        raise RuntimeError(message)
