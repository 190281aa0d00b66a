"""How many cells the columns of a PostgreSQL table hold, for the owner's check.

Trust: kernel.  The counts have no noise.
"""

from __future__ import annotations

from discreet.engines.postgres.address import Address
from discreet.engines.postgres.catalogue import Described
from discreet.engines.postgres.connecting import asked, begin, connected
from discreet.engines.sql.words import name

__all__ = ["cell_counts"]


def cell_counts(address: Address, known: Described) -> dict[str, int]:
    """Count the cells that are not NULL of each column that can be read."""
    names = [column for column, kind in known.types.items() if kind is not None]
    counts = ", ".join(f'count("t".{name(column)})' for column in names)
    statement = f'SELECT {counts} FROM {address.sql} AS "t"'  # noqa: S608 (quoted names)
    with connected(address) as connection:
        begin(connection)
        found = asked(connection, statement)
    return dict(zip(names, map(int, found[0]), strict=True))
