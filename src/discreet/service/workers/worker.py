"""A worker: a process with the data of one dataset, which plans and answers what it is sent.

Trust: kernel.  It is the only process of a server that reads data or draws noise.

It takes one job at a time from a socket that it inherits, works through a session, and sends plain
JSON back.  Charges, starts and releases go to the process that writes the ledger
(:mod:`discreet.service.workers.writer`): the order of these steps is that of every session.  Before
data is read the memory limit of the plan's class is set.  An error of a session travels in its
three sentences; of any other error nothing is sent but that there was one.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal

from discreet.documents import (
    DatasetDocument,
    ExplanationDocument,
    PlanDocument,
    QuestionDocument,
    ReleaseDocument,
)
from discreet.errors import DiscreetError, EngineFailed, NotAllowed, WrongKind
from discreet.exact import decimal
from discreet.explain import explain, label_of
from discreet.explain.label.label import opened_ledger
from discreet.ledger import Ledger
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing.calibration import Price
from discreet.release import Release
from discreet.service.reading import PublishedLedger
from discreet.service.site import ServiceLimits
from discreet.service.views import packed
from discreet.service.workers.jobs import LARGE, PlanClass, class_of
from discreet.service.workers.writer import (
    error_message,
    receive_message,
    send_message,
    shared_ledger,
)
from discreet.session import Session
from discreet.session import open as open_session

Job = Mapping[str, Any]
Tell = Callable[[Mapping[str, object]], None]
_KEPT: Final = 64
_EPSILONS: Final = ("epsilon", "bounds_epsilon", "limits_epsilon", "share_cut_epsilon")
_RHOS: Final = ("rho", "bounds_rho")
_CURVE: Final = tuple(Fraction(2) ** k for k in range(-4, 4))
"""The parts of a price at which a curve has points."""
_CURVE_SECONDS: Final = 0.3
"""No curve is drawn of a question that takes longer to plan; that follows from public facts."""


class Worker:
    """Carries out jobs with one session for each account."""

    __slots__ = ("_limits", "_sessions", "_whole", "mapped")

    def __init__(self, whole: Session, limits: ServiceLimits) -> None:
        """Take the session of the first account."""
        self._whole, self._limits = whole, limits
        self.mapped = mapped_bytes()
        self._sessions: dict[tuple[str | None, str | None], Session] = {}

    def carry_out(self, job: Job, tell: Tell) -> dict[str, Any]:
        """Return what a job leads to, as plain JSON."""
        match job["verb"]:
            case "plan":
                return self._plan(job)
            case "ask":
                return self._ask(job, tell)
            case "explain":
                about = explain(
                    self._record(job),
                    about=self._whole.policy.about,
                    audience=job["audience"],
                    entry=job["entry"],
                )
                return _told("explanation", about, about.to_json())
            case "label":
                record, said = self._record(job), self._whole.policy.about
                label = label_of(record, about=said, entry=job["entry"])
                return _told("label", label, label.content)
            case "schema":
                return DatasetDocument.of(self._whole).written()
            case _:
                raise WrongKind(
                    what="a worker was sent an unknown job.",
                    why="it plans, asks, explains and labels.",
                    do="run the same version everywhere.",
                )

    def _record(self, job: Job) -> LedgerView:
        """Return the ledger, as far as the caller may see it."""
        ledger, until = opened_ledger(self._whole), job["until"]
        return ledger if until is None else PublishedLedger(ledger, Receipt.read(until))

    def _session(self, job: Job) -> Session:
        who = (job["account"], job["analyst"])
        if who not in self._sessions:
            if len(self._sessions) >= _KEPT:
                self._sessions.clear()
            self._sessions[who] = self._whole.charging(
                account=who[0], analyst=who[1], least=self._whole.policy.limits.min_epsilon
            )
        return self._sessions[who]

    def _plan(self, job: Job) -> dict[str, Any]:
        session, form = self._session(job), QuestionDocument.read(job["forms"][0])
        if form.limits_epsilon is not None:
            raise WrongKind(
                what="limits are to be bought for a question that is only planned.",
                why="planning spends nothing here.",
                do="ask the question, or give its limits.",
            )
        options = form.options()
        options.pop("share_cut")
        self._check_least(form)
        begun = time.monotonic()
        plan = session.plan(form.asked, **options)
        quick = time.monotonic() - begun < _CURVE_SECONDS
        self._check_least(plan.price if form.error else form)
        if plan.digest in job["untold"]:  # its record is reported at its tick
            plan = replace(plan, budget_preview=None)
        size = class_of(plan).name
        curve = _curve(session, form, plan) if job.get("curve") and quick else []
        return {
            "document": PlanDocument.of(plan, size=size, curve=curve).written(),
            "plan": packed(plan),
            "digest": plan.digest,
        }

    def _ask(self, job: Job, tell: Tell) -> dict[str, Any]:
        """Ask the first form, and remeasure with the prices of the others, if there are any."""
        session = self._session(job)
        first, *more = forms = tuple(map(QuestionDocument.read, job["forms"]))
        for form in forms:
            self._check_least(form)
        options = first.options()
        size = LARGE
        if options["limits"] is None and options["share_cut"] is None:
            del options["share_cut"]
            try:
                plan = session.plan(first.asked, **options)
            except WrongKind:  # groups that WITH releases are asked for together with it
                self._prepare(size, tell)
                release = session.ask(first.asked, confirm=first.confirm, **options)
            else:
                self._check_least(plan.price if first.error else first)
                size = class_of(plan)
                self._prepare(size, tell)
                sampled = "population" if first.intervals == "population" else None
                release = session.ask(plan, confirm=first.confirm, intervals=sampled)
        else:
            self._prepare(size, tell)
            release = session.ask(first.asked, confirm=first.confirm, **options)
        for form in more:
            options = form.options()
            release = session.remeasure(release, confirm=form.confirm, **options)
        return {**_answer(release, session), "class": size.name}

    def _check_least(self, asked: QuestionDocument | Price) -> None:
        """Refuse prices below the policy's minimum, for every purchase (T1)."""
        least = self._whole.policy.limits.min_epsilon
        for name in _EPSILONS + _RHOS:
            given = getattr(asked, name, None)
            floor = least if name in _EPSILONS else least**2 / 2
            if given is not None and 0 < decimal(given, name=name) < floor:
                raise NotAllowed(
                    what=f"{name} is below {float(floor):.4g}, the least of one question here.",
                    why="its tick and its errors reveal something, too, and are paid for by this.",
                    do="ask for more exact answers, or have the owner write "
                    "min_epsilon_per_question under [limits].",
                )

    def _prepare(self, size: PlanClass, tell: Tell) -> None:
        tell({"event": "planned", "class": size.name})
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        more = self.mapped + size.bytes(self._limits)
        resource.setrlimit(resource.RLIMIT_AS, (min(more, hard), hard))


def _curve(session: Session, form: QuestionDocument, plan: Plan) -> list[dict[str, Any]]:
    """Return the errors of a question at lower and higher prices; planning them spends nothing."""
    name = "rho" if plan.price.epsilon is None else "epsilon"
    paid: Fraction | None = getattr(plan.price, name)
    options = {**form.options(), "epsilon": None, "rho": None, "error": None}
    options.pop("share_cut")
    points: list[dict[str, Any]] = []
    if not paid or plan.exact:
        return points
    for part in _CURVE:
        with suppress(DiscreetError):  # a price that the policy does not allow
            known = session.plan(form.asked, **{**options, name: str(paid * part)}).predicted
            errors = {e.output: float(e.half_width) for e in known if e.half_width is not None}
            points.append({name: float(paid * part), "errors": errors})
    return points


def mapped_bytes() -> int:
    """Return the mapped memory of this process: mostly libraries and stacks.

    >>> mapped_bytes() > 0
    True
    """
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _told(kind: Literal["explanation", "label"], told: Any, content: Any) -> dict[str, Any]:
    document = ExplanationDocument(kind=kind, text=str(told), html=told.to_html(), content=content)
    return {"document": document.written()}


def _answer(release: Release, session: Session) -> dict[str, Any]:
    document = ReleaseDocument.of(release, session.remaining)
    return {
        "document": document.written(),
        "release": packed(release),
        "replayed": release.replayed,
    }


def opened(start: Job, ledger: Ledger) -> Session:
    """Open the data with the ledger that another process writes."""
    rules = read_policy(Path(start["policy"]))
    return open_session(
        start["data"],
        policy=rules,
        ledger=ledger,
        analyst=None if rules.analysts is None else rules.analysts[0],
    )


def serve(channel: socket.socket) -> None:
    """Open the data, and carry out jobs until the other end closes."""
    start = receive_message(channel)
    if start is None:
        return
    limits = ServiceLimits(memory=start["memory"], seconds=Fraction(start["seconds"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        ledger = shared_ledger(start["ledger"], Path(start["writer"]), name=start["name"])
    except DiscreetError as error:
        send_message(channel, error_message(error))
        return
    with ledger:  # closed before this process ends, so that no process finds it half in use
        _work(start, ledger, limits, channel)


def _work(start: Job, ledger: Ledger, limits: ServiceLimits, channel: socket.socket) -> None:
    """Carry out jobs with an open ledger."""
    try:
        worker = Worker(opened(start, ledger), limits)
    except DiscreetError as error:
        send_message(channel, error_message(error))
        return
    most = worker.mapped + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    send_message(channel, {"event": "ready"})
    while (job := receive_message(channel)) is not None:
        send_message(channel, _reply(worker, job, channel))


def _reply(worker: Worker, job: Job, channel: socket.socket) -> dict[str, Any]:
    try:
        return {"kind": "result", **worker.carry_out(job, lambda m: send_message(channel, m))}
    except DiscreetError as error:
        return error_message(error)
    except Exception:  # noqa: BLE001  its text may quote the data
        return error_message(unexpected_error())


def unexpected_error() -> EngineFailed:
    """Return the error that replaces all foreign ones."""
    return EngineFailed(
        what="the question could not be worked on.",
        why="what is known of the reason may hold values of the data.",
        do="ask again; if it stays so, ask the owner of the table to look.",
    )


def main() -> None:
    """Run as a process of its own, with a socket as its only argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server stops its workers
    logging.disable(logging.CRITICAL)
    sys.tracebacklimit = 0
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # no library of ours writes data there, and no other gets to
        os.dup2(nowhere, stream)
    channel = socket.socket(fileno=int(sys.argv[1]))
    try:
        serve(channel)
    except (OSError, ValueError):  # the server is gone
        os._exit(0)


if __name__ == "__main__":
    main()
