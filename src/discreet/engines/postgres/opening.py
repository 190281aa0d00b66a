"""Opening tables on a PostgreSQL server: where they are, and what the catalogue says of them.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.postgres.address import Address, address_of, is_address
from discreet.engines.postgres.catalogue import Described, check_server, described
from discreet.engines.postgres.connecting import begin, connected, opening_error
from discreet.engines.sources.source import unreadable
from discreet.errors import DiscreetError, UnreadableSource, WrongKind
from discreet.query.relations import folded

__all__ = ["addresses_of", "looked_up"]


def addresses_of(tables: Mapping[str, object]) -> dict[str, Address]:
    """Return the addresses among some sources, by the folded names of their tables.

    >>> addresses_of({"Visits": "postgresql://db.example/clinic/visits", "wards": "wards.csv"})
    {'visits': Address(postgresql://db.example/clinic/visits)}
    """
    found = {
        folded(table): _table_address(source)
        for table, source in tables.items()
        if is_address(source)
    }
    if len({address.server for address in found.values()}) != 1:
        raise WrongKind(
            what="the tables are on several servers, or in several databases.",
            why="a question reads all of its tables as they are at one moment.",
            do="open tables of one database, with one role and the same options in all addresses.",
        )
    return found


def looked_up(addresses: Mapping[str, Address]) -> dict[str, Described]:
    """Return what the catalogue says of some tables of one database."""
    first = next(iter(addresses.values()))
    found: dict[str, Described] | UnreadableSource
    try:
        connection = connected(first)
    except DiscreetError:
        raise
    except Exception as error:  # noqa: BLE001 (what the driver says may hold a password)
        found = opening_error(error, first)
    else:
        try:
            begin(connection)
            check_server(connection)
            found = {table: described(connection, each) for table, each in addresses.items()}
        except DiscreetError:
            raise
        except Exception:  # noqa: BLE001 (as above)
            found = unreadable(
                f"the catalogue of {first} cannot be read.",
                do="check that the server runs; its log says more.",
            )
        finally:
            connection.close()
    if isinstance(found, UnreadableSource):  # raised here, where no other error is in sight
        raise found
    return found


def _table_address(source: object) -> Address:
    address = source if isinstance(source, Address) else address_of(str(source))
    if address.table is None:
        raise WrongKind(
            what=f"{address} names a database and no table.",
            why="a table is opened by the address of the table.",
            do="give '.../database/table', or tables=['visits'] beside the address.",
        )
    return address
