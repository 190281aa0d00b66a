"""A10: do errors, plans and messages tell whether somebody is in the table?

Trust: public.

The same texts go to two sessions whose tables differ in one person, who has the worst of rows:
good questions, bad ones, changed ones, and some that find no budget left.  All that is said must be
the same: every error letter by letter, every plan, the form of every answer, and what the ledger
records apart from times, names drawn at random and noisy answers.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from discreet.accounting import Budget
from discreet.errors import DiscreetError
from discreet.session import Session
from discreet_audit.clinic import QUESTIONS, clinic, row_of, visits
from discreet_audit.findings import Finding
from discreet_audit.implementation.fuzz import changed
from discreet_audit.implementation.poison import outcome

_BAD: Final = (
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
_WORST: Final = {"cost": float("nan"), "age": 2**63 - 1, "note": "9" * 999, "ward": "zzz"}
_DRAWN: Final = frozenset({"at", "ledger", "answer", "size"})


def attack(*, quick: bool) -> Finding:
    """Say the same to two sessions, and compare what comes back."""
    changes = 30 if quick else 5_000
    good = QUESTIONS[::3] if quick else QUESTIONS
    texts = [*good, *_BAD, *changed(changes, label="errors")]
    tables = [visits(), visits(30, *[row_of(30, **_WORST)] * 3)]
    with ExitStack() as stack:
        budget = Budget(epsilon=2 * len(good), delta="1/1000")
        sessions = [stack.enter_context(clinic(table, budget=budget)) for table in tables]
        said = [[_said(session, text) for text in texts] for session in sessions]
        records = [_record(session) for session in sessions]
        lines = [repr(session) + str(session.remaining) for session in sessions]
    leaks = [text for text, first, other in zip(texts, *said, strict=True) if first != other]
    leaks += ["the record"] * (records[0] != records[1]) + ["the budget"] * (lines[0] != lines[1])
    refused = sum(kind != "answer" for _, kind in said[0])
    return Finding(
        claimed="plans, errors, forms of answers and the record are the same on neighbors",
        measured=f"{len(texts)} texts, {refused} of them refused: {len(leaks)} differences"
        f"{': ' * bool(leaks)}{'; '.join(leaks[:3])}",
        passed=not leaks,
        numbers={"texts": len(texts), "refused": refused, "differences": len(leaks)},
        not_covered="time (A3); numbers in answers (A7); which private groups are shown (A7)",
    )


def _said(session: Session, text: str) -> tuple[object, str]:
    """Return all that a session says to a text, and of which kind it is.

    Texts that would be answered by private groups are only planned: which groups come is noise.
    """
    price: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}
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


def _record(session: Session) -> list[dict[str, object]]:
    entries = session.ledger.entries()  # type: ignore[union-attr]
    return [
        {name: value for name, value in entry.items() if name not in _DRAWN} for entry in entries
    ]
