"""Public tables: which tables may be public, and reading them without noise.

Trust: kernel (T7).

Questions about public tables alone are answered exactly, and cost nothing.  No other table is read
while a question is planned, because no noise is added.

By the theorem ``unit-local``, a join with a public table does not multiply rows if the columns that
it compares are a key of that table.  The owner declares the key; since the table is public, the
declaration is checked.

A table that the ledger has on record as private stays private: under its name, with any data; and
under any name, as long as its files are unchanged.  Of tables in a DuckDB file only names are
compared, since the state on record is that of the whole file.
In one session no public table shares the source of a private one: a file is identified by device
and inode, under any name, and a frame by object identity.  A copy of a private table that is
declared public cannot be distinguished from a public table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias, final

from discreet.engines.engine import Engine, HashOrder
from discreet.engines.sources.identity import Identity
from discreet.engines.sources.source import Places
from discreet.errors import BadPolicy, NotPerUnit, OtherLedger, UnsupportedSQL
from discreet.ledger.ledger import Ledger
from discreet.query.expression_types import columns
from discreet.query.expressions import Call, Column, conjuncts
from discreet.query.relations import Join, Relation, Scan, SemiJoin, descend, folded
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, KeyValue
from discreet.requests.raw_totals import RawTotals
from discreet.requests.table_schema import Schema, TableFacts
from discreet.requests.text_limits import is_of_pairs


def check_sources_apart(
    schema: Schema, identities: Mapping[str, Identity], sources: Mapping[str, object]
) -> None:
    """Refuse a public table that is read from what a private one is read from.

    ``identities`` are by folded name, and ``sources`` are what was given to be opened.
    """
    given = {folded(name): source for name, source in sources.items()}

    def places(table: TableFacts) -> Places:
        name = folded(table.name)
        return identities[name].places or frozenset({(id(given[name]),)})

    private = [(table, places(table)) for table in schema.tables if not table.public]
    for table in schema.tables:
        read = places(table) if table.public else frozenset()
        for other, theirs in private:
            if not read.isdisjoint(theirs):
                raise BadPolicy(
                    what=f"table {table.name} is declared public, and is read from the same data "
                    f"as {other.name}, which is private.",
                    why="whatever is public is read exactly, for nothing, and so would be the rows "
                    "of the people whom the other table protects.",
                    do="remove public = true, or open other data for one of them.",
                )


def check_stays_private(ledger: Ledger, schema: Schema, identities: Mapping[str, Identity]) -> None:
    """Refuse a public table that a ledger has on record as a table of people."""
    public = [table for table in schema.tables if table.public]
    if not public:
        return
    promised = {content["table"] for content in ledger.descriptions("schema")}
    states = {
        (content["kind"], content["state"]): content["table"]
        for content in ledger.descriptions("source")
        if content["table"] in promised and content["kind"] != "duckdb"
    }
    for table in public:
        identity = identities[folded(table.name)]
        before = states.get((identity.kind, identity.state or ""))
        if folded(table.name) in promised:
            before = folded(table.name)
        if before is not None:
            raise OtherLedger(
                what=f"table {table.name} is declared public, and is on record in this ledger as "
                f"{before}, a table of people.",
                why="they were promised protection under this ledger; what is public is read "
                "exactly, for nothing.",
                do="remove public = true; or, if this is other data, open it under another name, "
                "or with another ledger.",
            )


Rows: TypeAlias = Sequence[tuple[KeyValue, ...]]

_MOST_PUBLIC_ROWS: Final = 10**8
"""How many rows a join of public tables may have while a question is planned."""


@final
class PublicTableReader:
    """Reads the distinct rows of relations over public tables alone."""

    __slots__ = ("_engine", "_keys", "_public")

    def __init__(self, engine: Engine, schema: Schema) -> None:
        """Take the engine, and which tables are public."""
        self._engine = engine
        self._public = {folded(table.name) for table in schema.tables if table.public}
        self._keys = {folded(table.name): table.key for table in schema.tables}

    def __call__(self, relation: Relation) -> Rows:
        """Return the distinct rows, sorted."""
        scans = (node for node in descend(relation) if isinstance(node, Scan))
        if not all(folded(scan.table) in self._public for scan in scans):
            raise NotPerUnit(
                what="a private table is used where only public ones may.",
                why="its rows would be shown without noise.",
                do="list groups from public tables alone.",
            )
        if self._most_rows(relation) > _MOST_PUBLIC_ROWS:
            raise UnsupportedSQL(
                what="public tables are joined to more rows, or pairs, than planning reads.",
                why=f"the product of their sizes is above {_MOST_PUBLIC_ROWS:,}; plans are free.",
                do="join fewer of them, or by columns that the policy declares as their keys.",
            )
        raw = self.counted(relation)
        return list(zip(*(column.to_pylist() for column in raw.keys), strict=True))

    def _most_rows(self, relation: Relation) -> int:
        """Bound the rows of a relation by the sizes of its tables (T1); one table is not bounded.

        A join by the key of its right side adds no row; any other may lead to the product.  So may
        a semi join compare each pair, unless all that it compares by is equal values.
        """
        if not any(isinstance(node, Join | SemiJoin) for node in descend(relation)):
            return 0
        return self._bound(relation)

    def _bound(self, relation: Relation) -> int:
        match relation:
            case Scan():
                first = Scan(relation.table, relation.columns[:1])
                return max(1, int(sum(self.counted(first).units)))
            case Join():
                left, right = self._bound(relation.left), self._bound(relation.right)
                return left + right if self._by_key(relation) else left * right
            case SemiJoin():
                left, right = self._bound(relation.left), self._bound(relation.right)
                sides = [dict(columns(side)) for side in relation.children()]
                of_pairs = any(is_of_pairs(part, *sides) for part in conjuncts(relation.on))
                return left * right if of_pairs and not self._by_key(relation) else left + right
            case _:
                return sum(map(self._bound, relation.children())) or 1

    def _by_key(self, join: Join | SemiJoin) -> bool:
        """Say whether each row on the left meets at most one on the right."""
        if not isinstance(join.right, Scan) or join.on is None:
            return False
        key = {folded(name) for name in self._keys.get(folded(join.right.table), ())}
        met = {
            folded(part.name)
            for each in conjuncts(join.on)
            if isinstance(each, Call) and each.function == "="
            for part in each.arguments
            if isinstance(part, Column)
        }
        return bool(key) and key <= met

    def counted(self, relation: Relation) -> RawTotals:
        """Count how often each row occurs."""
        keys = tuple(KeyColumn(name, Column(name), kind) for name, kind in columns(relation))
        lowered = EngineRequest(relation=relation, unit=(), keys=keys, groups=None, measures=())
        return self._engine.run(lowered, order=HashOrder(salt=0))


def check_keys(engine: Engine, schema: Schema) -> None:
    """Refuse public tables with duplicate values of their declared key."""
    reader = PublicTableReader(engine, schema)
    for table in schema.tables:
        if table.public and table.key:
            raw = reader.counted(_scan(table))
            whole = [
                None not in row for row in zip(*(c.to_pylist() for c in raw.keys), strict=True)
            ]
            if any(count > 1 and known for count, known in zip(raw.units, whole, strict=True)):
                raise BadPolicy(
                    what=f"table {table.name}: two of its rows agree on its key.",
                    why="a join with it could multiply the rows of a person.",
                    do="declare columns that distinguish all rows, or mend the table.",
                )


def _scan(table: TableFacts) -> Scan:
    columns_of_key = [column for name in table.key if (column := table.column(name)) is not None]
    if any(column.type is Type.FLOAT for column in columns_of_key):
        raise BadPolicy(
            what=f"table {table.name}: a column of its key is a float.",
            why="nearly equal numbers do not distinguish rows.",
            do="declare whole numbers or texts as the key.",
        )
    return Scan(table.name, tuple((column.name, column.type) for column in columns_of_key))
