"""Runs of another library are debited as what they were."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import discreet as dp
from discreet.accounting import Budget, account
from discreet.accounting.parts_and_samples import dp_sgd
from discreet.errors import DiscreetError, OutOfRange, OverBudget, WrongKind
from discreet.ledger import Ledger
from discreet.torch import adopt
from discreet.torch.adoption import coin_rate, tree_of_history


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(
        tmp_path / "a.ledger", unit=dp.row(), budget=Budget(epsilon=3, delta="1e-4")
    ) as opened:
        yield opened


def accountant(*history):
    """Stand for an accountant of Opacus, of which only the history is read."""
    return SimpleNamespace(history=list(history))


def test_a_history_costs_what_its_runs_cost_together():
    unit = dp.row()
    one = tree_of_history(accountant((1.0, 1 / 128, 500)), unit=unit)
    same = dp_sgd(rate=Fraction(1, 128), sigma=1, steps=500)
    known = account(same, relation="add_remove").epsilon(delta=1e-5)
    assert account(one, unit=unit).epsilon(delta=1e-5) == pytest.approx(known, rel=1e-9)
    both = tree_of_history(accountant((1.0, 1 / 128, 500), (2.0, 1 / 64, 100)), unit=unit)
    assert account(both, unit=unit).epsilon(delta=1e-5) > known


def test_a_run_is_debited_once_under_its_name(ledger):
    run = accountant((1.0, 0.01, 1000))
    engine = SimpleNamespace(accountant=run)
    paid = adopt(engine, name="March", ledger=ledger, delta="1e-6")
    left = str(ledger.left())
    assert paid.new
    assert not adopt(run, name="March", ledger=ledger, delta="1e-6").new
    assert str(ledger.left()) == left
    assert [entry["kind"] for entry in ledger.entries()] == ["open", "charge", "start", "release"]
    assert ledger.verify().ok
    with pytest.raises(DiscreetError):  # another run is not the one that was paid for
        adopt(accountant((1.0, 0.01, 2000)), name="March", ledger=ledger, delta="1e-6")
    with pytest.raises(OverBudget):
        adopt(run, name="April", ledger=ledger, delta="1e-6")


@pytest.mark.theorem("adopted-coins")
@pytest.mark.parametrize("rate", [1e-6, 0.01, 1 / 3, 0.1, 2**-24, 0.99999999, 1.0])
def test_coins_of_floats_show_heads_as_often_as_is_priced(rate):
    multiples = np.arange(1 << 24, dtype=np.int64).astype(np.float32) * np.float32(2**-24)
    heads = int((torch.from_numpy(multiples) < rate).sum())
    assert rate <= coin_rate(rate) or rate == 1
    assert heads <= coin_rate(rate) * 2**24 <= heads + 1


@pytest.mark.parametrize(
    ("history", "error"),
    [
        (None, WrongKind),
        ([], WrongKind),
        ([(1.0, 0.01)], WrongKind),
        ([(0.0, 0.01, 5)], OutOfRange),
        ([(1.0, 1.5, 5)], OutOfRange),
        ([(1.0, 0.0, 5)], OutOfRange),
        ([(1.0, 0.01, 0)], OutOfRange),
        ([(float("nan"), 0.01, 5)], DiscreetError),
    ],
)
def test_what_is_no_history_is_refused_before_anything_is_spent(ledger, history, error):
    with pytest.raises(error):
        adopt(history, name="x", ledger=ledger, delta="1e-6")
    assert [entry["kind"] for entry in ledger.entries()] == ["open"]


def test_a_ledger_of_people_is_refused(tmp_path):
    with (
        Ledger.open(
            tmp_path / "b.ledger",
            unit=dp.person("patient"),
            budget=Budget(epsilon=3, delta="1e-4"),
        ) as people,
        pytest.raises(WrongKind, match="clipped rows"),
    ):
        adopt([(1.0, 0.01, 5)], name="x", ledger=people, delta="1e-6")


@pytest.mark.theorem("told-samples")
@pytest.mark.parametrize("rate", [Fraction(1, 8), Fraction(2, 3), Fraction(1)])
def test_no_event_tells_a_sample_by_more_than_its_rate(rate):
    """The whole sample of one, two or three rows is told; every event, exactly."""
    for others in range(3):
        with_it, without = {}, {}
        for coins in itertools.product([0, 1], repeat=others + 1):
            chance = math.prod(rate if coin else 1 - rate for coin in coins)
            with_it[coins] = with_it.get(coins, 0) + chance
            less = (*coins[:-1], 0)
            without[less] = without.get(less, 0) + chance
        worst = sum(max(p - without.get(told, 0), Fraction(0)) for told, p in with_it.items())
        back = sum(max(p - with_it.get(told, 0), Fraction(0)) for told, p in without.items())
        assert worst == back == rate


@pytest.mark.parametrize("sigma", [1e-300, 1e-9, 0.049])
def test_a_run_without_noise_to_speak_of_is_priced_by_its_samples(ledger, sigma):
    """One step in 2**24 rows is rarely about anybody; a hundredth of them, over and over, is."""
    unit = dp.row()
    seldom = account(tree_of_history([(sigma, 2.0**-24, 10)], unit=unit), unit=unit)
    assert seldom.epsilon(delta=1e-6) == 0  # ten times 2**-24 is below that
    assert seldom.epsilon(delta=1e-7) == math.inf
    before = ledger.receipt
    with pytest.raises(OverBudget):
        adopt([(sigma, 0.01, 10)], name="bare", ledger=ledger, delta="1e-6")
    with pytest.raises(OverBudget):
        adopt([(sigma, 1.0, 1)], name="bare", ledger=ledger, delta="1e-6")
    assert ledger.receipt == before
    assert adopt([(sigma, 2.0**-24, 10)], name="rare", ledger=ledger, delta="1e-6").new


@pytest.mark.parametrize("book", [None, "a.ledger"])
def test_a_ledger_is_needed(book):
    with pytest.raises(WrongKind, match="no ledger is given"):
        adopt([(1.0, 0.01, 10)], name="March", ledger=book, delta="1e-6")
