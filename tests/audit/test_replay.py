"""Asking again and again, in other words, and all at once, until the noise wears off.

One question is asked in many spellings, in several sessions of one ledger, and by many threads at a
time.  What is told under one plan is one answer; and where there is another answer, another charge
stands on record in full.  To remeasure is to buy.
"""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_up, amount_value
from discreet.session import open as opened
from tests.audit.clinic import POLICY, visits

SPELLINGS = (
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

_EPSILON = Fraction(1, 4)


def test_asking_again_gives_the_same_answer(found, quick, tmp_path):
    """Asking again, in other words and all at once, gives one answer for each charge."""
    sessions, threads, times = (2, 8, 3) if quick else (10, 32, 30)
    answers = defaultdict(set)
    asked = 0
    ledger = tmp_path / "l.ledger"
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
    wrong = [
        f"{digest}: {len(draws)} answers" for digest, draws in answers.items() if len(draws) > 1
    ]
    wrong += [f"{len(answers)} answers, {charges} charges"] * (len(answers) != charges)
    wrong += ["charges are not paid in full"] * (spent < charges * _EPSILON)
    found.attack(
        f"{asked} times asked in {len(SPELLINGS)} spellings, {charges} charges",
        [*wrong, *problems],
        not_covered="another ledger",
    )


def _open(ledger):
    budget = Budget(epsilon=100)
    return opened({"visits": visits()}, policy=POLICY, ledger=ledger, budget=budget)


def _ask(session, text):
    return session.ask(text, epsilon=_EPSILON)


def _told(release):
    return release.plan.digest, str(release[release.names[0]][0].as_py())


def _ask_all(session, answers, times):
    for _ in range(times):
        for text in SPELLINGS:
            digest, answer = _told(_ask(session, text))
            answers[digest].add(answer)
    return times * len(SPELLINGS)


def _recorded(session):
    """Return how many charges are on record, what is gone of the budget, and what is wrong."""
    ledger = session.ledger
    kinds = [entry["kind"] for entry in ledger.entries()]
    left = ledger.left()
    spent = amount_value(amount_up(Fraction(100)) - left.amounts[0])
    return kinds.count("charge"), spent, list(map(str, ledger.verify().problems))
