"""A first look at a table, before there is a policy: its columns, and how its cells can be read.

Trust: kernel.  Columns and their stored types are no rows.  How many cells can be read as a type is
an exact number about the rows, without noise: it is counted for the owner alone, who asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.engines.dispatch import engine_for
from discreet.engines.engine import Columns, Engine
from discreet.errors import WrongKind
from discreet.query.expressions import Call, Column
from discreet.query.relations import folded
from discreet.query.types import Type
from discreet.requests.csv_format import CsvFormat
from discreet.requests.table_schema import ColumnFacts, Schema, StoredColumn, TableFacts
from discreet.session.opening_arguments import declared_sources, named_sources
from discreet.session.owner_check.check_report import WARNING, percent
from discreet.session.owner_check.exact_counts import ExactCounter

_TRIED: Final = (Type.INTEGER, Type.FLOAT, Type.DATE, Type.TIMESTAMP, Type.BOOLEAN)
"""The types that cells are tried as; the first that fits is proposed."""

_FEW: Final = Fraction(1, 20)
"""A type is proposed if not more cells than this are something else."""

Shares = Mapping[str, Mapping[Type, Fraction]]
"""The share of the cells of each column that cannot be read as a type."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLook:
    """One table, as it is found.

    ``shares`` are those of the cells of CSV files, and empty unless the owner looks at the rows.

    >>> FirstLook(table="visits", columns={"ward": Type.TEXT}, stored={}).proposed("ward") is None
    True
    """

    table: str
    columns: Columns
    stored: Mapping[str, StoredColumn]
    shares: Shares | None = None
    csv: CsvFormat | None = None

    def is_cell(self, column: str) -> bool:
        """Say whether a column can be read as any type, because a CSV file holds it."""
        return column in self.stored and self.stored[column].cells is not None

    def proposed(self, column: str) -> Type | None:
        """Return the type that the values of a column have; None if nobody looked at them."""
        shares = None if self.shares is None else self.shares.get(column)
        if not shares:
            return None
        best = min(_TRIED, key=lambda kind: shares[kind])  # the first of several
        return best if shares[best] <= _FEW else Type.TEXT

    def unreadable(self, types: Mapping[str, Type]) -> dict[str, Fraction]:
        """Return the share of cells of each column that cannot be read as the type it is given."""
        return {
            name: shares[types[name]]
            for name, shares in (self.shares or {}).items()
            if name in types and types[name] in shares
        }

    def lines(self, types: Mapping[str, Type]) -> Iterator[str]:
        """Say the same in words, with a warning; nothing if nobody looked at the rows."""
        if self.shares is not None:
            yield WARNING
        for name, share in self.unreadable(types).items():
            kind = types[name].value.lower()
            yield f"  {name}: {percent(share)} of cells cannot be read as {kind}"


def first_look(
    source: object,
    *,
    tables: str | Sequence[str] | None = None,
    csv: CsvFormat | None = None,
    owner: bool = False,
) -> FirstLook:
    """Look at one table; with ``owner`` also at its rows, which is NOT private.

    Args:
        source: what ``discreet.open`` takes.
        tables: the name of the table.
        csv: how its files are written, if that is not as usual.
        owner: whether cells of CSV files are counted that cannot be read as each of our types.

    >>> import pyarrow as pa
    >>> first_look(pa.table({"age": [34, 71]}), tables="people").columns
    {'age': INTEGER}
    """
    named = named_sources(source, tables, [])
    (table, *others) = named
    if others:
        raise WrongKind(
            what="several tables are named.",
            why="the questions are about one table.",
            do="name one, and add others to the policy by hand.",
        )
    engine = engine_for(declared_sources(named, [TableFacts(name=table, columns=(), csv=csv)]))
    try:
        look = FirstLook(
            table=table,
            columns=engine.tables()[table],
            stored=engine.stored().get(table, {}),
            csv=csv,
        )
        return replace(look, shares=_shares(engine, look)) if owner else look
    finally:
        engine.close()


def _shares(engine: Engine, look: FirstLook) -> Shares:
    names = [name for name in look.columns if look.is_cell(name)]
    shares: dict[str, dict[Type, Fraction]] = {name: {} for name in names}
    for kind in _TRIED if names else ():
        facts = tuple(ColumnFacts(name=name, type=kind) for name in names)
        table = TableFacts(name=look.table, columns=facts)
        counter = ExactCounter(engine, Schema([table]))
        rows, null = counter.rows(
            table, {name: [Call("IS NULL", (Column(name),))] for name in names}
        )
        for name, there in counter.cells(table).items():
            own = next(column for column in names if folded(column) == name)
            shares[own][kind] = Fraction(there - (rows - null[own][0]), there or 1)
    return shares
