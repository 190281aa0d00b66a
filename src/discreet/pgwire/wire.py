"""Messages of PostgreSQL's protocol, version 3: how they are framed, and what a server sends.

Trust: public.  A message is a letter, a length and a body; one that is too long or comes too slowly
ends the connection before it is read (T1).
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, final

from discreet.documents import ProblemDocument
from discreet.errors import DiscreetError, NotServed, OverBudget, TryAgain, UnknownName
from discreet.pgwire.values import ARRAYS, OIDS, SIZES, encoded

MESSAGE_SECONDS: Final = 15.0
WRITE_SECONDS: Final = 30.0
STARTUP_BYTES: Final = 10_000
_CHUNK: Final = 1 << 16
_STATES: Final = {
    "E0": "22023",
    "E3": "53400",
    "E5": "42601",
    "E6": "42501",
}


class Refusal(Exception):
    """What is told of something that is not done; a fatal one ends the connection."""

    def __init__(
        self, state: str, message: str, *, detail: str = "", hint: str = "", fatal: bool = False
    ) -> None:
        """Take the parts of an error in the words of the protocol."""
        super().__init__(message)
        self.state, self.message, self.detail, self.hint = state, message, detail, hint
        self.fatal = fatal

    @classmethod
    def of(cls, error: DiscreetError) -> Refusal:
        """Return a refusal of this package: its reason as DETAIL, what to do as HINT.

        >>> from discreet.errors import WrongKind
        >>> Refusal.of(WrongKind(what="a.", why="b.", do="c.")).hint
        'c.'
        """
        hint = error.do
        if isinstance(error, OverBudget):
            for way in ProblemDocument.of(error).ways_out:
                hint += f"\n{way.change}"
                if set(way.body or {}) == {"epsilon"}:
                    hint += f": SET discreet.epsilon = '{(way.body or {})['epsilon']}'"
        state = _STATES.get((error.code or "")[:2], "58000")
        if isinstance(error, NotServed | UnknownName | TryAgain):
            state = {"E006": "3D000", "E503": "42703"}.get(str(error.code), "58000")
        return cls(state, f"{error.what} [{error.code}]", detail=error.why, hint=hint)


@final
class Wire:
    """One connection: messages that come, within a size and a time, and messages that go."""

    __slots__ = ("_out", "_reader", "_writer", "largest")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take both ends; before the log-in, messages are short."""
        self._reader, self._writer, self.largest = reader, writer, STARTUP_BYTES
        self._out = bytearray()

    @property
    def gone(self) -> bool:
        """Whether the client has gone."""
        return self._reader.at_eof() or self._writer.is_closing()

    @property
    def has_more(self) -> bool:
        """Whether more has come than was read."""
        return bool(self._reader._buffer)  # type: ignore[attr-defined]  # noqa: SLF001

    async def secure(self, context: Any) -> None:
        """Go on over TLS; what was sent before is not taken for a part of that (T8)."""
        if self.has_more:
            raise Refusal("08P01", "there are bytes before TLS.", fatal=True)
        self.send(b"S", framed=False)
        await self.flush()
        await self._writer.start_tls(context, ssl_handshake_timeout=10)

    async def first(self) -> tuple[int, bytes]:
        """Return the code and the body of a startup message."""
        length, code = struct.unpack("!iI", await self._reader.readexactly(8))
        if not 8 <= length <= STARTUP_BYTES:
            raise Refusal("08P01", "the startup message has no valid length.", fatal=True)
        return code, await self._reader.readexactly(length - 8)

    async def message(self, idle: float) -> tuple[bytes, bytes]:
        """Return the letter and the body of the next message."""
        async with asyncio.timeout(idle):
            kind = await self._reader.readexactly(1)
        async with asyncio.timeout(MESSAGE_SECONDS):
            (length,) = struct.unpack("!i", await self._reader.readexactly(4))
            if not 4 <= length <= self.largest:
                raise Refusal(
                    "54000",
                    f"a message has at most {self.largest:,} bytes.",
                    hint="shorten the question.",
                    fatal=True,
                )
            return kind, await self._reader.readexactly(length - 4)

    def send(self, kind: bytes, body: bytes = b"", *, framed: bool = True) -> None:
        """Note a message; it goes with the next flush."""
        self._out += kind + (struct.pack("!i", len(body) + 4) + body if framed else b"")

    async def flush(self, *, all_of_it: bool = True) -> None:
        """Send what was noted, as fast as the client takes it, and no slower than some seconds."""
        if self._out and (all_of_it or len(self._out) > _CHUNK):
            self._writer.write(bytes(self._out))
            self._out.clear()
            async with asyncio.timeout(WRITE_SECONDS):
                await self._writer.drain()

    # --- what a server says -----------------------------------------------------------------------

    def refuse(self, error: Refusal) -> None:
        """Say that something is not done."""
        self._told(b"E", "FATAL" if error.fatal else "ERROR", error)

    def notice(self, level: str, message: str, *, detail: str = "") -> None:
        """Say something beside an answer."""
        self._told(b"N", level, Refusal("00000", message, detail=detail))

    def _told(self, kind: bytes, level: str, told: Refusal) -> None:
        parts = {"S": level, "V": level, "C": told.state, "M": told.message}
        parts |= {"D": told.detail, "H": told.hint}
        body = b"".join(name.encode() + text_z(text) for name, text in parts.items() if text)
        self.send(kind, body + b"\0")

    def ready(self, status: str) -> None:
        """Say that the next statement may come."""
        self.send(b"Z", status.encode())

    def parameter(self, name: str, value: str) -> None:
        """Say how a setting stands."""
        self.send(b"S", text_z(name) + text_z(value))

    def description(self, columns: Sequence[tuple[str, int]], formats: Sequence[int]) -> None:
        """Say which columns rows have."""
        body = struct.pack("!h", len(columns))
        for (name, oid), code in zip(columns, formats, strict=True):
            size = SIZES.get(oid, -1)
            body += text_z(name) + struct.pack("!IhIhih", 0, 0, oid, size, -1, code)
        self.send(b"T", body)

    def row(self, row: Iterable[Any], oids: Sequence[int], formats: Sequence[int]) -> None:
        """Send a row."""
        cells = [struct.pack("!h", len(oids))]
        for value, oid, code in zip(row, oids, formats, strict=True):
            data = encoded(value, oid, binary=code == 1)
            cells.append(struct.pack("!i", -1 if data is None else len(data)) + (data or b""))
        self.send(b"D", b"".join(cells))


def text_z(text: str) -> bytes:
    """Return a text that ends with a zero."""
    return text.replace("\0", "").encode("utf-8", "replace") + b"\0"


@final
class Body:
    r"""The body of a message, read from its start; what is not there is a broken message.

    >>> body = Body(b"ab\0\0\5")
    >>> body.text(), body.short(), body.rest
    ('ab', 5, b'')
    """

    __slots__ = ("rest",)

    def __init__(self, data: bytes) -> None:
        """Take all of it."""
        self.rest = data

    def take(self, size: int) -> bytes:
        """Return some bytes."""
        if not 0 <= size <= len(self.rest):
            raise Refusal("08P01", "a message is shorter than it says.")
        found, self.rest = self.rest[:size], self.rest[size:]
        return found

    def short(self) -> int:
        """Return a number of two bytes, which counts something."""
        return int.from_bytes(self.take(2), "big")

    def long(self) -> int:
        """Return a number of four bytes."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def text(self) -> str:
        """Return a text that ends with a zero."""
        data, end, rest = self.rest.partition(b"\0")
        if not end:
            raise Refusal("08P01", "a text has no end.")
        self.rest = rest
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Refusal("22021", "a text is not UTF-8.") from None

    def shorts(self) -> list[int]:
        """Return a list of numbers of two bytes."""
        return [self.short() for _ in range(self.short())]


def column_oid(kind: str, *, listed: bool) -> int:
    """Return the type of a column of an answer.

    >>> column_oid("float", listed=True)
    1022
    """
    return ARRAYS[OIDS[kind]] if listed else OIDS[kind]
