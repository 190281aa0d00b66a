"""What a server has opened: ledgers, workers, people and the state of its site.

Trust: kernel.  Here a caller is refused what they may not do, before anything else happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import (
    DiscreetError,
    EngineError,
    EntropyError,
    LedgerUnavailable,
    NotServed,
    QuestionClosed,
    TryAgain,
)
from discreet.ledger import Ledger
from discreet.ledger.values import Receipt
from discreet.ledger.witness import WitnessFile
from discreet.plan.policy.policy import Policy, read_policy
from discreet.service.credentials import Logins, RateLimits, Tokens, new_secret
from discreet.service.directory import Directory
from discreet.service.roles import Caller, Permission, Role
from discreet.service.site import ServedDataset, Site
from discreet.service.state import LOG_NAME, STATE_NAME, SecurityLog, StateStore
from discreet.service.witness_keeper import WitnessKeeper
from discreet.service.workers.jobs import AskJob
from discreet.service.workers.pool import Pool

if TYPE_CHECKING:  # loaded if a site names a provider
    from discreet.service.oidc import OpenIdLogin

_KEPT_JOBS: Final = 4096


class OpenedSite:
    """One site, opened; ``close`` stops its workers and closes its ledgers."""

    __slots__ = (
        "_ends",
        "_jobs",
        "_ledgers",
        "_lock",
        "_policies",
        "_pools",
        "_store",
        "_witnesses",
        "directory",
        "log",
        "login_rates",
        "logins",
        "openid",
        "rates",
        "site",
        "tokens",
    )

    def __init__(self, site: Site) -> None:
        """Open ledgers, the state of the site, and workers."""
        self.site = site
        _make_folder(site.state)
        self.log = SecurityLog(site.state / LOG_NAME)
        self._store = StateStore(site.state / STATE_NAME)
        self.directory = Directory(site, log=self.log)
        self.logins = Logins(
            self._store, self.directory, hours=site.limits.session_hours, log=self.log
        )
        self.tokens = Tokens(self._store, self.directory, log=self.log)
        self.rates = RateLimits(per_minute=site.limits.calls_per_minute)
        self.login_rates = RateLimits(per_minute=site.limits.logins_per_minute)
        self.openid: OpenIdLogin | None = None
        if site.provider is not None:  # loaded if it is used
            from discreet.service.oidc import OpenIdLogin  # noqa: PLC0415

            self.openid = OpenIdLogin(site.provider, url=site.address.url)
        self._lock = threading.Lock()
        self._jobs: dict[str, AskJob] = {}
        self._ends: dict[str, Receipt] = {}
        self._policies: dict[str, Policy] = {}
        self._ledgers: dict[str, Ledger] = {}
        self._pools: dict[str, Pool] = {}
        self._witnesses = WitnessKeeper(log=self.log)
        try:
            for name, dataset in site.datasets.items():
                self._policies[name] = read_policy(dataset.policy)
                self._ledgers[name] = opened_ledger(dataset, self._policies[name])
                if dataset.witness is not None:
                    self._witnesses.add(name, self._ledgers[name], dataset.witness)
                self._ends[name] = self._ledgers[name].receipt
                self._pools[name] = Pool(
                    dataset, self._ledgers[name], site.limits, site.state, log=self.log
                )
        except BaseException:
            self.close(wait=0)
            raise
        self._witnesses.start()
        self.log.write("start")

    def close(self, *, wait: float = 10.0) -> None:
        """Let running questions end within a time, stop the workers, and close the ledgers."""
        for pool in self._pools.values():
            pool.close(wait=wait)
        self._witnesses.close()
        for ledger in self._ledgers.values():
            ledger.close()
        if self.openid is not None:
            self.openid.close()
        self.log.write("stop")
        self._store.close()
        self.log.close()

    def loopback_caller(self) -> Caller | None:
        """Return the one person of the mode without log-in, who may do everything."""
        who = self.site.loopback_person
        return None if who is None else Caller.of(who, frozenset(Role))

    def datasets(self, caller: Caller) -> tuple[str, ...]:
        """Return the names of the datasets that a caller may see."""
        return tuple(name for name in self.site.datasets if caller.sees(name))

    def schema(self, caller: Caller, dataset: str) -> Mapping[str, Any]:
        """Return the public facts about the tables: unit, columns, types, bounds, categories."""
        self._check(caller, dataset, Permission.SCHEMA)
        return self._worked(caller, dataset, {"verb": "schema"})

    def policy(self, caller: Caller, dataset: str) -> Policy:
        """Return the owner's rules."""
        self._check(caller, dataset, Permission.SCHEMA)
        return self._policies[dataset]

    def ready(self) -> bool:
        """Say whether all datasets are served."""
        return not self.hindrances()

    def hindrances(self) -> tuple[str, ...]:
        """Say why not all datasets are served, in words that name none of them."""
        found = {
            "the state of the site is not there": not self._store.is_there(),
            "data cannot be opened": any(pool.problem for pool in self._pools.values()),
            "a ledger does not continue its witness": any(
                self._witnesses.contradiction(name) for name in self._pools
            ),
        }
        return tuple(words for words, so in found.items() if so)

    def workers(self, dataset: str) -> tuple[int, ...]:
        """Return the process numbers of the workers of a dataset."""
        return self._pools[dataset].workers()

    def account_of(self, caller: Caller, dataset: str) -> str | None:
        """Return the account that pays for a caller: the one whose path ends with their name.

        The longest such path, if there are several; the first account of the ledger (None) without
        one.
        """
        paths = self._ledgers[dataset].accounts
        own = [path for path in paths if path.rpartition("/")[2] == caller.person and "/" in path]
        return max(own, key=len, default=None)

    # --- inside -------------------------------------------------------------------------------

    def _check(self, caller: Caller, dataset: str, permission: Permission) -> None:
        """Refuse what the caller may not do; a dataset that they may not see does not exist."""
        caller.check(permission)
        if dataset in self.site.datasets and caller.sees(dataset):
            caller.check(permission, dataset)
        else:
            raise NotServed(
                what="there is no such dataset here.",
                why="a question is about a dataset that this server serves, to you.",
                do=f"use one of: {', '.join(self.datasets(caller)) or 'none'}.",
            )

    def _pool(self, dataset: str) -> Pool:
        pool = self._pools[dataset]
        problem = pool.problem or self._witnesses.contradiction(dataset)
        if problem is not None:
            raise type(problem)(what=problem.what, why=problem.why, do=problem.do)
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

    def _worked(
        self,
        caller: Caller,
        dataset: str,
        message: Mapping[str, Any],
        *,
        begun: Callable[[AskJob], object] | None = None,
    ) -> dict[str, Any]:
        """Have a worker do something that spends nothing."""
        job = self._job(caller, dataset, message)
        if begun is not None:
            begun(job)
        self._pool(dataset).submit(job)
        job.wait()
        if job.error is not None:
            raise told_error(job)
        return dict(job.result or {})


def _make_folder(path: Path) -> None:
    """Make the state folder, which other users must not read."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise LedgerUnavailable(
            what="the state folder cannot be made.",
            why="something else is at its path, or the folder above it cannot be written.",
            do='name another one in the site file: state = "...".',
        ) from None


def told_error(job: AskJob) -> DiscreetError:
    """Return the error of a failed job for its caller: after the charge, only ``TryAgain``.

    A closed question was charged before, and gets the same error.  A job that no worker has taken
    was refused for a public reason.
    """
    error = job.error
    assert error is not None  # noqa: S101  it has failed
    hidden = isinstance(error, QuestionClosed | EngineError | EntropyError)
    if job.begun and (job.charged or hidden):
        return TryAgain(
            what="there is no answer now.",
            why="after a charge nothing is told but answers: a reason could depend on the data.",
            do="ask again: what was charged is not charged twice.  If it stays so, ask the owner.",
        )
    return type(error)(what=error.what, why=error.why, do=error.do)


def opened_ledger(dataset: ServedDataset, policy: Policy) -> Ledger:
    """Open the ledger of a dataset, or make it if neither it nor its witness is."""
    named = None if policy.session is None else policy.session.ledger_id
    known = None if dataset.witness is None else WitnessFile(dataset.witness).last()
    if named is None and known is not None:
        named = known.receipt.ledger
    return Ledger.open(dataset.ledger, unit=policy.unit, budget=policy.budget, id=named)
