"""Processes that share a ledger and are killed: what they were told, and what is on record.

Trust: public.  It runs as a program of its own, because only a process without threads forks well:

    python -m discreet_audit.implementation.storm FOLDER KILLS ROOM
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from discreet.accounting import Budget
from discreet.errors import OverBudget
from discreet.exact import decimal
from discreet.ledger import Ledger, StoredAnswer
from discreet.loss import Pure
from discreet.noise import SYSTEM
from discreet.units import row

PRICE: Final = decimal("0.125", name="price")
PLACES: Final = 3
_PATIENCE: Final = 250
"""Milliseconds after which a process is killed, at most."""


def storm(folder: Path, *, kills: int, room: int) -> dict[str, Any]:
    """Kill many processes, let the last ones finish, and count what is wrong."""
    _apart(lambda: _set_up(folder, room))
    shutil.copytree(folder, folder.with_name("earlier"))
    for _ in range(kills):
        pids = [_fork(folder, place, room, last=False) for place in range(PLACES)]
        time.sleep(SYSTEM.bits(16) % _PATIENCE / 1000)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    for pid in [_fork(folder, place, room, last=True) for place in range(PLACES)]:
        os.waitpid(pid, 0)
    _apart(lambda: _check(folder, room))
    outcome: dict[str, Any] = json.loads((folder / "found.json").read_text("utf-8"))
    return outcome


def _open(folder: Path, room: int) -> Ledger:
    return Ledger.open(folder / "storm.ledger", unit=row(), budget=Budget(epsilon=room * PRICE))


def _set_up(folder: Path, room: int) -> None:
    with _open(folder, room) as ledger:
        (folder / "receipt").write_text(str(ledger.receipt), encoding="utf-8")


def _apart(work: Any) -> None:
    """Do something in a child process, because a ledger has threads."""
    pid = os.fork()
    if not pid:
        _ended(work)
    if os.waitpid(pid, 0)[1]:
        message = "a process that was to set up or check a ledger failed"
        raise RuntimeError(message)


def _ended(work: Any) -> None:
    """Do something, and end the process whatever comes of it."""
    status = 1
    try:
        work()
        status = 0
    except BaseException as error:  # noqa: BLE001  (nothing may run after it)
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def _fork(folder: Path, place: int, room: int, *, last: bool) -> int:
    pid = os.fork()
    if not pid:
        _ended(lambda: _ask(folder, place, room, last=last))
    return pid


def _ask(folder: Path, place: int, room: int, *, last: bool) -> None:
    """Ask until killed, each question as often as it takes; the last ones ask all, once."""
    path = folder / f"told-{place}"
    with _open(folder, room) as ledger, path.open("a", encoding="utf-8") as diary:
        known = len({line.split()[0] for line in path.read_text("utf-8").splitlines()})
        for number in range(0 if last else known, 2 * room):
            key = f"question {number}" if number % 3 else f"question {number} of {place}"
            answer = _answered(ledger, key)
            diary.write(f"{key.replace(' ', '-')} {answer}\n")
            diary.flush()


def _answered(ledger: Ledger, key: str) -> str:
    """Pay, begin, draw and store; answers are never twice the same by chance."""
    try:
        ledger.charge(Pure(epsilon=PRICE), key=key)
    except OverBudget:
        return "refused"
    begun = ledger.start(key)
    if not isinstance(begun, StoredAnswer):
        begun = ledger.release(key, SYSTEM.bits(128).to_bytes(16, "little"))
    return begun.answer.hex()


def _check(folder: Path, room: int) -> None:
    heard: dict[str, set[str]] = defaultdict(set)
    for path in folder.glob("told-*"):
        for line in path.read_text("utf-8").splitlines():
            key, _, answer = line.partition(" ")
            if len(answer) == 32:
                heard[key].add(answer)
    first = (folder / "receipt").read_text("utf-8")
    with _open(folder, room) as ledger:
        charges: dict[str, int] = defaultdict(int)
        stored: set[str] = set()
        entries: list[dict[str, Any]] = list(ledger.entries())
        for entry in entries:
            key = str(entry.get("key", "")).replace(" ", "-")
            charges[key] += entry["kind"] == "charge"
            stored |= {key} if entry["kind"] == "release" else set()
        last = ledger.receipt
        outcome = {
            "told": sum(map(len, heard.values())),
            "charged": sum(charges.values()),
            "room": room,
            "free": sum(key not in stored or not charges[key] for key in heard),
            "changed": sum(len(answers) > 1 for answers in heard.values()),
            "double": sum(count > 1 for count in charges.values()),
            "overspent": max(sum(charges.values()) - room, 0),
            "chain": len(ledger.verify([first, last]).problems),
        }
    outcome["rollback_seen"] = _rollback_seen(folder, room, str(last))
    (folder / "found.json").write_text(json.dumps(outcome), encoding="utf-8")


def _rollback_seen(folder: Path, room: int, receipt: str) -> bool:
    """Say whether an older state in place contradicts the last receipt, then and after going on."""
    for older in folder.with_name("earlier").iterdir():
        (folder / older.name).write_bytes(older.read_bytes())  # a copy elsewhere would be refused
    with _open(folder, room) as ledger:
        before = bool(ledger.verify([receipt]).problems)
        for number in range(room):
            _answered(ledger, f"another question {number}")
        return before and bool(ledger.verify([receipt]).problems)


def main(arguments: list[str]) -> None:
    """Storm as the command line says, and print what was found."""
    folder, kills, room = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    sys.stdout.write(json.dumps(storm(folder, kills=kills, room=room)))


if __name__ == "__main__":
    main(sys.argv[1:])
