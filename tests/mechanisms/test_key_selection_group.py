"""Losses of key selections do not fall apart: several units are never priced factor by factor."""

from dataclasses import replace

import pytest

from discreet.accounting import Leaf
from discreet.loss import Approximate, Profile, Pure
from discreet.loss.envelope import grouped
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys, OptimalKeys
from tests.mechanisms import test_key_selection_optimal as optimal
from tests.mechanisms import test_key_selection_threshold as threshold
from tests.mechanisms.key_selection_laws import exceeded, largest, moves

EPSILONS = (0.0, 0.7, 2.0, 4.0, 9.0)


def factor_by_factor(loss, size):
    """The group that would hold if noise and leak were two releases."""
    return Profile(
        remove=tuple(grouped(part, size) for part in loss.remove),
        add=tuple(grouped(part, size) for part in loss.add),
    )


@pytest.mark.theorem("group-profile")
@pytest.mark.parametrize("noise", [Laplace(scale="1/2"), Gaussian(sigma=1)], ids=repr)
@pytest.mark.parametrize(("steps", "groups", "places"), [(2, 1, 2), (3, 1, 1), (2, 2, 2)])
def test_the_group_of_noisy_keys_covers_all_tables(noise, steps, groups, places):
    choice = threshold.keys(noise=noise, threshold=4, groups=groups)
    found = largest(
        threshold.laws(choice, 4, radius=16),
        moves(steps=steps, groups=groups, places=places),
        most=4,
        epsilons=EPSILONS,
    )
    assert exceeded(found, choice.loss().group(steps)) == []
    assert exceeded(found, factor_by_factor(choice.loss(), steps)) != []


@pytest.mark.theorem("group-profile")
@pytest.mark.parametrize(("steps", "groups", "places"), [(2, 1, 2), (2, 2, 3), (3, 2, 3)])
def test_the_group_of_optimal_keys_covers_all_tables(steps, groups, places):
    choice = optimal.keys(epsilon=2, delta="1/50", groups=groups)
    most = optimal.enough(choice) - 1
    both = moves(steps=steps, groups=groups, places=places)
    found = largest(optimal.laws(choice, most), both, most=most, epsilons=EPSILONS)
    assert exceeded(found, choice.loss().group(steps)) == []


def test_two_units_are_seen_more_often_than_one_twice():
    choice = NoisyKeys.for_delta(
        delta="1e-6", noise=Laplace(scale="1/4"), groups=1, relation="add_remove"
    )
    truth = float(choice.kept(2).low)  # of two units alone in a group
    assert truth > 6e-6
    assert choice.loss().group(2).delta(epsilon=8) >= truth
    assert choice.loss(distance=2).delta(epsilon=8) >= truth
    assert factor_by_factor(choice.loss(), 2).delta(epsilon=8) < truth / 20
    sampled = choice.loss().sampled(rate="0.9")  # where both are drawn, both are seen
    assert sampled.group(2).delta(epsilon=8) >= 0.81 * truth


def test_what_is_built_from_such_a_loss_stays_one():
    loss = threshold.keys().loss()
    large = Approximate(epsilon=9, delta="0.9").compose(Pure(epsilon=1))
    built = [
        loss,
        loss.power(2),
        loss.compose(Pure(epsilon=1)),
        Pure(epsilon=1).compose(loss),
        loss.join(Pure(epsilon=3)),
        Pure(epsilon=3).join(loss),
        loss.join(large),
        large.join(loss),
        loss.sampled(rate="0.5"),
        loss.group(3),
    ]
    assert all(each.profile().indivisible for each in built)
    assert not Laplace(scale=1).loss().profile().power(2).indivisible
    assert loss.group(1) == loss


@pytest.mark.parametrize(
    "choice",
    [
        NoisyKeys(noise=Laplace(scale="1/4"), threshold=6, groups=1, relation="add_remove"),
        NoisyKeys(noise=Gaussian(sigma=1), threshold=6, groups=2, relation="add_remove"),
        OptimalKeys(epsilon=1, delta="1e-6", groups=2, relation="add_remove"),
    ],
)
@pytest.mark.parametrize("units", [1, 2, 3])
def test_leaves_ask_the_choice_what_replaced_units_cost(choice, units):
    """At most what the choice says for so many replaced units, or for twice as many that move."""
    swapped = replace(choice, relation="replace")
    leaf = Leaf(choice, replaced=swapped.loss())
    chain = choice.loss(distance=2 * units)
    exact = swapped.loss(distance=units)
    assert leaf.price(units, units) in (exact, chain)
    for epsilon in (0, 2, 8, 20):
        paid = leaf.price(units, units).delta(epsilon=epsilon)
        assert paid >= min(exact.delta(epsilon=epsilon), chain.delta(epsilon=epsilon))
