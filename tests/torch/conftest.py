"""A ledger with room for many small runs; a file that needs another one makes its own."""

import pytest

import discreet as dp
from discreet.accounting import Budget
from discreet.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    budget = Budget(epsilon=200, delta="1e-3")
    with Ledger.open(tmp_path / "a.ledger", unit=dp.row(), budget=budget) as opened:
        yield opened
