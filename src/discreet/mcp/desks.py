"""Where an agent's calls go: a session in this process, or a server.

Trust: public.  A desk plans, asks and tells; what may be asked and what it costs is decided by the
session, or by the server with the caller's token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias, final
from urllib.parse import urlencode

import anyio.to_thread

from discreet.documents import (
    BudgetDocument,
    DatasetDocument,
    ExplanationDocument,
    PlanDocument,
    QuestionDocument,
    ReleaseDocument,
)
from discreet.errors import OverBudget, UnknownName
from discreet.explain import explain, label_of
from discreet.ledger import Ledger
from discreet.plan.plan import Plan
from discreet.release.serialization import recorded_question
from discreet.service.ways_out import with_ways_out
from discreet.session import Session

Call = Callable[..., Awaitable[Any]]
"""Makes a call of a server: a method, the parts of a path, and ``body=`` and ``query=``."""
_ONLY: Final = "data"


@final
class SessionDesk:
    """Answers from a session in this process; calls that wait have threads of their own."""

    __slots__ = ("_account", "_ledger", "_session")

    def __init__(self, session: Session, ledger: Ledger, *, account: str) -> None:
        """Take a session that an account pays for, its ledger, and the account."""
        self._session, self._ledger, self._account = session, ledger, account

    async def datasets(self) -> list[str]:
        """Return the names of the datasets that may be asked about."""
        return [_ONLY]

    async def schema(self, dataset: str) -> DatasetDocument:
        """Return what is public about a dataset."""
        _check(dataset)
        return DatasetDocument.of(self._session)

    async def plan(self, dataset: str, form: QuestionDocument) -> PlanDocument:
        """Plan a question; spend nothing."""
        _check(dataset)
        return PlanDocument.of(await anyio.to_thread.run_sync(self._planned, form))

    async def ask(self, dataset: str, form: QuestionDocument) -> ReleaseDocument:
        """Answer a question, and charge it."""
        _check(dataset)
        return await anyio.to_thread.run_sync(self._answered, form)

    async def remaining(self, dataset: str) -> BudgetDocument:
        """Return what is left for the agent."""
        _check(dataset)
        return BudgetDocument.of(self._ledger.left(account=self._account))

    async def releases(self, dataset: str) -> list[dict[str, Any]]:
        """Return the questions that were answered: asked again, each is free."""
        _check(dataset)
        return await anyio.to_thread.run_sync(self._recorded)

    async def told(self, dataset: str, what: str, entry: int | None) -> str:
        """Return the privacy label, or an explanation for an audience, of all or of one answer."""
        _check(dataset)
        about, ledger = self._session.policy.about, self._ledger
        made: Callable[[], object] = partial(label_of, ledger, about=about, entry=entry)
        if what != "label":
            made = partial(explain, ledger, about=about, audience=what, entry=entry)
        return str(await anyio.to_thread.run_sync(made))

    def _planned(self, form: QuestionDocument) -> Plan:
        options = form.options()
        options.pop("share_cut")
        return self._session.plan(form.asked, **options)

    def _answered(self, form: QuestionDocument) -> ReleaseDocument:
        try:
            release = self._session.ask(form.asked, confirm=form.confirm, **form.options())
        except OverBudget as error:
            told = with_ways_out(
                error, form.written(), self._ledger, account=self._account, plan=self._planned
            )
            raise told from None
        return ReleaseDocument.of(release, self._session.remaining)

    def _recorded(self) -> list[dict[str, Any]]:
        ledger = self._ledger
        entries = [each for each in ledger.entries() if each["kind"] == "charge"]
        answers = {each.key: each for each in ledger.answers_of([str(e["key"]) for e in entries])}
        found = []
        for entry in reversed(entries):
            answer = answers.get(str(entry["key"]))
            asked = "" if answer is None else recorded_question(answer.answer)
            if answer is not None and asked:
                found.append({"entry": answer.receipt.seq, "at": entry["at"], "question": asked})
        return found


def _check(dataset: str) -> None:
    if dataset != _ONLY:
        raise UnknownName(
            what="there is no such dataset here.",
            why="this server was started for one policy.",
            do=f"leave dataset out, or give {_ONLY!r}.",
        )


@final
class ServerDesk:
    """Passes calls on to a server, which knows by the token who asks; as ``SessionDesk``."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        """Take what makes a call and returns its JSON, or raises what a problem says."""
        self._call = call

    async def datasets(self) -> list[str]:
        found: list[str] = (await self._call("GET", "v1", "datasets"))["datasets"]
        return found

    async def schema(self, dataset: str) -> DatasetDocument:
        return DatasetDocument.read(await self._about(dataset, "GET"))

    async def plan(self, dataset: str, form: QuestionDocument) -> PlanDocument:
        more: dict[str, Any] = {"body": form.written(), "query": "?dry_run=true"}
        return PlanDocument.read(await self._about(dataset, "POST", "queries", **more))

    async def ask(self, dataset: str, form: QuestionDocument) -> ReleaseDocument:
        body = form.written()
        return ReleaseDocument.read(await self._about(dataset, "POST", "queries", body=body))

    async def remaining(self, dataset: str) -> BudgetDocument:
        return BudgetDocument.read((await self._about(dataset, "GET", "budget"))["remaining"])

    async def releases(self, dataset: str) -> list[dict[str, Any]]:
        listed = (await self._about(dataset, "GET", "releases"))["releases"]
        return [
            {"entry": each["entry"], "at": each["at"], **form.price, "question": form.text}
            for each in listed
            for form in map(QuestionDocument.read, each["forms"][:1])
        ]

    async def told(self, dataset: str, what: str, entry: int | None) -> str:
        where = () if entry is None else ("releases", str(entry))
        path = "label" if what == "label" else "explain"
        asked = {"format": "document"} | ({} if what == "label" else {"audience": what})
        found = await self._about(dataset, "GET", *where, path, query=f"?{urlencode(asked)}")
        return ExplanationDocument.read(found).text

    async def _about(self, dataset: str, method: str, *path: str, **more: Any) -> Any:
        return await self._call(method, "v1", "datasets", dataset, *path, **more)


Desk: TypeAlias = SessionDesk | ServerDesk


def calls_in_threads(call: Callable[..., Any]) -> Call:
    """Return calls of a client that waits, each in a thread of its own."""

    async def made(*path: str, **more: Any) -> Any:
        return await anyio.to_thread.run_sync(partial(call, *path, **more))

    return made
