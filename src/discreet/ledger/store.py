"""Addresses of ledgers, and the stores that they lead to.

Trust: kernel.  An address mistaken for a file name makes a second ledger.

An address is a path, or a PostgreSQL server in one of the two forms of libpq.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from discreet.errors import LedgerUnavailable, WrongKind
from discreet.ledger.sqlite import SQLiteStore
from discreet.ledger.table import EntryTable

_SCHEMES: Final = ("postgresql://", "postgres://")
_KEY_VALUE: Final = re.compile(
    r"\s*(?:application_name|connect_timeout|dbname|host|hostaddr|options|passfile|password|port"
    r"|service|ssl[a-z_]*|target_session_attrs|user)\s*=",
    re.ASCII,
)

LedgerAddress = str | os.PathLike[str]
"""A path; or ``postgresql://...`` or ``host=... dbname=...``, with a schema after ``#``."""


def is_server(address: object) -> bool:
    """Return whether an address leads to a PostgreSQL server, and is not a path.

    >>> is_server("postgresql://db/clinic#flu"), is_server("host=db dbname=clinic#flu")
    (True, True)
    >>> is_server("study.ledger"), is_server("a=b.ledger")
    (False, False)
    """
    return isinstance(address, str) and (
        address.startswith(_SCHEMES) or _KEY_VALUE.match(address) is not None
    )


def resolve_address(address: object) -> str:
    """Return an address that means the same from now on; refuse anything else.

    A path depends on the working directory and on links, so it is resolved now.
    """
    if isinstance(address, str) and is_server(address):
        return address
    path = os.fspath(address) if isinstance(address, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise WrongKind(
            what=f"the address of a ledger is a {type(address).__name__}, empty, or no path.",
            why="it says where the record of all charges lies.",
            do="give a path such as 'study.ledger', or 'postgresql://host/database#name'.",
        )
    return str(Path(path).resolve())


def store_for(address: object, *, timeout: float) -> EntryTable:
    """Return the unopened store of an address; it waits ``timeout`` seconds for other writers."""
    place = resolve_address(address)
    if not is_server(place):
        return SQLiteStore(place, timeout=timeout)
    try:
        from discreet.ledger.postgres import PostgresStore  # noqa: PLC0415  an optional engine
    except ImportError:
        raise LedgerUnavailable(
            what="the address is that of a PostgreSQL server, and its driver is not installed.",
            why="without the driver the ledger can neither be read nor written.",
            do="install discreet with its extra: pip install 'discreet[postgres]'.",
        ) from None
    return PostgresStore(place, timeout=timeout)
