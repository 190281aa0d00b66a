"""A ledger whose writer is another process: requests go there, and looking is done here.

Trust: kernel.

What changes the ledger is sent to the process that writes (:mod:`.writer_socket`), which decides
and makes it durable before it answers; the way there is :mod:`.writer_channel`.  Looking needs no
lock: a state of our own follows the entries that are stored, all of which are durable.  It may be
behind, so what it says of a budget is a preview; only the writer decides.
"""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Final, TypeVar, cast, final

from discreet.ledger import Ledger
from discreet.ledger.connection import LedgerConnection, LedgerRequest
from discreet.ledger.opening_terms import OpeningTerms, checked_timeout
from discreet.ledger.shared.messages import read_result, request_message
from discreet.ledger.shared.writer_channel import WriterChannel
from discreet.ledger.stores.store import LedgerAddress, LedgerStore, resolve_address, store_for

_TIMEOUT: Final = 60.0

Result = TypeVar("Result")


@final
class RemoteWriter(LedgerConnection):
    """The connection of this process to the writer, and its own view of the entries."""

    def __init__(self, store: LedgerStore, channel: WriterChannel, *, timeout: float) -> None:
        """Take a store and a channel, and open both; or neither, if anything goes wrong."""
        self._channel = channel
        super().__init__(store, OpeningTerms(), timeout=timeout)
        try:
            channel.open(self.opening.ledger)
        except BaseException:
            self.close()
            raise

    def call(self, request: LedgerRequest[Result]) -> Result:
        """Have a request served: by the writer if it changes anything, or else here."""
        message = request_message(request)
        if message is None:
            return super().call(request)
        self.check_process()
        return cast("Result", read_result(self._channel.ask(message)))

    def close(self) -> None:
        """Let go of the socket and the store; closing twice does nothing."""
        self._channel.close()
        super().close()

    def _keep(self) -> None:
        """Leave checkpoints to the writer."""


def shared_ledger(
    address: LedgerAddress, writer: Path, *, name: str = "", timeout: float = _TIMEOUT
) -> Ledger:
    """Open a ledger whose writer is the process behind a socket.

    Args:
        address: the ledger, which exists already; it is only read here.
        writer: the path of the socket.
        name: how the writer calls this process.
        timeout: how many seconds a call may wait.
    """
    wait = checked_timeout(timeout)
    place = resolve_address(address)
    channel = WriterChannel(writer, name=name, timeout=wait)
    link = RemoteWriter(store_for(place, timeout=wait), channel, timeout=wait)
    ledger = object.__new__(Ledger)
    weakref.finalize(ledger, link.close)
    ledger._place, ledger._link = place, link
    return ledger
