"""One client of PostgreSQL's protocol, from its log-in to its end.

Trust: kernel.  A client is known by a token of the server, which is looked up again for every
statement, so that one that was revoked ends here too (T8).  A question is a call of the service in
the name of that token: what it may do, when it is answered and what it costs is decided there.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from discreet import __version__
from discreet.documents import BudgetDocument, PlanDocument, ReleaseDocument
from discreet.errors import DiscreetError, NotAllowed, WrongKind
from discreet.pgwire.statements import (
    VERSION,
    Settings,
    Statement,
    confirmation,
    pairs_of_options,
    refused_statement,
    statements,
)
from discreet.pgwire.values import decoded
from discreet.pgwire.wire import Body, Refusal, Wire, column_oid, text_z
from discreet.service import Caller, Permission

if TYPE_CHECKING:  # its owner
    from discreet.pgwire.door import SqlDoor

_STARTUP_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 3600.0
_LOOK_SECONDS: Final = 0.5
_MOST_STATEMENTS: Final = 256
_MOST_PORTALS: Final = 16
_MOST_LETTERS: Final = 1 << 22
_SSL, _GSS, _CANCEL, _V3 = 80877103, 80877104, 80877102, 196608
_TOLD: Final = (
    *("server_version", "server_encoding", "client_encoding", "DateStyle", "TimeZone"),
    *("IntervalStyle", "integer_datetimes", "standard_conforming_strings", "is_superuser"),
    *("in_hot_standby", "default_transaction_read_only", "application_name"),
)
_DUMMIES: Final[Mapping[int, Any]] = {
    **dict.fromkeys((20, 21, 23, 26), 1),
    **dict.fromkeys((700, 701, 1700), 1.0),
    16: True,
    1082: date(2000, 1, 1),
    1114: datetime(2000, 1, 1),  # noqa: DTZ001  without a time zone
}


@final
@dataclass(slots=True)
class Result:
    """What a statement returns: columns and rows, if it has any, and words that confirm it."""

    tag: str
    columns: list[tuple[str, int]] | None = None
    rows: Sequence[Sequence[Any]] = ()
    notices: list[tuple[str, str, str]] = field(default_factory=list)


@final
@dataclass(slots=True)
class Prepared:
    """A statement that was sent ahead, and the types of its parameters."""

    statement: Statement | None
    oids: list[int]


@final
@dataclass(slots=True)
class Portal:
    """A statement with its values, and its result once there is one."""

    prepared: Prepared
    values: list[Any]
    formats: list[int]
    result: Result | None = None
    rows: Iterator[Sequence[Any]] | None = None


@final
class Connection:
    """One client."""

    def __init__(self, door: SqlDoor, wire: Wire, peer: str) -> None:
        """Take the door that it came through."""
        self._door, self._wire, self._peer = door, wire, peer
        self._settings, self._status = Settings(), "I"
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
        self._described: str | None = None
        self._work: asyncio.Task[Any] | None = None
        self._token = self._database = self._receipt = ""
        self._caller: Caller | None = None
        self.key = door.new_key()

    # --- log-in -----------------------------------------------------------------------------------

    async def begin(self) -> bool:
        """Let a client in, and return whether it is to be served."""
        async with asyncio.timeout(_STARTUP_SECONDS):
            named = await self._named()
            if named is None:
                return False
            user, database = named.get("user", ""), named.get("database") or named.get("user", "")
            self._wire.send(b"R", (3).to_bytes(4, "big"))
            await self._wire.flush()
            kind, body = await self._wire.message(_STARTUP_SECONDS)
            if kind != b"p":
                raise Refusal("08P01", "a password was expected.", fatal=True)
            self._token = Body(body).text()
        self._caller = caller = self._known(user)
        datasets = self._door.counter.datasets(caller)
        if database not in datasets:
            hint = f"connect to one of: {', '.join(datasets) or 'none'}."
            raise Refusal("3D000", f'there is no dataset "{database[:60]}".', hint=hint, fatal=True)
        self._database = database
        self._welcome(named)
        return True

    async def _named(self) -> dict[str, str] | None:
        """Return what a client names when it connects; None for one that only cancels."""
        secure = False
        for _ in range(4):
            code, body = await self._wire.first()
            if code == _SSL and self._door.tls is not None and not secure:
                await self._wire.secure(self._door.tls)
                secure = True
            elif code in {_SSL, _GSS}:
                self._wire.send(b"N", framed=False)
                await self._wire.flush()
            elif code == _CANCEL:
                self._door.cancel(body)
                return None
            elif code >> 16 != _V3 >> 16:
                raise Refusal("0A000", "only version 3 of the protocol is spoken.", fatal=True)
            elif self._door.tls is not None and not secure:
                hint = "connect with sslmode=require."
                raise Refusal("28000", "tokens are taken over TLS alone.", hint=hint, fatal=True)
            else:
                words = [part.decode("utf-8", "replace") for part in body.split(b"\0")]
                named = dict(zip(words[::2], words[1::2], strict=False))
                if code != _V3:  # minor versions of the client's own
                    more = [name for name in named if name.startswith("_pq_.")]
                    told = b"".join(map(text_z, more))
                    counted = _V3.to_bytes(4, "big") + len(more).to_bytes(4, "big")
                    self._wire.send(b"v", counted + told)
                return named
        raise Refusal("08P01", "there are too many startup messages.", fatal=True)

    def _known(self, user: str) -> Caller:
        """Return who holds the token; it is the person that the client says it is."""
        found = self._door.counter.tokens.find(self._token)
        if found is None or not hmac.compare_digest(found.person.encode(), user.encode()):
            self._door.check_rate(self._peer)
            raise Refusal(
                "28P01",
                "the token is unknown, ended or revoked, or of another user.",
                hint="connect as the person whose token it is; the password is the token.",
                fatal=True,
            )
        return found

    def _welcome(self, named: Mapping[str, str]) -> None:
        self._door.admit(self)
        options = dict(pairs_of_options(named.get("options", "")))
        for name, value in {**named, **options}.items():
            if name not in {"user", "database", "options", "replication"}:
                try:
                    self._settings.put(name, value)
                except DiscreetError as error:
                    refusal = Refusal.of(error)
                    refusal.fatal = True
                    raise refusal from None
        self._wire.largest = self._door.counter.site.limits.body_bytes
        self._wire.send(b"R", bytes(4))
        for name in _TOLD:
            self._wire.parameter(name, self._settings.value(name) or "")
        self._wire.parameter("session_authorization", self.person)
        self._wire.send(b"K", self.key)
        self._wire.ready(self._status)

    @property
    def person(self) -> str:
        """Who is served."""
        return "" if self._caller is None else self._caller.person

    # --- messages ---------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Answer messages until the client goes."""
        skipping = False
        await self._wire.flush()
        while True:
            kind, data = await self._wire.message(_IDLE_SECONDS)
            await asyncio.sleep(0)  # others have their turn, however much has come at once (T1)
            if kind == b"X":
                return
            skipping = skipping and kind not in b"QS"
            if not skipping:
                try:
                    await self._handled(kind, data)
                except (Refusal, DiscreetError) as error:
                    self._failed(error if isinstance(error, Refusal) else Refusal.of(error))
                    skipping = kind not in b"QS"
            if kind in b"QS":
                self._wire.ready(self._status)
            if kind in b"QSH" or skipping:
                await self._wire.flush()

    async def _handled(self, kind: bytes, data: bytes) -> None:
        if self._described is not None and kind != b"E":
            await self._describe_by_plan()
        handlers: dict[bytes, Callable[[Body], Awaitable[None]]] = {
            b"Q": self._simple,
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
        }
        if kind in handlers:
            await handlers[kind](Body(data))
        elif kind == b"S":
            self._ended()
        elif kind not in b"Hdcf":  # the last three are the rest of a COPY that was refused
            raise Refusal("08P01", "there is no such message.", fatal=kind == b"p")

    def _failed(self, refusal: Refusal) -> None:
        if refusal.fatal:
            raise refusal
        self._described = None
        self._status = "I" if self._status == "I" else "E"
        self._wire.refuse(refusal)

    def _ended(self) -> None:
        self._described = None
        if self._status == "I":  # portals end with their transaction
            self._portals.clear()

    async def _simple(self, body: Body) -> None:
        found = statements(body.text(), self._database)
        if not found:
            self._wire.send(b"I")
        self._portals.pop("", None)
        for statement in found:
            result = await self._done(statement, [])
            if result.columns is not None:
                self._wire.description(result.columns, [0] * len(result.columns))
            await self._rows(result, iter(result.rows), [], 0)

    async def _parse(self, body: Body) -> None:
        name, text = body.text(), body.text()
        oids = [body.long() for _ in range(body.short())]
        found = statements(text, self._database)
        if len(found) > 1:
            raise Refusal("42601", "one statement is prepared at a time.")
        kept = sum(len(each.statement.text) for each in self._prepared.values() if each.statement)
        if len(self._prepared) >= _MOST_STATEMENTS or kept + len(text) > _MOST_LETTERS:
            hint = "close those that are not used: DEALLOCATE ALL."
            raise Refusal("53400", "there are too many prepared statements.", hint=hint)
        if name and name in self._prepared:
            raise Refusal("42P05", "a prepared statement with this name exists.")
        statement = found[0] if found else None
        wanted = 0 if statement is None else statement.parameters
        if max(wanted, text.count("$")) > 1000:  # each is filled in, in a time of its own (T1)
            raise Refusal("54000", "a statement has at most 1000 parameters.")
        oids += [0] * (wanted - len(oids))
        self._prepared[name] = Prepared(statement, oids)
        self._wire.send(b"1")

    def _statement(self, name: str) -> Prepared:
        if name not in self._prepared:
            raise Refusal("26000", "there is no prepared statement with this name.")
        return self._prepared[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise Refusal("34000", "there is no portal with this name.")
        return self._portals[name]

    async def _bind(self, body: Body) -> None:
        name, prepared = body.text(), self._statement(body.text())
        codes, raw = body.shorts(), []
        for _ in range(body.short()):
            size = body.long()
            raw.append(None if size < 0 else body.take(size))
        formats = body.shorts()
        if len(raw) != len(prepared.oids):
            raise Refusal("08P01", f"there are {len(prepared.oids)} parameters.")
        codes = _each(codes, len(raw))
        values = [
            decoded(data, oid, binary=code == 1)
            for data, oid, code in zip(raw, prepared.oids, codes, strict=True)
        ]
        if name not in self._portals and len(self._portals) >= _MOST_PORTALS:
            raise Refusal("53400", "there are too many portals.")
        self._portals[name] = Portal(prepared, values, formats)
        self._wire.send(b"2")

    async def _describe(self, body: Body) -> None:
        kind, name = body.take(1), body.text()
        if kind == b"P":
            self._portal(name)
            self._described = name  # told with the rows, if these are asked for next
            return
        prepared = self._statement(name)
        told = b"".join((oid or 25).to_bytes(4, "big") for oid in prepared.oids)
        self._wire.send(b"t", len(prepared.oids).to_bytes(2, "big") + told)
        values = [_DUMMIES.get(oid, "") for oid in prepared.oids]
        self._tell(await self._columns(prepared.statement, values), [])

    async def _describe_by_plan(self) -> None:
        portal = self._portal(self._described or "")
        self._described = None
        if portal.result is not None:
            columns = portal.result.columns
        else:
            columns = await self._columns(portal.prepared.statement, portal.values)
        self._tell(columns, portal.formats)

    def _tell(self, columns: list[tuple[str, int]] | None, formats: Sequence[int]) -> None:
        if columns is None:
            self._wire.send(b"n")
        else:
            self._wire.description(columns, _each(formats, len(columns)))

    async def _execute(self, body: Body) -> None:
        portal = self._portal(name := body.text())
        most = body.long()
        if portal.prepared.statement is None:
            self._described = None
            self._wire.send(b"I")
            return
        if portal.result is None:
            portal.result = await self._done(portal.prepared.statement, portal.values)
            portal.rows = iter(portal.result.rows)
        if self._described == name:
            self._tell(portal.result.columns, portal.formats)
        self._described = None
        await self._rows(portal.result, portal.rows or iter(()), portal.formats, most)

    async def _close(self, body: Body) -> None:
        kind, name = body.take(1), body.text()
        (self._portals if kind == b"P" else self._prepared).pop(name, None)
        self._wire.send(b"3")

    async def _rows(
        self, result: Result, rows: Iterator[Sequence[Any]], formats: Sequence[int], most: int
    ) -> None:
        """Send rows, some of them or all, and say which."""
        oids = [oid for _, oid in result.columns or []]
        codes, sent = _each(formats, len(oids)), 0
        for row in rows:
            self._wire.row(row, oids, codes)
            sent += 1
            await self._wire.flush(all_of_it=False)
            if sent == most:
                self._wire.send(b"s")
                return
        if self._settings.value("client_min_messages") in {"notice", "log", "debug"}:
            for level, message, detail in result.notices:
                self._wire.notice(level, message, detail=detail)
        tag = f"SELECT {sent}" if result.columns is not None and not result.tag else result.tag
        self._wire.send(b"C", text_z(tag))

    # --- statements -------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Wait no longer for the answer: the question goes on if it was begun, and is recorded."""
        if self._work is not None:
            self._work.cancel()

    async def _waited(self, work: Awaitable[Any]) -> Any:
        """Wait for something as long as the client does."""
        task = self._work = asyncio.ensure_future(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK_SECONDS)
                if not task.done() and self._wire.gone:
                    raise ConnectionResetError
            if task.cancelled():
                hint = "ask again: what was charged is not charged twice."
                raise Refusal("57014", "the client does not wait for the answer.", hint=hint)
            return task.result()
        finally:
            self._work = None
            task.cancel()

    async def _done(self, statement: Statement, values: Sequence[Any]) -> Result:
        """Carry a statement out."""
        self._caller = self._known(self.person)
        word = statement.word
        if self._status == "E" and word not in {"ROLLBACK", "ABORT", "COMMIT", "END"}:
            hint = "ROLLBACK ends the transaction."
            raise Refusal("25P02", "a statement of this transaction was refused.", hint=hint)
        if (tag := confirmation(statement)) is not None:
            savepoint = re.search(r"\bTO\b", statement.text, re.IGNORECASE)
            if tag in {"BEGIN", "COMMIT", "ROLLBACK"}:
                self._status = "T" if tag == "BEGIN" or savepoint else "I"
            return Result(tag)
        match word:
            case "SET":
                self._settings.statement(statement.text)
                return Result("SET")
            case "RESET" | "DISCARD" | "DEALLOCATE":
                return self._forgotten(word, statement.text)
            case "SHOW":
                return await self._shown(statement.text)
            case "EXPLAIN":
                asked = re.sub(r"(?is)^EXPLAIN\s+(\([^)]*\)\s*)?", "", statement.question)
                plan = await self._plan(replace(statement, question=asked), values)
                known = plan.standing is not None and plan.standing.answered is not None
                price = 0.0 if known else float(Fraction(next(iter(plan.price.paid.values()), "0")))
                cost = f"{price:.15f}".rstrip("0").removesuffix(".")  # as tools find it (Superset)
                lines = [f"question  (cost=0..{cost})", *plan.screen.splitlines()]
                return Result("EXPLAIN", [("QUERY PLAN", 25)], [[line] for line in lines])
        if not statement.is_query:
            raise refused_statement(word)
        return await self._catalog(statement, values) or await self._asked(statement, values)

    def _forgotten(self, word: str, text: str) -> Result:
        name = text.rsplit(maxsplit=1)[-1].strip('";')
        if word == "DEALLOCATE":
            gone = list(self._prepared) if name.upper() == "ALL" else [name]
            for each in gone:
                self._prepared.pop(each, None)
        else:
            self._settings.reset("ALL" if word == "DISCARD" else name)
        return Result(f"{word} ALL" if word != "RESET" and name.upper() == "ALL" else word)

    async def _shown(self, text: str) -> Result:
        name = text.strip().rstrip(";").partition(" ")[2].strip().strip('"').lower()
        name = {
            "transaction isolation level": "transaction_isolation",
            "time zone": "timezone",
        }.get(name, name)
        if name == "all":
            rows = [[each, value, ""] for each, value in sorted(self._settings.all().items())]
            return Result("SHOW", [("name", 25), ("setting", 25), ("description", 25)], rows)
        if name == "discreet.remaining":
            told = await self._call("GET", "budget")
            return Result("SHOW", [(name, 25)], [[BudgetDocument.read(told["remaining"]).text]])
        value = self._receipt if name == "discreet.receipt" else self._settings.value(name)
        if value is None:
            raise Refusal("42704", f'there is no setting "{name[:60]}".', hint="SHOW ALL.")
        return Result("SHOW", [(name, 25)], [[value]])

    async def _catalog(self, statement: Statement, values: Sequence[Any]) -> Result | None:
        """Answer what is about the catalog alone; None for a question about tables."""
        caller = self._caller
        if caller is None or not caller.may(Permission.SCHEMA, self._database):
            raise NotAllowed(
                what="this token may not see what is public about tables.",
                why="its scope, or the role of its person, does not allow it.",
                do="make a token with the scope schema, plan and ask.",
            )
        names = {"current_user": self.person, "session_user": self.person}
        names |= {"current_database": self._database, "current_catalog": self._database}
        names |= {
            "current_schema": "public",
            "version": f"PostgreSQL {VERSION} (discreet {__version__})",
        }
        session = {**self._settings.all(), **names}
        work = self._door.look_up(caller, self._database, statement.text, values, session)
        found = await self._waited(work)
        return None if found is None else Result("", *found)

    async def _call(self, method: str, *path: str, **more: Any) -> Any:
        call = self._door.calls(self._token, self._peer)
        return await self._waited(call(method, "v1", "datasets", self._database, *path, **more))

    async def _question(self, asked: Statement, values: Sequence[Any], query: str = "") -> Any:
        form = self._settings.form(asked, values)
        try:
            return await self._call("POST", "queries", body=form.written(), query=query)
        except WrongKind as error:
            if self._settings.priced:
                raise
            hint = "SET discreet.epsilon = '0.1', say; EXPLAIN shows what that buys, and is free."
            raise Refusal("22023", error.what, detail=error.why, hint=hint) from None

    async def _plan(self, asked: Statement, values: Sequence[Any]) -> PlanDocument:
        """Plan a question: that costs nothing."""
        return PlanDocument.read(await self._question(asked, values, "?dry_run=true"))

    async def _columns(
        self, statement: Statement | None, values: Sequence[Any]
    ) -> list[tuple[str, int]] | None:
        """Return the columns of a statement before it is carried out; that spends nothing."""
        if statement is None or confirmation(statement) is not None:
            return None
        if statement.word in {"SHOW", "EXPLAIN"}:
            return (await self._done(statement, values)).columns
        if not statement.is_query:
            return None
        self._caller = self._known(self.person)
        found = await self._catalog(statement, values)
        if found is not None:
            return found.columns
        return list(self._outputs(await self._plan(statement, values)))

    def _outputs(self, document: PlanDocument | ReleaseDocument) -> Iterator[tuple[str, int]]:
        for each in document.columns:
            oid = column_oid(each.type, listed=each.listed)
            yield each.name, oid
            if each.interval and self._settings.intervals:
                yield f"{each.name}_low", oid
                yield f"{each.name}_high", oid

    async def _asked(self, statement: Statement, values: Sequence[Any]) -> Result:
        """Ask a question: it is charged, unless its answer is on record."""
        release = ReleaseDocument.read(await self._question(statement, values))
        self._receipt = release.receipt or ""
        columns = list(self._outputs(release))
        rows = [[row.get(name) for name, _ in columns] for row in release.rows]
        return Result("", columns, rows, list(self._notices(release)))

    def _notices(self, release: ReleaseDocument) -> Iterator[tuple[str, str, str]]:
        for warning in release.warnings:
            yield "WARNING", warning, ""
        price = ", ".join(f"{name} {part}" for name, part in release.price.paid.items())
        words = "is on record, and free" if release.replayed else f"costs {price or 'nothing'}"
        if any(each.interval for each in release.columns) and not self._settings.intervals:
            chance = f"{float(100 * Fraction(release.confidence)):.4g}"
            words += f"; {chance} % intervals: SET discreet.intervals = on"
        entry = "" if release.receipt is None else f"receipt {release.receipt}"
        yield "NOTICE", f"this answer {words}", entry


def _each(codes: Sequence[int], size: int) -> list[int]:
    """Return a format for each of some columns: none for all text, one for all alike."""
    if len(codes) == size:
        return list(codes)
    if len(codes) > 1 or any(code not in {0, 1} for code in codes):
        raise Refusal("08P01", "there is not a format for each column.")
    return [codes[0] if codes else 0] * size
