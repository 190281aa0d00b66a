"""A program that answers one question in several ways, and prints the noise of each answer.

Trust: public.  It runs as a program of its own, because it forks and takes over random bits:

    python -m discreet_audit.implementation.sessions.asker FOLDER PRICE NAME

Every group has one person, so that a count without noise is 1.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pyarrow as pa

from discreet.accounting import Budget
from discreet.ledger.stores import sqlite
from discreet.mechanisms.additive import AdditiveNoise
from discreet.noise import Distribution
from discreet.release.release import Release
from discreet.session import Session
from discreet.session import open as opened

GROUPS: Final = 400
PRICES: Final[tuple[dict[str, Any], ...]] = ({"epsilon": "0.125"}, {"rho": "0.01"})
_BUDGET: Final = Budget(epsilon=100, delta="1e-6")
_NAMES: Final = [f"g{number}" for number in range(GROUPS)]
_POLICY: Final = f"""
format = 1
unit = "who"
[limits]
max_rows = 1
max_groups = 1
[tables.t.columns]
who = {{type = "integer"}}
g = {{type = "text", categories = {json.dumps(_NAMES)}}}
"""
_QUESTION: Final = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"


def open_at(ledger: Path) -> Session:
    """Open the table with a ledger."""
    table = pa.table({"who": list(range(GROUPS)), "g": _NAMES})
    return opened({"t": table}, policy=_POLICY, budget=_BUDGET, ledger=ledger)


def law_of(price: int) -> Distribution:
    """Return the law of the noise at a price."""
    table = pa.table({"who": [0], "g": ["g0"]})
    with opened({"t": table}, policy=_POLICY, test_mode=True) as session:
        (noise,) = session.plan(_QUESTION, **PRICES[price]).noises
        mechanism: AdditiveNoise = noise.mechanism
        return mechanism.law


def noise_of(release: Release) -> list[int]:
    """Return the noise of an answer about groups of one person each."""
    rows = release.to_arrow(unclipped=True).to_pylist()
    told = {row["g"]: int(row["n_unclipped"]) for row in rows}
    return [told[name] - 1 for name in _NAMES]


def asked(ledger: Path, price: int) -> list[int]:
    """Ask once, under a ledger."""
    with open_at(ledger) as session:
        return noise_of(session.ask(_QUESTION, confirm=True, **PRICES[price]))


def answers(folder: Path, price: int) -> dict[str, list[list[int]]]:
    """Answer in all ways; those under one name share something."""
    folder.mkdir()
    found = {"two ledgers": [asked(folder / name, price) for name in ("a", "b")]}
    with open_at(folder / "draws") as session:
        plan = session.plan(_QUESTION, **PRICES[price])
        draws = [session._answer(plan, draw, confirm=True) for draw in (1, 2, 3)]  # noqa: SLF001
        found["draws of one question"] = [noise_of(draw) for draw in draws]
    with open_at(folder / "new"):
        pass
    places = [_copied(folder / "new", folder / name) for name in ("copy", "other copy")]
    with _taken_for_the_original():
        found["two copies of a ledger"] = [asked(place, price) for place in places]
    found["a process and its fork"] = _forked(folder, price)
    halves = found["two ledgers"][0]
    found["groups of one answer"] = [halves[: GROUPS // 2], halves[GROUPS // 2 :]]
    return found


def _copied(ledger: Path, place: Path) -> Path:
    """Copy a ledger, as a snapshot of a machine would."""
    shutil.copy(ledger, place)
    return place


def _taken_for_the_original() -> AbstractContextManager[object]:
    """Let copies of a ledger pass, as they do where all of a machine is copied, inodes and all."""
    return mock.patch.object(sqlite, "is_original", return_value=True)


def _forked(folder: Path, price: int) -> list[list[int]]:
    """Answer in a child of this process, which has drawn before, and here."""
    theirs, ours = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(ours, json.dumps(asked(folder / "child", price)).encode())
        finally:
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "r", encoding="utf-8") as file:
        child = json.loads(file.read())
    os.waitpid(pid, 0)
    return [child, asked(folder / "parent", price)]


def with_bits(folder: Path, price: int, name: str) -> dict[str, list[list[int]]]:
    """Answer under a ledger that is the same for all names, with bits that follow from the name.

    Nothing else tells one run from another.
    """
    here = folder / name
    here.mkdir()
    ledger = _copied(folder / "one" / "new", here / "ledger")
    counter = itertools.count()

    def bits(size: int) -> bytes:
        return hashlib.shake_256(f"{name} {next(counter)}".encode()).digest(size)

    with mock.patch.object(os, "urandom", bits), _taken_for_the_original():
        return {"answer": [asked(ledger, price)]}


def main(arguments: list[str]) -> None:
    """Answer, and print the noises."""
    folder, price, name = Path(arguments[0]), int(arguments[1]), arguments[2]
    if name.startswith("bits"):
        found = with_bits(folder, price, name)
    elif name == "alone":
        found = {"answer": [asked(folder / name, price)]}
    else:
        found = answers(folder / name, price)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
