"""Do errors, plans and messages tell whether somebody is in the table?

The same texts go to two sessions whose tables differ in one person, who has the worst of rows:
good questions, bad ones, changed ones, and some that find no budget left.  All that is said must be
the same: every error letter by letter, every plan, the form of every answer, and what the ledger
records apart from times, names drawn at random and noisy answers.
"""

from contextlib import ExitStack

from discreet.accounting import Budget
from discreet.errors import DiscreetError
from tests.audit.clinic import QUESTIONS, clinic, row_of, visits
from tests.audit.test_changed_questions import changed
from tests.audit.test_poison import outcome

_BAD = (
    "SELECT * FROM visits",
    "SELECT ward FROM visits WHERE",
    "SELECT SUM(patient) AS s FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE wrad = 'A'",
    "SELECT COUNT(*) AS n FROM visits WHERE ward > 5",
    "SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost",
    "SELECT COUNT(*) AS n FROM secrets",
    "SELECT MAX(note) AS m FROM visits",
    "DROP TABLE visits",
    "",
)
_WORST = {"cost": float("nan"), "age": 2**63 - 1, "note": "9" * 999, "ward": "zzz"}
_DRAWN = frozenset({"at", "ledger", "answer", "size"})


def test_errors_and_plans_are_the_same_on_neighbors(found, quick):
    """Plans, errors, the form of answers and the ledger are the same on neighboring tables."""
    good = QUESTIONS[::3] if quick else QUESTIONS
    texts = [*good, *_BAD, *changed(30 if quick else 5_000, label="errors")]
    tables = [visits(), visits(30, *[row_of(30, **_WORST)] * 3)]
    with ExitStack() as stack:
        budget = Budget(epsilon=2 * len(good), delta="1/1000")
        sessions = [stack.enter_context(clinic(table, budget=budget)) for table in tables]
        said = [[_said(session, text) for text in texts] for session in sessions]
        records = [_record(session) for session in sessions]
        lines = [repr(session) + str(session.remaining) for session in sessions]
    wrong = [text for text, first, other in zip(texts, *said, strict=True) if first != other]
    wrong += ["the record"] * (records[0] != records[1]) + ["the budget"] * (lines[0] != lines[1])
    refused = sum(kind != "answer" for _, kind in said[0])
    found.attack(
        f"{len(texts)} texts, {refused} of them refused",
        wrong,
        not_covered="numbers in answers and private groups, which the bounds above cover; time",
    )


def _said(session, text):
    """Return all that a session says to a text, and of which kind it is.

    Texts that would be answered by private groups are only planned: which groups come is noise.
    """
    price = {"epsilon": 1, "delta": "1e-9"}
    try:
        plan = session.plan(text, **price)
    except DiscreetError as error:
        return str(error), "refused"
    except Exception as error:  # noqa: BLE001  (what escapes is told too)
        return f"{type(error).__name__}: {error}", "escaped"
    if plan.selection is not None or plan.layout.having is not None:
        return str(plan), "planned"
    said = outcome(session, text, **price)
    return (str(plan), said), str(said[0]) if isinstance(said, tuple) else ""


def _record(session):
    entries = session.ledger.entries()
    return [
        {name: value for name, value in entry.items() if name not in _DRAWN} for entry in entries
    ]
