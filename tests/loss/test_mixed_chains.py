"""Groups of a loss with alternatives: each step of a chain may have another one above it."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.accounting import Contribution, Leaf, account
from discreet.loss import Approximate, GaussianDP, Profile, Pure
from discreet.loss.envelope import grouped
from discreet.mechanisms import Laplace
from discreet.units import person

CASES = [(1, "1e-3"), (5, "1e-8"), ("0.1", "1e-2")]


def chains(epsilon, delta, size):
    """The chance of an event S, impossible at the last of ``size`` steps, along every chain.

    A pure step multiplies it by e**epsilon (while the chance of not-S falls by no more than that),
    an approximate one adds delta: both promises hold exactly, so delta(eps) of the ends is the
    chance of S at every eps.
    """
    ratio = math.exp(float(Fraction(epsilon))) * (1 - 1e-12)
    for steps in itertools.product((True, False), repeat=size):
        chance = 0.0
        for pure in steps:
            chance = chance * ratio if pure else chance + float(Fraction(delta))
        assert chance < 1 / (1 + ratio)
        yield chance


@pytest.mark.theorem("adaptive-choice")
@pytest.mark.parametrize(("epsilon", "delta"), CASES)
@pytest.mark.parametrize("size", [2, 3])
def test_mixed_chains_are_priced(epsilon, delta, size):
    loss = Pure(epsilon=epsilon).join(Approximate(epsilon=0, delta=delta))
    worst = max(chains(epsilon, delta, size))
    group = loss.group(size)
    for epsilon_ in (0, 1, 5, 12, 30):
        assert group.delta(epsilon=epsilon_) >= worst
    both = Approximate(epsilon=epsilon, delta=delta).group(size)  # above either alternative
    assert group.delta(epsilon=30) <= float(both.delta_bound) * (1 + 1e-9)


def test_the_worst_chain_is_mixed():
    assert max(chains(1, "1e-3", 2)) == pytest.approx(math.e * 1e-3)
    loss = Pure(epsilon=5).join(Approximate(epsilon=0, delta="1e-6")).group(2)
    assert loss.delta(epsilon=12) > 1.484e-4


@pytest.mark.theorem("group-profile")
@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_leaves_that_hold_alternatives_price_mixed_chains(epsilon, delta):
    leaf = Leaf(Pure(epsilon=epsilon).join(Approximate(epsilon=0, delta=delta)))
    for rows in (2, 3):
        worst = max(chains(epsilon, delta, rows))
        paid = account(leaf, unit=person("patient"), contribution=Contribution(rows=rows)).loss
        assert paid.delta(epsilon=12) >= worst
        assert leaf.price(rows, 0).delta(epsilon=12) >= worst
    replaced = account(leaf, relation="replace").loss
    assert replaced.delta(epsilon=12) >= max(chains(epsilon, delta, 2))


@pytest.mark.parametrize(
    "loss",
    [Pure(epsilon=1).profile(), GaussianDP(mu=1).profile(), Laplace(scale=2).loss().power(3)],
)
def test_one_alternative_is_chained_as_it_is(loss):
    profile = loss.profile()
    for size in (2, 3):
        expected = Profile(
            remove=(grouped(profile.remove[0], size),), add=(grouped(profile.add[0], size),)
        )
        assert profile.group(size) == expected
    assert profile.group(1) == profile
    both = Profile(remove=profile.remove * 2, add=profile.add * 2)
    assert both.group(2) == profile.group(2)
