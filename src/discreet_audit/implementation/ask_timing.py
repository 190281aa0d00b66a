"""A3: does the time of a whole answer tell whether somebody is in the table?

Trust: public.  Haeberlen, Pierce and Narayan 2011, Differential Privacy Under Fire.

One session holds two tables that differ in one person.  Which of them comes first is drawn anew for
every session and for every turn, and each question is put to both; then times are compared.
One person has an ordinary row; another has a row that makes work, a note of a million letters.
Nothing is promised about time (``docs/known-weaknesses.md``): the first must not be told, and the
second is reported.
False alarms: key ``permuted-ranks``, as far as the two places of a session are alike.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Budget
from discreet.noise import Entropy, KeyedEntropy
from discreet.session import Session
from discreet.session import open as opened
from discreet_audit.clinic import POLICY, row_of, visits
from discreet_audit.findings import Finding
from discreet_audit.rank_tests import two_areas

_PATIENTS: Final = 200
_HEAVY: Final = 1_000_000
_TURNS: Final = 40
_QUESTION: Final = (
    "SELECT COUNT(*) AS n FROM {table} WHERE UPPER(note) LIKE '%Z%Y%' OR LENGTH(note) = {at}"
)
_BOTH: Final = POLICY.replace("tables.visits", "tables.one") + POLICY.partition("max_rows = 3\n")[
    2
].replace("tables.visits", "tables.other")

Times = NDArray[np.int64]


def attack(*, quick: bool) -> Finding:
    """Time answers about neighboring tables."""
    sessions = 1 if quick else 50
    ordinary, limit = two_areas(*_times(row_of(_PATIENTS), sessions))
    heavy_row = row_of(_PATIENTS, note="zx" * (_HEAVY // 2))
    heavy, _ = two_areas(*_times(heavy_row, max(sessions // 10, 1)))  # a few tell it already
    return Finding(
        claimed="nothing is promised about time; an ordinary row is not told by it",
        measured=f"area of an ordinary row {ordinary:.3f} (limit 0.5 ± {limit:.3f}, "
        f"{sessions * _TURNS} answers each); of a row with a million letters {heavy:.3f}, "
        f"a known weakness",
        passed=abs(ordinary - 0.5) <= limit,
        numbers={
            "area_ordinary": ordinary,
            "area_heavy": heavy,
            "limit": limit,
            "answers": sessions * _TURNS,
            "false_alarm_rate": 6e-7,
        },
        not_covered="networks and other processes; rows that make work: their time shows, and "
        "answers are not held back to hide it",
    )


def _times(row: dict[str, Any], sessions: int) -> tuple[Times, Times]:
    """Return the times of answers with a row, and without it."""
    order = KeyedEntropy(key=bytes(32), label="turns")
    tables = {True: visits(_PATIENTS, row), False: visits(_PATIENTS)}
    times: dict[bool, list[int]] = {True: [], False: []}
    for _ in range(sessions):
        names = dict(zip(_either(order), ("one", "other"), strict=True))
        source = {name: tables[which] for which, name in names.items()}
        with (
            tempfile.TemporaryDirectory() as folder,
            opened(
                source, policy=_BOTH, ledger=Path(folder) / "l", budget=Budget(epsilon=1000)
            ) as session,
        ):
            for turn in range(-1, _TURNS):
                for which in _either(order):
                    taken = _asked(session, names[which], turn)
                    times[which] += [taken] * (turn >= 0)  # the first warms everything up
    return np.array(times[True]), np.array(times[False])


def _either(order: Entropy) -> tuple[bool, bool]:
    first = bool(order.bits(1))
    return first, not first


def _asked(session: Session, table: str, turn: int) -> int:
    plan = session.plan(_QUESTION.format(table=table, at=10**7 + turn), epsilon="0.1")
    begun = time.perf_counter_ns()
    session.ask(plan)
    return time.perf_counter_ns() - begun
