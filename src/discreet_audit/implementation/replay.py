"""A11: asking again and again, in other words, and all at once, until the noise wears off.

Trust: public.

One question is asked in many spellings, in several sessions of one ledger, and by many threads at a
time.  What is told under one plan is one answer; and where there is another answer, another charge
stands on record in full.  To remeasure is to buy.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Final

from discreet.accounting import Budget
from discreet.accounting.budgets.amounts import amount_up, amount_value
from discreet.release.release import Release
from discreet.session import Session
from discreet.session import open as opened
from discreet_audit.clinic import POLICY, visits
from discreet_audit.findings import Finding

SPELLINGS: Final = (
    "SELECT COUNT(*) AS n FROM visits WHERE age > 40",
    "select count(*) as n from visits where age > 40",
    "SELECT  COUNT( * )\n AS n\tFROM visits WHERE age>40",
    "SELECT COUNT(*) AS n FROM visits WHERE (age > 40);",
    "SELECT COUNT(*) AS n /* again */ FROM visits -- once more\nWHERE age > 40",
    "SELECT COUNT(*) n FROM visits WHERE 40 < age",
    "SELECT COUNT(*) AS n FROM visits AS v WHERE v.age > 40",
    "SELECT COUNT(*) AS n FROM visits WHERE NOT (age <= 40)",
    "SELECT COUNT(*) AS n FROM visits WHERE age > 40 AND age > 40",
    "SELECT COUNT(*) AS n FROM visits WHERE age > 20 + 20",
    "SELECT COUNTIF(age > 40) AS n FROM visits",
    "SELECT COUNT(*) AS m FROM visits WHERE age > 40",
    "SELECT COUNT(1) AS n FROM visits WHERE age > 40",
    "SELECT COUNT(*) AS n FROM (SELECT * FROM visits WHERE age > 40) AS t",
    "WITH old AS (SELECT * FROM visits WHERE age > 40) SELECT COUNT(*) AS n FROM old",
)
"""One question in many spellings."""

_EPSILON: Final = Fraction(1, 4)


def attack(*, quick: bool) -> Finding:
    """Ask in all spellings, in several sessions and threads, and count answers and charges."""
    sessions, threads, times = (2, 8, 3) if quick else (10, 32, 30)
    answers: dict[str, set[str]] = defaultdict(set)
    asked = 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "l.ledger"
        for _ in range(sessions):
            with _open(ledger) as session:
                asked += _ask_all(session, answers, times if sessions > 2 else 1)
        with _open(ledger) as session, ThreadPoolExecutor(threads) as pool:
            texts = [SPELLINGS[0].replace("40", str(age)) for age in range(50, 53)]
            jobs = texts * (threads * times // 2)
            for digest, answer in pool.map(lambda text: _told(_ask(session, text)), jobs):
                answers[digest].add(answer)
            asked += len(jobs)
            first = _ask(session, SPELLINGS[0].replace("40", "60"))  # of this state of the data
            digest, answer = _told(first)
            answers[digest].add(answer)
            again = session.remeasure(first, epsilon=_EPSILON)
            answers["another draw"].add(_told(again)[1])
            charges, spent, problems = _recorded(session)
    redrawn = sum(len(draws) > 1 for draws in answers.values())
    free = len(answers) - charges
    unpaid = spent < charges * _EPSILON
    return Finding(
        claimed="one answer to a plan for ever; another answer is another charge in full",
        measured=f"{asked} times asked in {len(SPELLINGS)} spellings: {len(answers)} answers to as "
        f"many plans, {charges} charges, epsilon {float(spent):g} spent; {redrawn} plans with two "
        f"answers, {max(free, 0)} answers without a charge",
        passed=not redrawn and free == 0 and not unpaid and not problems,
        numbers={
            "asked": asked,
            "plans": len(answers),
            "charges": charges,
            "spent": float(spent),
            "redrawn": redrawn,
        },
        not_covered="the same question under other names of tables, or to another ledger",
    )


def _open(ledger: Path) -> Session:
    budget = Budget(epsilon=100)
    return opened({"visits": visits()}, policy=POLICY, ledger=ledger, budget=budget)


def _ask(session: Session, text: str) -> Release:
    return session.ask(text, epsilon=_EPSILON)


def _told(release: Release) -> tuple[str, str]:
    return release.plan.digest, str(release[release.names[0]][0].as_py())


def _ask_all(session: Session, answers: dict[str, set[str]], times: int) -> int:
    for _ in range(times):
        for text in SPELLINGS:
            digest, answer = _told(_ask(session, text))
            answers[digest].add(answer)
    return times * len(SPELLINGS)


def _recorded(session: Session) -> tuple[int, Fraction, int]:
    """Return how many charges are on record, what is gone of the budget, and what is wrong."""
    ledger = session.ledger
    kinds = [entry["kind"] for entry in ledger.entries()]  # type: ignore[union-attr]
    left = ledger.left()  # type: ignore[union-attr]
    spent = amount_value(amount_up(Fraction(100)) - left.amounts[0])
    return kinds.count("charge"), spent, len(ledger.verify().problems)  # type: ignore[union-attr]
