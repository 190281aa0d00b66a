"""Training runs by name: the price of the tree spelled out, and calibrations that are tight."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting import (
    Leaf,
    Sampled,
    account,
    dp_sgd,
    dp_sgd_sigma,
    dp_sgd_steps,
)
from discreet.accounting.codec import decode, encode
from discreet.errors import OutOfRange
from discreet.loss import GaussianDP

F = Fraction
RATE, DELTA = F(4096, 50000), F(1, 10**5)


def epsilon(run, relation="add_remove"):
    return account(run, relation=relation).epsilon(delta=DELTA)


def test_a_run_is_the_tree_that_it_stands_for():
    run = dp.accounting.dp_sgd(rate=RATE, sigma="9.12", steps=875)
    spelled = 875 * Sampled(Leaf(GaussianDP(mu=1 / F("9.12"))), rate=RATE)
    assert epsilon(run) == epsilon(spelled) == pytest.approx(0.99988, abs=1e-5)
    assert epsilon(run, "replace") > epsilon(run)
    assert decode(encode(run)) == run
    assert epsilon(dp_sgd(rate=RATE, sigma=1, steps=0)) == 0
    whole = dp_sgd(rate=1, sigma=2, steps=4)
    assert epsilon(whole) == pytest.approx(GaussianDP(mu=1).epsilon(delta=DELTA), abs=1e-9)


def test_the_least_sigma_keeps_the_promise_and_the_next_smaller_one_does_not():
    sigma = dp_sgd_sigma(rate=RATE, steps=875, epsilon=1, delta=DELTA)
    assert 9.11 < sigma < 9.12
    assert epsilon(dp_sgd(rate=RATE, sigma=sigma, steps=875)) <= 1
    assert epsilon(dp_sgd(rate=RATE, sigma=sigma * (1 - F(1, 2**20)), steps=875)) > 1


def test_the_most_steps_keep_the_promise_and_one_more_does_not():
    steps = dp_sgd_steps(rate="0.01", sigma=1, epsilon=2, delta=DELTA)
    assert epsilon(dp_sgd(rate="0.01", sigma=1, steps=steps)) <= 2
    assert epsilon(dp_sgd(rate="0.01", sigma=1, steps=steps + 1)) > 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: dp_sgd(rate=2, sigma=1, steps=10),
        lambda: dp_sgd(rate="0.01", sigma=0, steps=10),
        lambda: dp_sgd(rate="0.01", sigma=1, steps=-1),
        lambda: dp_sgd_sigma(rate="0.01", steps=10, epsilon=1, delta=0),
        lambda: dp_sgd_steps(rate="0.01", sigma=1, epsilon=1, delta=0),
        lambda: dp_sgd_sigma(rate="0.01", steps=0, epsilon=1, delta=DELTA),
    ],
)
def test_what_is_no_run_is_refused(call):
    with pytest.raises(OutOfRange):
        call()
