"""Can accounts below an account spend more than it has?

Accounts hang below the root, with limits above its own and without any, two and three deep, and are
charged in turn until all of them refuse.  What the root has lost must be the sum of all that was
granted, at every step, and never above its limit; and a question that one account has paid for is
not free for another.
"""

import tempfile
from fractions import Fraction
from itertools import cycle
from pathlib import Path

from discreet.accounting import Budget
from discreet.accounting.amounts import amount_value
from discreet.errors import DiscreetError, KeyReused, OverBudget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.session import open as opened
from discreet.units import row
from tests.audit.clinic import POLICY, visits

_ROOT = "data"
_ACCOUNTS = {
    "data/ana": Budget(epsilon=100),
    "data/flu": None,
    "data/flu/ben": Budget(epsilon=50),
    "data/flu/cyd": None,
    "data/small": Budget(epsilon=1),
}
_PRICE = Fraction(1, 8)
_LIMIT = 5


def test_accounts_below_an_account_spend_no_more_than_it_has(found, quick):
    """Accounts below accounts spend no more than the account above has."""
    wrong, granted = _drained(60 if quick else 400)
    found.attack(
        f"{granted} charges granted to {len(_ACCOUNTS) + 1} accounts under one limit",
        [*wrong, *_asked_twice()],
        not_covered="several ledgers for the same people",
    )


def _drained(rounds):
    wrong = []
    granted = dict.fromkeys((_ROOT, *_ACCOUNTS), 0)
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


def spent(ledger, account):
    """Return the epsilon that an account has lost."""
    left = ledger.left(account=account)
    return amount_value(left.budget.limit[0] - left.amounts[0])


def _asked_twice():
    """Ask one question from two accounts: the answer is one, and nothing of it is free twice."""
    wrong = []
    question = "SELECT COUNT(*) AS n FROM visits"
    with tempfile.TemporaryDirectory() as folder:
        path, budget = Path(folder) / "two.ledger", Budget(epsilon=_LIMIT)
        source = {"visits": visits(5)}
        with opened(source, policy=POLICY, budget=budget, ledger=path) as session:
            ledger = session.ledger
            assert isinstance(ledger, Ledger)
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
