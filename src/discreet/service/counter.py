"""The counter of a server: everything that calls and pages do, free of any web framework.

Trust: kernel.  Every method takes the caller first, and refuses what the caller may not do before
anything else happens.

This process writes the ledgers, each by one writer that groups the commits of all workers, and
knows people.  It holds no data and draws no noise: workers do (:mod:`discreet.service.workers`).

Steps of a question (S1 to S8 of the spend protocol).  A worker plans it; the price follows from the
plan alone (S5).  The charge is decided by the ledger under its lock (S7), by privacy filters on all
accounts of the path (S8), and durable before data is read (S1).  Noise is drawn once, in the worker
(S4), and the answer is on record before it leaves (S2).  The key of the record follows from the
plan, so a retry gets the same answer; an idempotency key of a caller names one body (S3).  Once
something is charged, a caller learns of an answer or of ``TryAgain``, and of nothing else (S6).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from discreet.accounting import Budget, Left
from discreet.accounting.budgets.amounts import format_down
from discreet.errors import (
    DiscreetError,
    EngineError,
    EntropyError,
    KeyReused,
    NotAllowed,
    NotServed,
    OutOfRange,
    QuestionClosed,
    TryAgain,
)
from discreet.ledger import Ledger
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Account, Receipt, checked_key
from discreet.plan.policy.policy import Policy, read_policy
from discreet.service.people.caller import Caller
from discreet.service.people.credentials import new_secret
from discreet.service.people.directory import Directory
from discreet.service.people.logins import Logins
from discreet.service.people.rate_limits import RateLimits
from discreet.service.people.roles import Permission, Role
from discreet.service.people.tokens import Tokens
from discreet.service.protocol.question_form import QuestionForm, check_draws
from discreet.service.published import PublishedLedger
from discreet.service.raises import Raises
from discreet.service.security_log import SecurityLog
from discreet.service.site import ServedDataset, Site
from discreet.service.state_store import StateStore
from discreet.service.views import AccountView, Answered, AskedBefore, Explained, Planned, RaiseView
from discreet.service.workers.jobs import AskJob
from discreet.service.workers.plan_class import SMALL, due
from discreet.service.workers.pool import Pool

if TYPE_CHECKING:  # the auditor is loaded when it is called
    from discreet.ledger.verify import Report

_KEPT_JOBS: Final = 4096
_KEY_DAYS: Final = 30
_AUDIENCES: Final = ("analyst", "subject", "steward", "auditor")


@final
class ServiceCounter:
    """Serves one site; ``close`` stops its workers and closes its ledgers."""

    __slots__ = (
        "_ends",
        "_jobs",
        "_ledgers",
        "_lock",
        "_policies",
        "_pools",
        "_raises",
        "_store",
        "directory",
        "log",
        "logins",
        "rates",
        "site",
        "tokens",
    )

    def __init__(self, site: Site) -> None:
        """Open ledgers, the state of the site, and workers."""
        self.site = site
        site.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.log = SecurityLog(site.state / "security.log")
        self._store = StateStore(site.state / "state.sqlite")
        self.directory = Directory(self._store, limits=site.limits, log=self.log)
        self.directory.take_over(site)
        self.logins = Logins(
            self._store, self.directory, hours=site.limits.session_hours, log=self.log
        )
        self.tokens = Tokens(self._store, self.directory, log=self.log)
        self.rates = RateLimits(per_minute=site.limits.calls_per_minute)
        self._raises = Raises(self._store, log=self.log)
        self._lock = threading.Lock()
        self._jobs: dict[str, AskJob] = {}
        self._ends: dict[str, Receipt] = {}
        self._policies: dict[str, Policy] = {}
        self._ledgers: dict[str, Ledger] = {}
        self._pools: dict[str, Pool] = {}
        try:
            for name, dataset in site.datasets.items():
                self._policies[name] = read_policy(dataset.policy)
                self._ledgers[name] = opened_ledger(dataset, self._policies[name])
                self._ends[name] = self._ledgers[name].receipt
                self._pools[name] = Pool(dataset, self._ledgers[name], site.limits, site.state)
        except BaseException:
            self.close(wait=0)
            raise
        self.log.write("start")

    def close(self, *, wait: float = 10.0) -> None:
        """Let running questions end within a time, stop the workers, and close the ledgers."""
        for pool in self._pools.values():
            pool.close(wait=wait)
        for ledger in self._ledgers.values():
            ledger.close()
        self.log.write("stop")
        self._store.close()
        self.log.close()

    def first_owner(self) -> str | None:
        """Where nobody can log in yet, make an owner, and return the secret of a one-time link."""
        people = self.directory.people()
        if self.site.loopback_person is not None or any(each.has_password for each in people):
            return None
        owners = [each.name for each in people if Role.OWNER in each.roles]
        if not owners:
            owners = [self.directory.put("owner", [Role.OWNER], by="first run").name]
        return self.directory.invite(owners[0], by="first run")

    def loopback_caller(self) -> Caller | None:
        """Return the one person of the mode without log-in, who may do everything."""
        who = self.site.loopback_person
        return None if who is None else Caller.of(who, frozenset(Role))

    # --- datasets -----------------------------------------------------------------------------

    def datasets(self, caller: Caller) -> tuple[str, ...]:
        """Return the names of the datasets that a caller may see."""
        return tuple(name for name in self.site.datasets if caller.sees(name))

    def schema(self, caller: Caller, dataset: str) -> Mapping[str, Any]:
        """Return what is public about the tables: unit, columns, types, bounds, categories."""
        self._check(caller, dataset, Permission.SCHEMA)
        return self._worked(caller, dataset, {"verb": "schema"})

    def policy(self, caller: Caller, dataset: str) -> Policy:
        """Return the owner's rules."""
        self._check(caller, dataset, Permission.SCHEMA)
        return self._policies[dataset]

    # --- asking -------------------------------------------------------------------------------

    def plan(self, caller: Caller, dataset: str, form: QuestionForm) -> Planned:
        """Say how a question would be answered, at what cost and how exactly; spend nothing."""
        self._check(caller, dataset, Permission.PLAN)
        untold = [] if caller.may(Permission.LEDGER) else self._untold(dataset, time.monotonic())
        keys = frozenset[str]().union(*(job.keys for job in untold))
        job = {
            "verb": "plan",
            "forms": [form.written()],
            "untold": sorted(self._ledgers[dataset].questions_of(keys)),
        }
        found = self._worked(caller, dataset, job)
        return Planned(document=found["document"], encoded=found["plan"], size=found["class"])

    def ask(
        self,
        caller: Caller,
        dataset: str,
        form: QuestionForm,
        *more: QuestionForm,
        key: str | None = None,
    ) -> Answered:
        """Answer a question, and wait for its tick; ``more`` are prices of further draws."""
        job = self.begin(caller, dataset, form, *more, key=key)
        job.wait()
        time.sleep(max(0.0, self.due(job) - time.monotonic()))
        return self.result(caller, job)

    def begin(
        self,
        caller: Caller,
        dataset: str,
        form: QuestionForm,
        *more: QuestionForm,
        key: str | None = None,
    ) -> AskJob:
        """Queue a question, and return at once.

        Args:
            caller: who asks.
            dataset: what about.
            form: the question and its price.
            more: the prices of further draws of the answer, which is remeasured with each.
            key: the idempotency key of the caller: it names this request for good.
        """
        self._check(caller, dataset, Permission.ASK)
        forms = (form, *more)
        check_draws(forms)
        if key is not None:
            self._claim(caller, key, dataset, forms)
        job = self._job(
            caller, dataset, {"verb": "ask", "forms": [each.written() for each in forms]}
        )
        self._pool(dataset).submit(job)
        return job

    def job(self, caller: Caller, job: str) -> AskJob:
        """Return a job of this caller."""
        with self._lock:
            found = self._jobs.get(job)
        if found is None or found.person != caller.person:
            raise NotServed(
                what="there is no such job.",
                why="a job is known to whoever began it, for a while.",
                do="ask the question again: an answer that is on record costs nothing.",
            )
        return found

    def cancel(self, caller: Caller, job: str) -> AskJob:
        """Stop working on a question; what was charged stays charged, and a retry completes it."""
        found = self.job(caller, job)
        if not found.over:
            self._pools[found.dataset].cancel(found)
        return found

    def due(self, job: AskJob) -> float:
        """Return the monotonic time at which the end of a job may be told.

        It is fixed when the job ends.  Refusals before the charge, and answers that were told
        before, follow from public facts: they are told at once.  An answer from the record that was
        not told yet waits for its own tick, and for that of the question that it comes from.
        """
        ended = time.monotonic() if job.ended is None else job.ended
        own = self._tick_of(job)
        if job.result is None or not job.result.get("replayed"):
            return own if job.charged else ended
        key = self._key_of(job.dataset, job.result["document"]["entry"])
        sources = [each for each in self._untold(job.dataset, ended) if key in each.keys]
        for each in sources:
            each.wait()
        if not sources and not job.keys:
            return ended
        return max(own, *map(self._tick_of, sources)) if sources else own

    def is_told(self, job: AskJob) -> bool:
        """Say whether the end of a job has come, and may be told."""
        return job.over and self.due(job) <= time.monotonic()

    def _tick_of(self, job: AskJob) -> float:
        ended = time.monotonic() if job.ended is None else job.ended
        return due(job.arrived, ended, (job.size or SMALL).tick(self.site.limits))

    def _untold(self, dataset: str, at: float) -> list[AskJob]:
        """Return the questions whose data was being read at a time, or whose tick was to come."""
        with self._lock:
            jobs = tuple(self._jobs.values())
        return [
            job
            for job in jobs
            if job.dataset == dataset
            and job.keys
            and (job.ended is None or max(job.ended, self._tick_of(job)) > at)
        ]

    def _key_of(self, dataset: str, entry: int | None) -> str | None:
        """Return the key of the answer that an entry records, if it does."""
        found = next(self._ledgers[dataset].entries(after=entry - 1), None) if entry else None
        return str(found["key"]) if found is not None and found["kind"] == "release" else None

    def _published(self, caller: Caller, dataset: str, entry: int | None = None) -> Receipt | None:
        """Return up to where a caller may see the record; None for all of it.

        The end moves while no question is between its charge and its tick.  An answer that was told
        is seen from then on.
        """
        if caller.may(Permission.LEDGER):
            return None
        ledger = self._ledgers[dataset]
        latest = ledger.receipt
        with self._lock:
            end = self._ends[dataset]
        if not self._untold(dataset, time.monotonic()):
            with self._lock:
                end = self._ends[dataset] = max(self._ends[dataset], latest, key=_number)
        key = self._key_of(dataset, entry)
        if key is None or any(key in job.keys for job in self._untold(dataset, time.monotonic())):
            return end
        (stored,) = ledger.answers_of([key])
        return max(end, stored.receipt, key=_number)

    def result(self, caller: Caller, job: AskJob) -> Answered:
        """Return the answer of a job that is over, or raise why there is none."""
        if job.error is not None:
            raise told_error(job)
        found = job.result
        assert found is not None  # noqa: S101  it is over
        self._remember(caller, job, found["document"]["entry"])
        names = ("plans", "written", "receipt", "replayed", "private", "share")
        return Answered(document=found["document"], encoded={name: found[name] for name in names})

    def asked(self, caller: Caller, dataset: str) -> tuple[AskedBefore, ...]:
        """Return the questions that a caller has asked, the newest first."""
        self._check(caller, dataset, Permission.RELEASES)
        rows = self._store.rows(
            "SELECT * FROM questions WHERE person = ? AND dataset = ? AND at <= ? "
            "ORDER BY id DESC LIMIT 500",
            caller.person,
            dataset,
            time.time(),
        )
        return tuple(
            AskedBefore(
                dataset=row["dataset"],
                person=row["person"],
                forms=tuple(map(QuestionForm.read, json.loads(row["forms"]))),
                entry=row["entry"],
                at=row["at"],
            )
            for row in rows
        )

    # --- reading what was released ------------------------------------------------------------

    def explain(
        self, caller: Caller, dataset: str, *, audience: str = "analyst", entry: int | None = None
    ) -> Explained:
        """Say what all answers, or one of them, give away about one person."""
        self._check(caller, dataset, Permission.RELEASES)
        if audience not in _AUDIENCES:
            raise OutOfRange(
                what="there is no such audience.",
                why="an explanation speaks to one of four kinds of readers.",
                do=f"use one of: {', '.join(_AUDIENCES)}.",
            )
        until = self._published(caller, dataset, entry)
        job = {"verb": "explain", "audience": audience, **_about(entry, until)}
        found = self._worked(caller, dataset, job)
        return _explained(found)

    def label(self, caller: Caller, dataset: str, *, entry: int | None = None) -> Explained:
        """Return the privacy label of all answers, or of one of them."""
        self._check(caller, dataset, Permission.RELEASES)
        until = self._published(caller, dataset, entry)
        found = self._worked(caller, dataset, {"verb": "label", **_about(entry, until)})
        return _explained(found)

    def release(self, caller: Caller, dataset: str, entry: int) -> Mapping[str, Any]:
        """Return an answer that is on record, by the number of its entry, as it was stored."""
        self._check(caller, dataset, Permission.RELEASES)
        ledger = self._ledgers[dataset]
        found = next(ledger.entries(after=entry - 1), None) if entry > 0 else None
        until = self._published(caller, dataset, entry)
        hidden = until is not None and entry > until.seq
        if found is None or found.get("kind") != "release" or hidden:
            raise NotServed(
                what="no entry with this number records an answer.",
                why="the entry of an answer is in its receipt.",
                do="look it up in the history.",
            )
        (stored,) = ledger.answers_of([str(found["key"])])
        return {
            "entry": entry,
            "at": found["at"] if until is None else f"{str(found['at'])[:16]}Z",  # the minute
            "receipt": str(stored.receipt),
            "answer": json.loads(stored.answer),
        }

    # --- the ledger ---------------------------------------------------------------------------

    def history(
        self, caller: Caller, dataset: str, *, after: int = 0
    ) -> Iterator[Mapping[str, object]]:
        """Return the entries after a number, without answers, the oldest first."""
        self._check(caller, dataset, Permission.LEDGER)
        return iter(self._ledgers[dataset].entries(after=max(0, after)))

    def ledger(self, caller: Caller, dataset: str, *, entry: int | None = None) -> LedgerView:
        """Return the record of a dataset, to be read by pages: it holds entries and no data.

        Those who may not read the ledger see what is published, up to ``entry`` at least if that
        is an answer that was told.
        """
        self._check(caller, dataset, Permission.RELEASES)
        ledger, until = self._ledgers[dataset], self._published(caller, dataset, entry)
        return ledger if until is None else PublishedLedger(ledger, until)

    def receipt(self, caller: Caller, dataset: str) -> Receipt:
        """Return where the ledger stands, as far as it is published to the caller."""
        self._check(caller, dataset, Permission.SCHEMA)
        return self._published(caller, dataset) or self._ledgers[dataset].receipt

    def verify(self, caller: Caller, dataset: str, receipts: Sequence[str] = ()) -> Report:
        """Check everything that the ledger claims, from its entries alone."""
        self._check(caller, dataset, Permission.LEDGER)
        return self._ledgers[dataset].verify(receipts)

    def closed(self, caller: Caller, dataset: str) -> tuple[str, ...]:
        """Return the keys of questions that a failed attempt has closed."""
        self._check(caller, dataset, Permission.REOPEN)
        return self._ledgers[dataset].closed

    def reopen(self, caller: Caller, dataset: str, key: str, *, reason: str) -> None:
        """Allow further attempts at a closed question."""
        self._check(caller, dataset, Permission.REOPEN)
        self._ledgers[dataset].reopen(key, reason=reason, by=caller.person)
        self.log.write("reopen", by=caller.person, dataset=dataset)

    # --- budgets ------------------------------------------------------------------------------

    def budget(self, caller: Caller, dataset: str) -> tuple[AccountView, ...]:
        """Return what is left in every account, the root first."""
        self._check(caller, dataset, Permission.BUDGET)
        ledger = self._ledgers[dataset]
        return tuple(
            _account_view(ledger, account) for _, account in sorted(ledger.accounts.items())
        )

    def remaining(self, caller: Caller, dataset: str) -> Left:
        """Return what is left for questions about everybody, in the account that pays."""
        self._check(caller, dataset, Permission.BUDGET)
        return self._ledgers[dataset].left(account=self.account_of(caller, dataset))

    def account_of(self, caller: Caller, dataset: str) -> str | None:
        """Return the account that pays for a caller: the one whose path ends with their name.

        The longest such path, if there are several; the first account of the ledger (None) without
        one.
        """
        paths = self._ledgers[dataset].accounts
        own = [path for path in paths if path.rpartition("/")[2] == caller.person and "/" in path]
        return max(own, key=len, default=None)

    def open_account(
        self, caller: Caller, dataset: str, path: str, *, budget: Mapping[str, str] | None
    ) -> AccountView:
        """Open an account below an existing one, with limits of its own if any are given."""
        self._check(caller, dataset, Permission.DECIDE)
        limits = None if budget is None else read_budget(budget)
        ledger = self._ledgers[dataset]
        account = ledger.open_account(path, budget=limits, by=caller.person)
        self.log.write("account", by=caller.person, dataset=dataset, detail=account.path)
        return _account_view(ledger, account)

    def requests(self, caller: Caller, dataset: str) -> tuple[RaiseView, ...]:
        """Return the requests for higher limits: all of them, or those of the caller alone."""
        self._check(caller, dataset, Permission.BUDGET)
        found = self._raises.of(dataset)
        if caller.may(Permission.DECIDE):
            return found
        return tuple(each for each in found if each.by == caller.person)

    def request(
        self, caller: Caller, dataset: str, *, account: str, budget: Mapping[str, str], reason: str
    ) -> RaiseView:
        """Ask for a higher limit of an account; somebody else decides."""
        self._check(caller, dataset, Permission.REQUEST)
        read_budget(budget)
        accounts = self._ledgers[dataset].accounts
        if account not in accounts or not accounts[account].limited:
            raise OutOfRange(
                what="there is no such account, or it has no limits of its own.",
                why="a limit is raised where there is one.",
                do=f"use one of: {', '.join(sorted(p for p, a in accounts.items() if a.limited))}.",
            )
        return self._raises.add(
            dataset, account=account, budget=budget, reason=reason, by=caller.person
        )

    def decide(self, caller: Caller, request: int, *, approve: bool) -> RaiseView:
        """Approve or decline a request of somebody else; approval raises the limit on record."""
        found = self._raises.find(request)
        self._check(caller, found.dataset, Permission.DECIDE)
        if found.by == caller.person:
            raise NotAllowed(
                what="the same person requests and approves it.",
                why="what weakens a promise takes two people.",
                do="have somebody else approve it.",
            )
        if not approve:
            return self._raises.decide(request, state="declined", by=caller.person)
        self._check_second(caller, found)
        decided = self._raises.decide(request, state="approved", by=caller.person)
        try:
            self._ledgers[found.dataset].raise_limit(
                found.account,
                budget=read_budget(found.budget),
                reason=found.reason,
                by=found.by,
                approved_by=caller.person,
            )
        except DiscreetError:
            self._raises.reopen(request)
            raise
        return decided

    def _check_second(self, caller: Caller, found: RaiseView) -> None:
        """Refuse an approval by somebody who may be the requester under another name."""
        person = self.directory.find(caller.person)
        if self.directory.tied(caller.person, found.by):
            raise NotAllowed(
                what="one of the two who request and approve it has added or invited the other.",
                why="whoever makes a one-time link can log in with it, and be both of them.",
                do="have somebody approve it who has no part in the account of the requester.",
            )
        if person is None or person.created > found.at:
            raise NotAllowed(
                what="whoever approves it was added after it was requested.",
                why="a second person must not be made for the purpose.",
                do="have it approved by somebody who was there before, or request it again.",
            )

    # --- evidence -----------------------------------------------------------------------------

    def audit(self, caller: Caller) -> Mapping[str, Any] | None:
        """Return the report of the last audit, if the site names one."""
        caller.check(Permission.AUDIT)
        path = self.site.audit
        if path is None or not path.is_file():
            return None
        report: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return report

    def security_log(self, caller: Caller) -> tuple[Mapping[str, str], ...]:
        """Return the lines of the security log, the oldest first."""
        caller.check(Permission.AUDIT)
        return tuple(self.log.lines())

    def ready(self) -> bool:
        """Say whether the data of all datasets could be opened."""
        return all(pool.problem is None for pool in self._pools.values())

    def workers(self, dataset: str) -> tuple[int, ...]:
        """Return the process numbers of the workers of a dataset."""
        return self._pools[dataset].workers()

    # --- inside -------------------------------------------------------------------------------

    def _check(self, caller: Caller, dataset: str, permission: Permission) -> None:
        """Refuse what the caller may not do; a dataset that they may not see does not exist."""
        caller.check(permission)
        if dataset not in self.site.datasets or not caller.sees(dataset):
            raise NotServed(
                what="there is no such dataset here.",
                why="a question is about a dataset that this server serves, to you.",
                do=f"use one of: {', '.join(self.datasets(caller)) or 'none'}.",
            )

    def _pool(self, dataset: str) -> Pool:
        pool = self._pools[dataset]
        if pool.problem is not None:
            raise type(pool.problem)(
                what=pool.problem.what, why=pool.problem.why, do=pool.problem.do
            )
        return pool

    def _job(self, caller: Caller, dataset: str, message: Mapping[str, Any]) -> AskJob:
        """Return a job, and forget old ones."""
        whose = {"account": self.account_of(caller, dataset), "analyst": caller.person}
        job = AskJob(
            id=new_secret()[:32],
            person=caller.person,
            dataset=dataset,
            message={**message, **whose},
        )
        with self._lock:
            while len(self._jobs) >= _KEPT_JOBS:
                self._jobs.pop(next(iter(self._jobs)))
            self._jobs[job.id] = job
        return job

    def _worked(self, caller: Caller, dataset: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Have a worker do something that spends nothing."""
        job = self._job(caller, dataset, message)
        self._pool(dataset).submit(job)
        job.wait()
        if job.error is not None:
            raise told_error(job)
        return dict(job.result or {})

    def _claim(self, caller: Caller, key: str, dataset: str, forms: Sequence[QuestionForm]) -> None:
        """Note what an idempotency key stands for; refuse one that stands for something else."""
        checked_key(key, name="idempotency key")
        body = " ".join((dataset, *(form.digest for form in forms)))
        now = time.time()
        with self._store.transaction(durable=False) as within:
            within.execute("DELETE FROM keys WHERE at < ?", (now - 86400 * _KEY_DAYS,))
            within.execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (caller.person, key, body, now),
            )
            known = within.execute(
                "SELECT body FROM keys WHERE person = ? AND key = ?", (caller.person, key)
            ).fetchone()
        if known["body"] != body:
            raise KeyReused(
                what="this idempotency key was sent before, with another question.",
                why="one key stands for one request, which is paid once and answered once.",
                do="use another key for another request.",
            )

    def _remember(self, caller: Caller, job: AskJob, entry: int | None) -> None:
        """Note an answer as of when it is told, for the list of what somebody has asked."""
        told = time.time() + max(0.0, self.due(job) - time.monotonic())
        forms = json.dumps(job.message["forms"], sort_keys=True)
        with self._store.transaction(durable=False) as within:
            within.execute(
                "INSERT INTO questions (person, dataset, forms, entry, at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (caller.person, job.dataset, forms, entry or 0, told),
            )


def _number(receipt: Receipt) -> int:
    return receipt.seq


def _about(entry: int | None, until: Receipt | None) -> dict[str, Any]:
    return {"entry": entry, "until": None if until is None else str(until)}


def _explained(found: Mapping[str, Any]) -> Explained:
    return Explained(
        text=found["text"],
        html=found["html"],
        content=found["json"],
        encoded=found["encoded"],
    )


def told_error(job: AskJob) -> DiscreetError:
    """Return what a caller is told of a failed job: after the charge, that it can be tried again.

    A closed question was charged before, and is told in the same words.
    """
    error = job.error
    assert error is not None  # noqa: S101  it has failed
    if job.charged or isinstance(error, QuestionClosed | EngineError | EntropyError):
        return TryAgain(
            what="there is no answer now.",
            why="after a charge nothing is told but answers: a reason could depend on the data.",
            do="ask again: what was charged is not charged twice.  If it stays so, ask the owner.",
        )
    return type(error)(what=error.what, why=error.why, do=error.do)


def opened_ledger(dataset: ServedDataset, policy: Policy) -> Ledger:
    """Open the ledger of a dataset, or make it where there is nothing yet."""
    named = None if policy.session is None else policy.session.ledger_id
    return Ledger.open(dataset.ledger, unit=policy.unit, budget=policy.budget, id=named)


def read_budget(given: Mapping[str, str]) -> Budget:
    """Read a budget from the names and texts of its parts."""
    names = {"epsilon", "delta", "rho"}
    if not given or not set(given) <= names or not all(isinstance(v, str) for v in given.values()):
        raise OutOfRange(
            what="a budget is given by epsilon, rho and delta, as texts.",
            why="it is kept exactly.",
            do='give {"epsilon": "3", "delta": "1e-9"}, say.',
        )
    return Budget(**dict(given))  # type: ignore[arg-type]


def _account_view(ledger: Ledger, account: Account) -> AccountView:
    if not account.limited:
        return AccountView(
            path=account.path, limited=False, left="as above", share_left=1.0, amounts=()
        )
    left = ledger.left(account=account.path)
    parts = list(zip(left.budget.components, left.amounts, left.budget.limit, strict=True))
    shares = [float(have) / float(limit) for _, have, limit in parts if limit]
    return AccountView(
        path=account.path,
        limited=True,
        left=str(left),
        share_left=min(shares, default=1.0),
        amounts=tuple(
            (name, format_down(have), format_down(limit)) for name, have, limit in parts if limit
        ),
    )


def state_folder(site: Path) -> Path:
    """Return where a site keeps its state unless it says otherwise: beside its file."""
    return site.parent / f"{site.stem}.state"


__all__ = ["ServiceCounter", "opened_ledger", "read_budget", "state_folder", "told_error"]
