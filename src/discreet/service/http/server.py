"""Running a server: one process, with a graceful shutdown.

Trust: kernel.

A client that sends its first headers too slowly is cut off, as one that sends its body too slowly
is (:mod:`discreet.service.http.guard`).  At a signal no new call is accepted, running questions get
some time to end, and unfinished ones are completed by asking again.  Then workers, sockets and
ledgers are closed, and the process ends with 0; a second signal ends it at once.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TextIO, final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet import service
from discreet.errors import LedgerUnavailable
from discreet.service.site import Site, check_tls

if TYPE_CHECKING:  # handed in
    from fastapi import FastAPI

    from discreet.service.http.app import Mount

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Make signals end the block as if it were done, so that it closes its resources.

    Uvicorn stops at a signal and then raises it again, which by itself would end the process on the
    spot.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, _stop) for each in _SIGNALS}
    try:
        yield
    except _StoppedBySignal:
        pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class _StoppedBySignal(BaseException):
    """A signal has come; nothing on the way takes it for an error."""


def _stop(*_: object) -> None:
    raise _StoppedBySignal


def let_signals_end_it() -> None:
    """Make the next signal end the process: the operator does not want to wait any longer."""
    if threading.current_thread() is threading.main_thread():
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)


_HEADER_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 20
_BACKLOG: Final = 512
_CONNECTIONS: Final = 2048


class PatientProtocol(H11Protocol):
    """HTTP, with an end to the patience with requests that are begun and not finished (T1).

    The headers of a request come within some seconds of its first byte, also those of further
    requests on a connection that is kept, and so does the rest of a request that was answered;
    uvicorn has no limit for that.
    """

    _impatient: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Take some of a request; wait for the rest of it, or no more if it is there."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the rest of a request that was answered, or of the next one."""
        super().on_response_complete()
        if self.conn.their_state is not h11.IDLE or self.conn.trailing_data[0]:
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _look(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.is_closing():
            self._stop_waiting()
        elif self._impatient is None:
            self._impatient = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._impatient is not None:
            self._impatient.cancel()
            self._impatient = None


@final
class ToldServer(uvicorn.Server):
    """A server that says so once it answers."""

    def __init__(self, config: uvicorn.Config, *, started: Callable[[], None]) -> None:
        """Take whom to tell."""
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        if self.started:
            self._tell()


def _tell_nobody(url: str, passwords: bool) -> None:  # noqa: FBT001  of a callback
    """Keep it to ourselves."""


def run_server(
    site: Site,
    *,
    mount: Mount | None = None,
    ready: Callable[[str, bool], None] = _tell_nobody,
    log: TextIO | None = None,
) -> None:
    """Serve a site until a signal comes.

    Args:
        site: the site to serve.
        mount: adds pages.
        ready: is called with the address once it answers, and whether any password is set.
        log: receives a line for each call; no log unless given.
    """
    check_tls(site.address)
    if site.sql_clients is not None:
        check_tls(site.sql_clients)
    with stopped_by_signals(), listening_socket(site) as listening:
        counter = service.ServiceCounter(site)
        try:
            app = service.create_app(counter, mount=mount, log=log)
            address, port = site.address, listening.getsockname()[1]
            url = replace(address, port=port).url
            known = bool(counter.directory.passwords.names)
            server = ToldServer(uvicorn_config(app, site), started=lambda: ready(url, known))
            server.run(sockets=[listening])
        finally:
            let_signals_end_it()
            counter.close(wait=_GRACE_SECONDS)


def uvicorn_config(app: FastAPI, site: Site) -> uvicorn.Config:
    """Return how uvicorn serves an application: without logs and headers of its own."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        http=PatientProtocol,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        limit_concurrency=_CONNECTIONS,
        ssl_certfile=site.address.certificate,
        ssl_keyfile=site.address.key,
        proxy_headers=False,
    )


def listening_socket(site: Site) -> socket.socket:
    """Return a socket that listens at the address of a site."""
    family = socket.AF_INET6 if ":" in site.address.host else socket.AF_INET
    # with its protocol named, asyncio sends small packets at once, and not 40 ms later
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((site.address.host, site.address.port))
    except (OSError, TypeError):  # the second is of a name that cannot be encoded
        listening.close()
        raise LedgerUnavailable(
            what=f"nothing can listen on {site.address.host}, port {site.address.port}.",
            why="another server has the port, or the address is not of this machine.",
            do="name another port, or stop the other server.",
        ) from None
    listening.listen(_BACKLOG)
    return listening
