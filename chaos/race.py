"""Many processes charge one account at once, until long after it is empty.

Exactly as many charges as there is room for must be granted, and every process must get its share:
a lock that wakes waiters at random leaves some of them without a turn for a long time.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from chaos.analyst import PRICE
from chaos.forks import apart
from chaos.stores import Wrapper, wrapped
from discreet.accounting import Budget
from discreet.errors import OverBudget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.units import row


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many race, for how much."""

    address: str
    folder: Path
    processes: int
    attempts: int
    """Of all processes together."""
    limit: int
    wrapper: Wrapper | None = None
    reopen: bool = False
    """Whether each attempt opens the ledger anew."""


@dataclass(slots=True)
class Runner:
    """What one process got."""

    granted: int = 0
    refused: int = 0
    longest: float = 0.0
    """The longest wait for one charge, in seconds."""


@dataclass(slots=True)
class Race:
    """What came of it."""

    runners: list[Runner]
    charges: int
    limit: int
    seconds: float
    problems: list[str]

    @property
    def granted(self) -> int:
        """How many charges the processes believe to have."""
        return sum(runner.granted for runner in self.runners)

    @property
    def wrong(self) -> list[str]:
        """Everything that must not be."""
        found = list(self.problems)
        if not self.granted == self.charges == self.limit:
            found.append(f"granted {self.granted}, recorded {self.charges}, limit {self.limit}")
        return found


def race(plan: Plan) -> Race:
    """Let them race, and count."""
    receipt = apart(partial(_set_up, plan))
    with _gate() as (ready, go):
        pids = [_fork(plan, number, ready, go) for number in range(plan.processes)]
        os.close(ready[1])
        os.read(ready[0], 1)  # ends when the last process has closed its end
        begun = time.monotonic()
        os.close(go[1])
        ends = [os.waitpid(pid, 0)[1] for pid in pids]
    seconds = time.monotonic() - begun
    problems = [path.read_text("utf-8") for path in sorted(plan.folder.glob("failed-*"))]
    problems += [f"a process ended with {status}" for status in ends if status and not problems]
    files = sorted(plan.folder.glob("runner-*"))
    runners = [Runner(**json.loads(path.read_text("utf-8"))) for path in files]
    charges, found = apart(partial(_check, plan, receipt))
    return Race(runners, charges, plan.limit, seconds, problems + found)


def _set_up(plan: Plan) -> str:
    with _open(plan) as ledger:
        return str(ledger.receipt)


def _check(plan: Plan, receipt: str) -> tuple[int, list[str]]:
    with _open(plan) as ledger:
        charges = sum(entry["kind"] == "charge" for entry in ledger.entries())
        return charges, [str(problem) for problem in ledger.verify([receipt]).problems]


def _open(plan: Plan) -> Ledger:
    return Ledger.open(plan.address, unit=row(), budget=Budget(epsilon=plan.limit * PRICE))


@contextmanager
def _gate() -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    ready, go = os.pipe(), os.pipe()
    try:
        yield ready, go
    finally:
        os.close(ready[0])
        os.close(go[0])


def _fork(plan: Plan, number: int, ready: tuple[int, int], go: tuple[int, int]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(go[1])
        with wrapped(plan.wrapper), _open(plan) as ledger:
            os.close(ready[1])
            os.read(go[0], 1)
            runner = _run(plan, ledger, number)
        Path(plan.folder, f"runner-{number}").write_text(json.dumps(asdict(runner)), "utf-8")
        status = 0
    except BaseException:  # noqa: BLE001  (it is reported, and nothing may run after it)
        Path(plan.folder, f"failed-{number}").write_text(traceback.format_exc(), "utf-8")
    finally:
        os._exit(status)


def _run(plan: Plan, ledger: Ledger, number: int) -> Runner:
    runner = Runner()
    for attempt in range(plan.attempts // plan.processes):
        begun = time.monotonic()
        try:
            with _open(plan) if plan.reopen else nullcontext(ledger) as opened:
                opened.charge(Pure(epsilon=PRICE), key=f"{number}-{attempt}")
            runner.granted += 1
        except OverBudget:
            runner.refused += 1
        runner.longest = max(runner.longest, time.monotonic() - begun)
    return runner
