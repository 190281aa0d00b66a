"""Running a server: one process, which ends gracefully when it is told to.

Trust: kernel.

A client that sends its first headers too slowly is cut off, as one that sends its body too slowly
is (:mod:`discreet.service.http.guard`).  At a signal no new call is accepted, running questions get
some time to end, and whatever does not is completed by asking again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final, TextIO

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import LedgerUnavailable
from discreet.service.counter import ServiceCounter
from discreet.service.http.app import Mount, create_app
from discreet.service.site import Site

_HEADER_SECONDS: Final = 10.0
_GRACE_SECONDS: Final = 20
_BACKLOG: Final = 512
_CONNECTIONS: Final = 2048


class PatientProtocol(H11Protocol):
    """HTTP, with an end to the patience with those who do not finish their headers."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        loop = asyncio.get_running_loop()
        self._impatient = loop.call_later(_HEADER_SECONDS, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._impatient.cancel()
        super().connection_lost(exc)

    def _cut_off(self) -> None:
        """Close a connection that has not brought one whole request by now."""
        begun: object = self.cycle
        if begun is None and not self.transport.is_closing():
            self.transport.close()


def _tell_nobody(url: str, secret: str | None) -> None:
    """Keep it to ourselves."""


def run_server(
    site: Site,
    *,
    mount: Mount | None = None,
    ready: Callable[[str, str | None], None] = _tell_nobody,
    log: TextIO | None = None,
) -> None:
    """Serve a site until a signal comes.

    Args:
        site: what is served.
        mount: adds pages.
        ready: hears the address, and the secret of the first one-time link if there is one.
        log: where a line for each call goes; nowhere unless given.
    """
    listening = listening_socket(site)
    counter = ServiceCounter(site)
    try:
        app = create_app(counter, mount=mount, log=log)
        address = site.address
        config = uvicorn_config(app, site)
        port = listening.getsockname()[1]
        url = (
            address.url.replace(f":{address.port}", f":{port}") if not address.port else address.url
        )
        ready(url, counter.first_owner())
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
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
    except OSError:
        listening.close()
        raise LedgerUnavailable(
            what=f"nothing can listen on {site.address.host}, port {site.address.port}.",
            why="another server has the port, or the address is not of this machine.",
            do="name another port, or stop the other server.",
        ) from None
    listening.listen(_BACKLOG)
    return listening
