"""Lose power at every moment of a recorded run, and look at what is left of the ledger.

Whatever was told or read before that moment must be paid for and stored, the record must stand its
check and fit every receipt, and the ledger must go on: one more question is asked.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from chaos.analyst import ROOM, ROOT, Analyst, Question, open_accounts, open_ledger, unanswered
from chaos.checks import check
from chaos.diary import Diary, diary, events
from chaos.disk import KINDS, State, states
from chaos.stores import Wrapped, Wrapper, copies_pass, wrapped
from chaos.trace import Mark, Operation, Session, Sync, record
from discreet.errors import DiscreetError

SESSIONS: Final = (
    *((1, None), (3, None)),
    *((1, number) for number in range(1, 25)),
    *((3, 9), (3, 12), (1, None), (3, None), (1, None)),
)
"""How many threads each session has, and at which sync it is killed, if it is: while it opens the
ledger, and amid each of the steps of a question."""

LEDGER, DIARY = "ledger", "diary"
EACH_CELL = 25
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (a sync costs nothing there)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is recorded, and how many of its states are looked at."""

    folder: Path
    questions: int
    """For each session."""
    sessions: Sequence[tuple[int, int | None]] = SESSIONS
    wrapper: Wrapper = Wrapped
    some: int = 1
    """How many random states after each operation."""
    kinds: Collection[str] = KINDS
    """Only states of these kinds are looked at."""
    every: int = 1
    """Of those, only one in so many."""
    seed: int = 0
    processes: int = 2


@dataclass(slots=True)
class Losses:
    """What was looked at, and what is wrong."""

    operations: int
    syncs: int
    told: int
    states: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


def power_loss(plan: Plan) -> Losses:
    """Record a run, and look at the states that it may leave."""
    begun = time.monotonic()
    operations = recorded(plan)
    found = Losses(
        operations=len(operations),
        syncs=sum(isinstance(one, Sync) for one in operations),
        told=sum(isinstance(one, Mark) and '"told"' in one.text for one in operations),
    )
    with ProcessPoolExecutor(plan.processes) as pool:
        shares = [pool.submit(_look, plan, operations, n) for n in range(plan.processes)]
        for kinds, wrong in (share.result() for share in shares):
            found.states += kinds
            found.wrong += wrong
    found.seconds = time.monotonic() - begun
    return found


def recorded(plan: Plan) -> list[Operation]:
    """Run all sessions on one ledger."""
    run = plan.folder / "run"
    run.mkdir()
    sessions = [
        Session(partial(work, run, questions=plan.questions, threads=t, wrapper=plan.wrapper), n)
        for t, n in plan.sessions
    ]
    return record(sessions, run, diary=str(run / DIARY))


def _look(
    plan: Plan, operations: Sequence[Operation], share: int
) -> tuple[Counter[str], list[str]]:
    """Look at every so many states, beginning with a number; others look at those in between."""
    kinds: Counter[str] = Counter()
    wrong = []
    every = states(operations, seed=plan.seed, some=plan.some)
    possible = (state for state in every if state.kind in plan.kinds)
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        for state in islice(possible, share * plan.every, None, plan.every * plan.processes):
            kinds[state.kind] += 1
            wrong += problems(state, Path(folder))
    return kinds, wrong


def problems(state: State, folder: Path) -> list[str]:
    """Put the files of a state in place, use the ledger, and list what is wrong."""
    shutil.rmtree(folder)
    folder.mkdir()
    for path, content in state.files.items():
        (folder / Path(path).name).write_bytes(content)
    past = [event for text in state.told for event in events(text.splitlines())]
    more = folder / "more"
    try:
        with copies_pass(), open_ledger(str(folder / LEDGER)) as ledger:
            open_accounts(ledger)
            notes = Diary(more)
            Analyst(ledger, notes).ask(Question(999, ROOT, "after the loss"))
            notes.close()
            found = check(ledger, [*past, *diary(more)]).wrong
    except DiscreetError as error:
        texts = [f"of no use any more: {type(error).__name__}: {error}"]
    else:
        texts = [f"{kind}: {text}" for kind, listed in found.items() for text in listed]
    return [f"{state.kind} after operation {state.at}: {text}" for text in texts]


# --- the sessions that are recorded ---------------------------------------------------------------


def work(folder: Path, *, questions: int, threads: int, wrapper: Wrapper) -> None:
    """Ask again what was not answered, then new questions, one after another or several at once.

    With several threads, another process has the ledger open too, and nobody closes it.
    """
    past = diary(folder / DIARY)
    first = len({event.key for event in past})
    numbers = range(first, first + questions)
    asked = [*map(Question.read, unanswered(past)), *map(_question, numbers)]
    address = str(folder / LEDGER)
    with wrapped(wrapper):
        if threads > 1:
            _open_elsewhere(address)
        ledger = open_ledger(address)
        open_accounts(ledger)
        analyst = Analyst(ledger, Diary(folder / DIARY))
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(analyst.ask, asked))
            os._exit(0)
        for question in asked:
            analyst.ask(question)
        ledger.close()


def _open_elsewhere(address: str) -> None:
    """Open the ledger in another process, which ends with this one."""
    opened, alive = os.pipe(), os.pipe()
    if not os.fork():
        os.close(alive[1])
        ledger = open_ledger(address)
        os.write(opened[1], b".")
        os.read(alive[0], 1)
        os._exit(ledger is None)
    os.read(opened[0], 1)


def _question(number: int) -> Question:
    accounts = tuple(ROOM)
    return Question(number // EACH_CELL, accounts[number % len(accounts)], f"q{number}")
