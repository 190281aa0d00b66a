"""A21: can accounts below an account spend more than it has?

Trust: public.

Accounts hang below the root, with limits above its own and without any, two and three deep, and are
charged in turn until all of them refuse.  What the root has lost must be the sum of all that was
granted, at every step, and never above its limit; and a question that one account has paid for is
not free for another.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Final

from discreet.accounting import Budget
from discreet.accounting.budgets.amounts import amount_value
from discreet.errors import DiscreetError, KeyReused, OverBudget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.session import open as opened
from discreet.units import row
from discreet_audit.clinic import POLICY, visits
from discreet_audit.findings import Finding

_ROOT: Final = "data"
_ACCOUNTS: Final[dict[str, Budget | None]] = {
    "data/ana": Budget(epsilon=100),
    "data/flu": None,
    "data/flu/ben": Budget(epsilon=50),
    "data/flu/cyd": None,
    "data/small": Budget(epsilon=1),
}
_PRICE: Final = Fraction(1, 8)
_LIMIT: Final = 5


def attack(*, quick: bool) -> Finding:
    """Charge all accounts until none has anything left, and ask one question from two of them."""
    rounds = 60 if quick else 400
    wrong, granted = _drained(rounds)
    wrong += _asked_twice()
    return Finding(
        claimed="what is charged to an account is charged to all above it; no limit is exceeded",
        measured=f"{granted} charges granted to {len(_ACCOUNTS) + 1} accounts under one limit, "
        f"{len(wrong)} violations{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={"granted": granted, "violations": len(wrong)},
        not_covered="ledgers on PostgreSQL, which share this code; several ledgers for the same "
        "people",
    )


def _drained(rounds: int) -> tuple[list[str], int]:
    wrong: list[str] = []
    granted: dict[str, int] = dict.fromkeys((_ROOT, *_ACCOUNTS), 0)
    with tempfile.TemporaryDirectory() as folder:
        path, budget = Path(folder) / "accounts.ledger", Budget(epsilon=_LIMIT)
        with Ledger.open(path, unit=row(), budget=budget, account=_ROOT) as ledger:
            for account, limit in _ACCOUNTS.items():
                ledger.open_account(account, budget=limit, by="audit")
            for number, account in zip(range(rounds), cycle(granted), strict=False):
                try:
                    ledger.charge(Pure(epsilon=_PRICE), key=f"{number}", account=account)
                except OverBudget:
                    continue
                granted[account] += 1
                if spent(ledger, _ROOT) != sum(granted.values()) * _PRICE:
                    wrong.append(f"a charge to {account} is not debited to the root")
            total = sum(granted.values()) * _PRICE
            wrong += [f"{total} granted of {_LIMIT}"] * (total != _LIMIT)
            small = granted["data/small"] * _PRICE
            wrong += [f"{small} granted of 1"] * (small > 1)
            wrong += list(map(str, ledger.verify().problems))
    return wrong, sum(granted.values())


def spent(ledger: Ledger, account: str) -> Fraction:
    """Return the epsilon that an account has lost."""
    left = ledger.left(account=account)
    return amount_value(left.budget.limit[0] - left.amounts[0])


def _asked_twice() -> list[str]:
    """Ask one question from two accounts: the answer is one, and nothing of it is free twice."""
    wrong: list[str] = []
    question = "SELECT COUNT(*) AS n FROM visits"
    with tempfile.TemporaryDirectory() as folder:
        path, budget = Path(folder) / "two.ledger", Budget(epsilon=_LIMIT)
        source = {"visits": visits(5)}
        with opened(source, policy=POLICY, budget=budget, ledger=path) as session:
            ledger = session.ledger
            assert isinstance(ledger, Ledger)  # noqa: S101  (it was opened with one)
            ledger.open_account("data/a", budget=Budget(epsilon=_LIMIT), by="audit")
            ledger.open_account("data/b", budget=Budget(epsilon=_LIMIT), by="audit")
            told = set()
            for account in ("data/a", "data/b"):
                with opened(source, policy=POLICY, ledger=ledger, account=account) as other:
                    try:
                        told.add(str(other.ask(question, epsilon=1).rows()))
                    except (KeyReused, DiscreetError) as error:
                        wrong.append(f"{account}: {type(error).__name__}")
            charges = [entry for entry in ledger.entries() if entry["kind"] == "charge"]
            if len(told) > 1 and len(charges) < len(told):
                wrong.append("two answers were told for one charge")
            if spent(ledger, _ROOT) != len(charges):
                wrong.append("the root was not debited for every answer")
    return wrong
