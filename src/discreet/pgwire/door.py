"""The door for SQL clients: a port at which PostgreSQL's protocol is spoken, with TLS and tokens.

Trust: kernel.  Connections, their time and their memory are bounded (T1), and so is what those may
do who are not known yet.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import ssl
import time
from collections import Counter as Tally
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, final
from weakref import WeakValueDictionary

from discreet.noise import SYSTEM
from discreet.pgwire.catalog import TOO_MUCH, Found, begin_process, look_up
from discreet.pgwire.connection import Connection
from discreet.pgwire.statements import refused_catalog
from discreet.pgwire.wire import Refusal, Wire
from discreet.service.http.calls_within import calls_within
from discreet.service.http.server import listening_socket

if TYPE_CHECKING:  # handed in
    from fastapi import FastAPI

    from discreet.service import Caller, ServiceCounter
    from discreet.service.site import ServerAddress

_CONNECTIONS: Final = 256
_STRANGERS: Final = 64
_STRANGERS_OF_AN_ADDRESS: Final = 16
_OF_A_PERSON: Final = 32
_PROCESSES: Final = 2
_FRESH_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 5.0


def mount(app: FastAPI, counter: ServiceCounter) -> None:
    """Open the port that the site names, as long as an application runs."""
    address = counter.site.sql_clients
    if address is None:
        return
    door = SqlDoor(app, counter, address)
    around = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        async with around(app) as state, door.opened():
            yield state

    app.router.lifespan_context = lifespan
    app.state.sql_port = door.port


@final
class SqlDoor:
    """All SQL clients of a server."""

    def __init__(self, app: FastAPI, counter: ServiceCounter, address: ServerAddress) -> None:
        """Listen at an address; no one gets in before it is opened."""
        self.counter, self._app = counter, app
        self._socket: socket.socket = listening_socket(replace(counter.site, address=address))
        self.port: int = self._socket.getsockname()[1]
        self.tls: ssl.SSLContext | None = None
        if address.certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(address.certificate, address.key)
        self._strangers: Tally[str] = Tally()
        self._tasks: set[asyncio.Task[None]] = set()
        self._known: dict[bytes, Connection] = {}
        self._people: Tally[str] = Tally()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._documents: dict[str, tuple[float, str]] = {}
        self._processes: asyncio.Queue[ProcessPoolExecutor] = asyncio.Queue()
        for _ in range(_PROCESSES):
            self._processes.put_nowait(_process())

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Let clients in; at the end, all are sent away."""
        server = await asyncio.start_server(self._met, sock=self._socket)
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for _ in range(_PROCESSES):
                (await self._processes.get()).shutdown(wait=True, cancel_futures=True)

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  asyncio has made it
        self._tasks.add(task)
        wire, peer = Wire(reader, writer), str((writer.get_extra_info("peername") or ("",))[0])
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
                )
                await self._served(wire, peer)
        finally:
            writer.close()
            with suppress(OSError, TimeoutError):  # one that does not read is not waited for
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await writer.wait_closed()
            writer.transport.abort()
            self._tasks.discard(task)

    async def _served(self, wire: Wire, peer: str) -> None:
        """Serve one client, and say why if it is sent away."""
        connection = Connection(self, wire, peer)
        try:
            if (
                self._strangers[peer] >= _STRANGERS_OF_AN_ADDRESS  # silent ones, say (T1)
                or self._strangers.total() >= _STRANGERS
                or len(self._tasks) > _CONNECTIONS
            ):
                raise Refusal("53300", "there are too many connections.", fatal=True)  # noqa: TRY301
            self._strangers[peer] += 1
            try:
                wanted = await connection.begin()
            finally:
                self._strangers -= Tally([peer])
            if wanted:
                await connection.serve()
        except Refusal as refusal:
            refusal.fatal = True
            wire.refuse(refusal)
        except asyncio.CancelledError:
            wire.refuse(Refusal("57P01", "the server stops.", fatal=True))
        finally:
            self._left(connection)
            await wire.flush()

    # --- for connections --------------------------------------------------------------------------

    def new_key(self) -> bytes:
        """Return the number and the secret by which a connection is canceled."""
        return SYSTEM.bits(64).to_bytes(8, "big")

    def admit(self, connection: Connection) -> None:
        """Count a client that has logged in."""
        if self._people[connection.person] >= _OF_A_PERSON:
            hint = f"one person has at most {_OF_A_PERSON}."
            raise Refusal("53300", "there are too many connections.", hint=hint, fatal=True)
        self._people[connection.person] += 1
        self._known[connection.key] = connection

    def _left(self, connection: Connection) -> None:
        if self._known.pop(connection.key, None) is None:
            return
        self._people[connection.person] -= 1
        if not self._people[connection.person]:
            del self._people[connection.person]

    def cancel(self, key: bytes) -> None:
        """Stop waiting for what a connection waits for, if the key is right."""
        found = self._known.get(key)
        if found is not None:
            found.cancel()

    def check_rate(self, peer: str) -> None:
        """Refuse those who show wrong tokens too often, as the calls of the server are (T1)."""
        if self.counter.rates.wait(f"address {peer}"):
            raise Refusal("53300", "there were too many wrong tokens.", fatal=True)

    def calls(self, token: str, peer: str) -> Callable[..., Awaitable[Any]]:
        """Return calls of the server in the name of a token."""
        headers = {"Authorization": f"Bearer {token}"}
        return calls_within(self._app, headers=headers, peer=(peer, 0), base="http://localhost")

    async def look_up(
        self,
        caller: Caller,
        dataset: str,
        text: str,
        values: Sequence[Any],
        session: Mapping[str, str],
    ) -> Found | None:
        """Answer what is about a catalog alone, one such question of a person at a time."""
        async with self._turns.setdefault(caller.person, asyncio.Lock()):
            document = await asyncio.to_thread(self._document, caller, dataset)
            process, canceled = await self._processes.get(), False
            try:
                work = process.submit(look_up, dataset, document, text, values, session)
                canceled = await _canceled_before(running := asyncio.wrap_future(work))
                found = running.result()
            except BrokenProcessPool:  # it has met a limit
                process, found = _process(), TOO_MUCH
            finally:
                self._processes.put_nowait(process)
        if canceled:
            raise asyncio.CancelledError
        if isinstance(found, str):
            raise refused_catalog(found)
        return found

    def _document(self, caller: Caller, dataset: str) -> str:
        """Return what is public about a dataset, as its data has been for some seconds."""
        kept, now = self._documents.get(dataset), time.monotonic()
        if kept is not None and now < kept[0] + _FRESH_SECONDS:
            return kept[1]
        told = {**self.counter.schema(caller, dataset), "receipt": None}
        found = json.dumps(told)
        self._documents[dataset] = now, found
        return found


async def _canceled_before(work: asyncio.Future[Any]) -> bool:
    """Wait until a process has done its work, and return whether nobody waits any more.

    The process is at work until then, also for a client that has gone (T1).
    """
    canceled = False
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            canceled = True
    return canceled


def _process() -> ProcessPoolExecutor:
    """Start a process for questions about catalogs, so that it is ready when it is first asked."""
    context = multiprocessing.get_context("spawn")
    process = ProcessPoolExecutor(1, mp_context=context, initializer=begin_process)
    process.submit(int)
    return process
