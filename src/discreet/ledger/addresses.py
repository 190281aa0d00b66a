"""Addresses of ledgers: a path, or a PostgreSQL server in one of the two forms of libpq.

Trust: kernel.  An address that is taken for the name of a file makes a second ledger.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_server"]

_SCHEMES: Final = ("postgresql://", "postgres://")
_KEYWORDS: Final = (
    "application_name|channel_binding|client_encoding|connect_timeout|dbname|fallback_application_"
    "name|gssencmode|host|hostaddr|keepalives[a-z_]*|krbsrvname|load_balance_hosts|options|passfile|"
    "password|port|replication|require_auth|service|ssl[a-z_]*|target_session_attrs|"
    "tcp_user_timeout|user"
)
_KEY_VALUE: Final = re.compile(rf"\s*(?:{_KEYWORDS})\s*=", re.ASCII)


def is_server(address: object) -> bool:
    """Whether an address leads to a PostgreSQL server, and is no path.

    >>> is_server("postgresql://db/clinic#flu"), is_server("host=db dbname=clinic#flu")
    (True, True)
    >>> is_server("study.ledger"), is_server("a=b.ledger")
    (False, False)
    """
    return isinstance(address, str) and (
        address.startswith(_SCHEMES) or _KEY_VALUE.match(address) is not None
    )
