"""SQL clients: PostgreSQL's protocol, so that what connects to a database connects here.

Trust: kernel.  A question is one of the service, with the token of a person as the password; what
clients look up before they ask is answered from what is public about tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used: a server is an extra
    from discreet.pgwire.door import SqlDoor, mount

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
