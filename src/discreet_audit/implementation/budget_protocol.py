"""A9: processes that race, are killed, or go back in time.

Trust: public.

A short storm (:mod:`discreet_audit.implementation.storm`): three processes at a time ask the same
and other questions of one ledger with little room, and are killed at random moments, again and
again.  Then nothing may have been told without a charge and a record, nothing told twice in two
ways, paid twice, or charged beyond the limits; and an older copy of the ledger must be recognized
by a receipt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from discreet.accounting import Budget
from discreet.errors import OverBudget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.units import row
from discreet_audit.findings import Finding

_WRONG: Final = ("free", "changed", "double", "overspent", "chain")


def attack(*, quick: bool) -> Finding:
    """Let it storm, and race threads for the last of a budget."""
    kills, room = (3, 30) if quick else (100, 1000)
    outcome = _storm(kills, room)
    granted = _race(threads=8, room=20)
    wrong = [f"{outcome[kind]} {kind}" for kind in _WRONG if outcome[kind]]
    wrong += ["a copy from before was not recognized"] * (not outcome["rollback_seen"])
    wrong += [f"{granted} of 20 granted"] * (granted != 20)
    return Finding(
        claimed="no answer without a charge, one answer and one charge for a question, no charge "
        "beyond the limits, no way back",
        measured=f"{3 * kills} kills, {outcome['told']} answers told, {outcome['charged']} of "
        f"{room} charges, a race for 20 granted {granted}: {len(wrong)} violations"
        f"{': ' * bool(wrong)}{', '.join(wrong)}",
        passed=not wrong,
        numbers={"kills": 3 * kills, "granted_in_race": granted, **_numbers(outcome)},
        not_covered="power loss and PostgreSQL (./run chaos ledger); whoever can write to the file "
        "of the ledger and has all receipts",
    )


def _storm(kills: int, room: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer) / "storm"
        folder.mkdir()
        words = [sys.executable, "-m", "discreet_audit.implementation.storm"]
        done = subprocess.run(  # noqa: S603  (our own program)
            [*words, str(folder), str(kills), str(room)],
            check=True,
            capture_output=True,
            text=True,
        )
        outcome: dict[str, Any] = json.loads(done.stdout)
        return outcome


def _race(*, threads: int, room: int) -> int:
    """Return how many charges are granted where many threads want more than there is."""
    gate = threading.Barrier(threads)

    def run(runner: int) -> int:
        gate.wait()
        granted = 0
        for number in range(room):
            try:
                ledger.charge(Pure(epsilon="0.125"), key=f"{runner}, {number}")
            except OverBudget:
                continue
            granted += 1
        return granted

    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(epsilon=f"{room}/8")
        with (
            Ledger.open(Path(folder) / "race.ledger", unit=row(), budget=budget) as ledger,
            ThreadPoolExecutor(threads) as pool,
        ):
            return sum(pool.map(run, range(threads)))


def _numbers(outcome: dict[str, Any]) -> dict[str, int]:
    return {name: int(value) for name, value in outcome.items()}
