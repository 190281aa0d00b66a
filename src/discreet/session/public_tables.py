"""Which tables may be public: none for which people were promised protection.

Trust: kernel (T7).

Questions about public tables alone are answered exactly, and cost nothing.

A ledger that has a table on record as one of people keeps it so: under its name, whatever data it
has now; and under any name, as long as its files are as they were.  Of tables in a DuckDB file only
names are compared, since the state on record is that of the whole file.
In one session no public table is read from what a private one is read from: a file is known by
device and inode, whatever it is called, and a frame by being the same object.  A copy of a private
table that somebody declares public cannot be told from a table that is public.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.sources.identity import Identity
from discreet.engines.sources.source import Places
from discreet.errors import BadPolicy, OtherLedger
from discreet.ledger.ledger import Ledger
from discreet.query.relations import folded
from discreet.requests.table_schema import Schema, TableFacts


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
