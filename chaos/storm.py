"""Kill processes that share a ledger, at random moments and at named points, again and again.

Each of a few places is taken by one process at a time, which opens the ledger and asks until it is
killed; then the next one takes its place, first asks again what was not answered, and goes on.
Processes are forks, so that a thousand of them do not take long.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from chaos.analyst import ROOM, ROOT, Analyst, Question, open_accounts, open_ledger, unanswered
from chaos.checks import Findings, check
from chaos.crashing import POINTS, Crashing, Fuse
from chaos.diary import Diary, Event, diary
from chaos.forks import apart
from chaos.stores import Wrapper, wrapped
from discreet.errors import LedgerUnavailable

AT_RANDOM = "at random"
EACH_CELL = 8
"""How many questions each place asks about one cell before it goes on to the next."""
ABANDONED = "3"
"""Questions whose names end so are not asked again while it storms."""
LONGEST = 20.0
"""Seconds after which a process that waits for its point is killed."""

Nemesis = Callable[[int], None]
"""Is called now and then with the number of kills, to do something else that is bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How hard it storms, and against what."""

    address: str
    folder: Path
    kills: int
    places: int = 4
    seed: int = 0
    patience: float = 0.3
    """Seconds after which a process is killed at random, at most."""
    analyst: type[Analyst] = Analyst
    wrapper: Wrapper | None = None
    points: tuple[str, ...] = POINTS
    nemesis: Nemesis | None = None


@dataclass(slots=True)
class Storm:
    """What came of it."""

    findings: Findings
    kills: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class _Place:
    number: int
    pid: int = 0
    point: str | None = None
    deadline: float = 0.0
    born: int = 0


def storm(plan: Plan) -> Storm:
    """Let it storm, and look at what is left."""
    begun = time.monotonic()
    apart(partial(_set_up, plan))
    kills, failures = _kill(plan)
    findings = apart(partial(_check, plan))
    return Storm(findings, kills, failures, time.monotonic() - begun)


def _set_up(plan: Plan) -> None:
    with open_ledger(plan.address) as ledger:
        open_accounts(ledger)


def _check(plan: Plan) -> Findings:
    seen = [event for place in range(plan.places) for event in diary(_diary(plan, place))]
    with open_ledger(plan.address) as ledger:
        return check(ledger, seen)


def _kill(plan: Plan) -> tuple[Counter[str], list[str]]:
    chosen = random.Random(plan.seed)  # noqa: S311  (when to kill)
    kills: Counter[str] = Counter()
    places = [_Place(number) for number in range(plan.places)]
    named = (point for _ in count() for point in plan.points)
    try:
        while kills.total() < plan.kills and not _failures(plan):
            for place in places:
                _tend(plan, place, kills, chosen, named)
            time.sleep(0.001)
            if plan.nemesis is not None:
                plan.nemesis(kills.total())
    finally:
        for place in places:
            if place.pid:
                os.kill(place.pid, signal.SIGKILL)
                os.waitpid(place.pid, 0)
    return kills, _failures(plan)


def _tend(
    plan: Plan,
    place: _Place,
    kills: Counter[str],
    chosen: random.Random,
    named: Iterator[str],
) -> None:
    """Fill an empty place, kill who stayed too long, and count the dead."""
    if not place.pid:
        place.point = next(named) if plan.points and chosen.random() < 0.5 else None
        wait = LONGEST if place.point else chosen.random() * plan.patience
        fuse = Fuse(place.point, chosen.randrange(1, 11))
        place.born += 1
        place.pid, place.deadline = _fork(plan, place, fuse), time.monotonic() + wait
    elif time.monotonic() > place.deadline:
        os.kill(place.pid, signal.SIGKILL)
        os.waitpid(place.pid, 0)
        kills[AT_RANDOM] += 1
        place.pid = 0
    else:
        dead, status = os.waitpid(place.pid, os.WNOHANG)
        if dead and os.WIFSIGNALED(status):
            kills[place.point or AT_RANDOM] += 1
        place.pid = 0 if dead else place.pid


def _fork(plan: Plan, place: _Place, fuse: Fuse) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        with wrapped(lambda store: Crashing(plan.wrapper(store) if plan.wrapper else store, fuse)):
            _work(plan, place, fuse)
    except BaseException:  # noqa: BLE001  (it is reported, and nothing may run after it)
        text = f"place {place.number}:\n{traceback.format_exc()}"
        Path(plan.folder, f"failed-{os.getpid()}").write_text(text, encoding="utf-8")
    os._exit(1)


def _work(plan: Plan, place: _Place, fuse: Fuse) -> None:
    """Ask until killed; a ledger that is not there for a while is asked again."""
    path = _diary(plan, place.number)
    while True:
        try:
            analyst = plan.analyst(open_ledger(plan.address), Diary(path), fuse)
            for question in _questions(place, diary(path)):
                analyst.ask(question)
        except LedgerUnavailable:
            time.sleep(0.05)


def _questions(place: _Place, past: list[Event]) -> Iterator[Question]:
    """First what was begun and not answered, then new questions, and some of the old ones again."""
    chosen = random.Random(1000 * place.born + place.number)  # noqa: S311  (what to ask)
    asked = {event.key for event in past}
    for key in unanswered(past):
        if not key.endswith(ABANDONED):
            yield Question.read(key)
    names = tuple(name for name in ROOM if name != ROOT)
    told = [event.key for event in past if event.what == "told"]
    for number in count(len(asked)):
        cell, account = number // EACH_CELL, names[place.number % len(names)]
        who = "all" if number % 5 == 0 else f"w{place.number}"
        if who == "all":
            account = names[0]
        yield Question(cell, account, f"{who}-{number}")
        if told and chosen.random() < 0.2:
            yield Question.read(chosen.choice(told))


def _diary(plan: Plan, place: int) -> Path:
    return plan.folder / f"diary-{place}"


def _failures(plan: Plan) -> list[str]:
    return [path.read_text("utf-8") for path in sorted(plan.folder.glob("failed-*"))]
