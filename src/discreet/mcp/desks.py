"""Where an agent's calls go: a session in this process, or a server.

Trust: public.  A desk plans, asks and tells; what may be asked and what it costs is decided by the
session, or by the server with the caller's token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, final
from urllib.parse import urlencode

import anyio.to_thread

from discreet.accounting import Budget
from discreet.accounting.budget import is_recorded
from discreet.documents import (
    BudgetDocument,
    DatasetDocument,
    ExplanationDocument,
    PlanDocument,
    ProblemDocument,
    QuestionDocument,
    ReleaseDocument,
)
from discreet.errors import DiscreetError, OtherLedger, OverBudget, UnknownName, WrongKind
from discreet.explain import explain, label_of
from discreet.ledger import Ledger
from discreet.release.serialization import recorded_question
from discreet.service.ways_out import ways_out, with_shortage
from discreet.session import Session

Call = Callable[..., Awaitable[Any]]
"""Makes a call of a server: a method, the parts of a path, and ``body=`` and ``query=``."""
_ONLY: Final = "data"


class Desk(Protocol):
    """What the tools of an agent need."""

    async def datasets(self) -> list[str]:
        """Return the names of the datasets that may be asked about."""
        ...

    async def schema(self, dataset: str) -> DatasetDocument:
        """Return what is public about a dataset."""
        ...

    async def plan(self, dataset: str, form: QuestionDocument) -> PlanDocument:
        """Plan a question; spend nothing."""
        ...

    async def ask(self, dataset: str, form: QuestionDocument) -> ReleaseDocument:
        """Answer a question, and charge it."""
        ...

    async def remaining(self, dataset: str) -> BudgetDocument:
        """Return what is left for the agent."""
        ...

    async def releases(self, dataset: str) -> list[dict[str, Any]]:
        """Return the questions that were answered: asked again, each is free."""
        ...

    async def told(self, dataset: str, what: str, entry: int | None) -> ExplanationDocument:
        """Return an explanation, or the privacy label, of everything or of one answer."""
        ...


def agent_desk(session: Session, *, account: str, limit: object, by: str) -> SessionDesk:
    """Return a desk whose questions an agent's own account pays for; make the account once.

    Args:
        session: a session on the data.
        account: a name, such as "claude", below the first account of the ledger.
        limit: the epsilon that a new account may spend in total; on record from then on, so that
            another one is refused.
        by: who opens the account, for the record.
    """
    ledger = session.ledger
    if not isinstance(ledger, Ledger):
        return SessionDesk(session)
    root = min(ledger.accounts, key=len)
    path = account if account.partition("/")[0] == root else f"{root}/{account}"
    if path not in ledger.accounts:
        if limit is None:
            raise WrongKind(
                what=f"there is no account {path}, and no limit for a new one.",
                why="an agent has an account of its own, so that it cannot spend all there is.",
                do="give --limit 0.5, say: the epsilon that this account may spend in total.",
            )
        given = _with_epsilon(limit, ledger.left(account=root).budget)
        ledger.open_account(path, budget=given, by=by)
    elif limit is not None:
        _check_limit(ledger, path, limit)
    return SessionDesk(session.charging(account=path), account=path)


def _with_epsilon(limit: object, other: Budget) -> Budget:
    """Return a budget with an epsilon of its own, and the delta of another."""
    delta = 0 if other.promise is None else other.promise.delta_bound
    return Budget(epsilon=limit, delta=delta)


def _check_limit(ledger: Ledger, path: str, limit: object) -> None:
    """Refuse a limit that an account does not have, by its first entry or since it was raised."""
    budget = ledger.accounts[path].budget
    if budget is None or not is_recorded(budget, _with_epsilon(limit, budget)):
        found = "no limit of its own" if budget is None else budget.promised
        raise OtherLedger(
            what=f"account {path} is on record, and epsilon {limit} is not its limit.",
            why=f"what is on record holds, which is {found}.",
            do="leave out --limit if that is meant; or give --account another name, and the agent "
            "gets an account of its own.",
        )


@final
class SessionDesk:
    """Answers from a session in this process; calls that wait have threads of their own."""

    __slots__ = ("_account", "_session")

    def __init__(self, session: Session, *, account: str | None = None) -> None:
        """Take the session, and the account that pays if it is not the first one."""
        self._session, self._account = session, account

    async def datasets(self) -> list[str]:
        """Return the one name."""
        return [_ONLY]

    async def schema(self, dataset: str) -> DatasetDocument:
        """Return what is public about the tables."""
        self._check(dataset)
        return DatasetDocument.of(self._session)

    async def plan(self, dataset: str, form: QuestionDocument) -> PlanDocument:
        """Plan a question; spend nothing."""
        self._check(dataset)
        return await anyio.to_thread.run_sync(self._planned, form)

    async def ask(self, dataset: str, form: QuestionDocument) -> ReleaseDocument:
        """Answer a question, and charge it."""
        self._check(dataset)
        return await anyio.to_thread.run_sync(self._answered, form)

    async def remaining(self, dataset: str) -> BudgetDocument:
        """Return what is left in the account."""
        self._check(dataset)
        left = self._session.remaining
        if left is None:
            return BudgetDocument(part=1.0, text="no budget: this is a rehearsal")
        return BudgetDocument.of(left)

    async def releases(self, dataset: str) -> list[dict[str, Any]]:
        """Return the questions on record."""
        self._check(dataset)
        return await anyio.to_thread.run_sync(self._recorded)

    async def told(self, dataset: str, what: str, entry: int | None) -> ExplanationDocument:
        """Explain what was released."""
        self._check(dataset)
        return await anyio.to_thread.run_sync(self._told, what, entry)

    def _check(self, dataset: str) -> None:
        if dataset != _ONLY:
            raise UnknownName(
                what="there is no such dataset here.",
                why="this server was started for one policy.",
                do=f"leave dataset out, or give {_ONLY!r}.",
            )

    def _planned(self, form: QuestionDocument) -> PlanDocument:
        options = form.options()
        options.pop("share_cut")
        return PlanDocument.of(self._session.plan(form.asked, **options))

    def _answered(self, form: QuestionDocument) -> ReleaseDocument:
        try:
            release = self._session.ask(form.asked, confirm=form.confirm, **form.options())
        except OverBudget as error:
            raise self._with_ways(error, form) from None
        return ReleaseDocument.of(release, self._session.remaining)

    def _with_ways(self, error: OverBudget, form: QuestionDocument) -> OverBudget:
        """Add priced ways out to a refusal, as a server does."""
        ledger = self._session.ledger
        if not isinstance(ledger, Ledger):
            return error
        options = form.options()
        options.pop("share_cut")
        fixed = {name: each for name, each in options.items() if name in {"dialect", "params"}}
        try:
            found = ways_out(
                form.question,
                form.price,
                self._session.plan(form.asked, **options),
                ledger,
                account=self._account,
                planned=lambda asked, price: self._session.plan(asked, **{**price, **fixed}),
            )
        except DiscreetError:
            return error
        return with_shortage(error, found)

    def _recorded(self) -> list[dict[str, Any]]:
        ledger = self._session.ledger
        if not isinstance(ledger, Ledger):
            return []
        entries = [each for each in ledger.entries() if each["kind"] == "charge"]
        answers = {each.key: each for each in ledger.answers_of([str(e["key"]) for e in entries])}
        found = []
        for entry in reversed(entries):
            answer = answers.get(str(entry["key"]))
            asked = "" if answer is None else recorded_question(answer.answer)
            if answer is not None and asked:
                found.append({"entry": answer.receipt.seq, "at": entry["at"], "question": asked})
        return found

    def _told(self, what: str, entry: int | None) -> ExplanationDocument:
        about, ledger = self._session.policy.about, self._session.ledger
        if what == "label":
            label = label_of(ledger, about=about, entry=entry)
            return ExplanationDocument(
                kind="label", text=str(label), html="", content=label.content
            )
        found = explain(ledger, about=about, audience=what, entry=entry)
        return ExplanationDocument(
            kind="explanation", text=str(found), html="", content=found.to_json()
        )


@final
class ServerDesk:
    """Passes calls on to a server, which knows by the token who asks."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        """Take what makes a call and returns its JSON, or raises what a problem says."""
        self._call = call

    async def datasets(self) -> list[str]:
        """Return the datasets that the caller sees."""
        found: list[str] = (await self._call("GET", "v1", "datasets"))["datasets"]
        return found

    async def schema(self, dataset: str) -> DatasetDocument:
        """Return what is public about the tables."""
        return DatasetDocument.read(await self._about(dataset, "GET"))

    async def plan(self, dataset: str, form: QuestionDocument) -> PlanDocument:
        """Plan a question; spend nothing."""
        body = form.written()
        return PlanDocument.read(
            await self._about(dataset, "POST", "queries", body=body, query="?dry_run=true")
        )

    async def ask(self, dataset: str, form: QuestionDocument) -> ReleaseDocument:
        """Answer a question, and charge it."""
        return ReleaseDocument.read(
            await self._about(dataset, "POST", "queries", body=form.written())
        )

    async def remaining(self, dataset: str) -> BudgetDocument:
        """Return what is left for the caller."""
        return BudgetDocument.read((await self._about(dataset, "GET", "budget"))["remaining"])

    async def releases(self, dataset: str) -> list[dict[str, Any]]:
        """Return the questions that the caller has asked."""
        listed = (await self._about(dataset, "GET", "releases"))["releases"]
        return [
            {"entry": each["entry"], "at": each["at"], **QuestionDocument.read(form).price}
            | {"question": QuestionDocument.read(form).text}
            for each in listed
            for form in each["forms"][:1]
        ]

    async def told(self, dataset: str, what: str, entry: int | None) -> ExplanationDocument:
        """Explain what was released."""
        where = () if entry is None else ("releases", str(entry))
        asked = {"format": "document"} | ({} if what == "label" else {"audience": what})
        path = "label" if what == "label" else "explain"
        query = f"?{urlencode(asked)}"
        return ExplanationDocument.read(
            await self._about(dataset, "GET", *where, path, query=query)
        )

    async def _about(self, dataset: str, method: str, *path: str, **more: Any) -> Any:
        return await self._call(method, "v1", "datasets", dataset, *path, **more)


def calls_in_threads(call: Callable[..., Any]) -> Call:
    """Return calls of a client that waits, each in a thread of its own."""

    async def made(*path: str, **more: Any) -> Any:
        return await anyio.to_thread.run_sync(partial(call, *path, **more))

    return made


def raised(status: int, document: object) -> None:
    """Raise what a server refuses with."""
    if status >= 400:
        raise ProblemDocument.read(document if isinstance(document, dict) else {}).error()
