"""Thresholds on noisy counts: what all small tables lose, what leaks, and what is shown."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from discreet.accounting import Leaf, decode, encode
from discreet.errors import OutOfRange
from discreet.loss import Pure
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys
from discreet.mechanisms.partition_selection import ThresholdedLaw, leak_probability
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from tests.mechanisms.key_selection_laws import (
    divergence,
    exceeded,
    largest,
    moves,
    product,
    replacements,
)
from tests.noise.laws import stream

NOISES = [Laplace(scale=1), Laplace(scale="1/2"), Gaussian(sigma=1)]


def keys(**changes):
    plan = {
        "noise": Laplace(scale=1),
        "threshold": 3,
        "groups": 1,
        "relation": "add_remove",
        **changes,
    }
    return NoisyKeys(**plan)


def law_of(choice, units, radius):
    """Return the chances of hidden, of each noisy count in a window, and of any beyond it."""
    law = choice.reference_pmf([units])
    window = range(choice.threshold, choice.threshold + radius)
    beyond = replace(choice, threshold=choice.threshold + radius).kept(units)
    seen = (law((y,)).nearest() for y in window)
    return np.array([law((None,)).nearest(), *seen, beyond.nearest()])


def laws(choice, most, radius=30):
    return [law_of(choice, units, radius) for units in range(most + 1)]


# --- what is lost --------------------------------------------------------------------------------


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("fewest", [1, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_all_tables_that_a_unit_tells_apart(noise, fewest, groups):
    choice = keys(noise=noise, threshold=fewest + 2, groups=groups, fewest=fewest)
    found = largest(
        laws(choice, 5, radius=16), moves(steps=1, groups=groups, places=groups), most=5
    )
    assert exceeded(found, choice.loss()) == []
    assert exceeded(found, noise.loss(distance=1).power(groups)) != []  # delta forgotten
    later = keys(noise=noise, threshold=fewest + 3, groups=groups, fewest=fewest)
    assert exceeded(found, later.loss()) != []  # tau one less than priced


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("groups", [1, 2])
def test_all_tables_that_a_replaced_unit_tells_apart(noise, groups):
    choice = keys(noise=noise, threshold=3, groups=groups, relation="replace")
    most = 4 if groups == 1 else 2
    found = largest(
        laws(choice, most, radius=16 if groups == 1 else 5),
        replacements(groups=groups, places=2 * groups),
        most=most,
        epsilons=(0.0, 0.7, 2.5),
    )
    assert exceeded(found, choice.loss()) == []
    alone = keys(noise=noise, threshold=3, groups=groups)
    assert choice.leak() == alone.leak()
    if groups == 1:
        assert exceeded(found, alone.loss()) != []


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize(("steps", "groups", "places"), [(2, 1, 2), (3, 1, 1), (2, 2, 2)])
@pytest.mark.parametrize("threshold", [-1, 4])
def test_all_tables_several_units_apart(noise, steps, groups, places, threshold):
    choice = keys(noise=noise, threshold=threshold, groups=groups)
    found = largest(
        laws(choice, 4, radius=22),
        moves(steps=steps, groups=groups, places=places),
        most=4,
        epsilons=(0.0, 0.7, 2.0, 4.0),
    )
    assert exceeded(found, choice.loss(distance=steps)) == []
    assert threshold < 0 or exceeded(found, choice.loss(distance=steps - 1)) != []


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize(("entering", "leaving"), [(1, 1), (2, 1), (1, 2), (0, 2), (2, 2)])
def test_groups_that_appear_and_vanish_leak_no_more_than_those_that_appear(entering, leaving):
    """Replaced units: some groups have one unit in the first table only, some in the second."""
    choice = keys(groups=2)
    nobody, one = laws(choice, 1)
    first = product([one] * leaving + [nobody] * entering)
    second = product([nobody] * leaving + [one] * entering)
    for epsilon in (0.0, 0.01, 0.1, 1.0, 5.0):
        assert divergence(first, second, epsilon) <= float(choice.leak()) + 1e-13


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_the_leak_is_what_remains_at_large_losses(groups):
    choice = keys(groups=groups)
    nobody, one = laws(choice, 1)
    found = divergence(product([one] * groups), product([nobody] * groups), 20)
    assert found == pytest.approx(float(choice.leak()), rel=1e-9)
    assert found <= choice.loss().delta(epsilon=20)
    assert choice.loss().epsilon(delta=choice.leak() * Fraction(99, 100)) == math.inf


# --- counts to which a unit adds more than one ---------------------------------------------------


def counted(*, most, steps, groups, places):
    """List how units that add up to so much to a group can move counts: in one way at a time."""
    found = set()
    for units in moves(steps=steps, groups=groups, places=places, signs=(1,)):
        for each in itertools.product(*(range(n, n * most + 1) for n in units)):
            found |= {each, tuple(-n for n in each)}
    return sorted(found)


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(sigma=2)], ids=repr)
@pytest.mark.parametrize(("groups", "fewest"), [(1, 1), (1, 3), (2, 1)])
@pytest.mark.parametrize("most", [2, 3])
def test_all_tables_that_a_unit_of_several_rows_tells_apart(noise, groups, fewest, most):
    top = 7 if groups == 1 else 4
    choice = keys(noise=noise, threshold=fewest + 3, groups=groups, fewest=fewest, most=most)
    found = largest(
        laws(choice, top, radius=30 if groups == 1 else 14),
        counted(most=most, steps=1, groups=groups, places=groups),
        most=top,
    )
    assert exceeded(found, choice.loss()) == []
    assert exceeded(found, replace(choice, most=most - 1).loss()) != []  # a row forgotten
    assert exceeded(found, noise.loss(distance=most).power(groups)) != []  # delta forgotten
    assert exceeded(found, replace(choice, threshold=choice.threshold + 1).loss()) != []


@pytest.mark.theorem("threshold-keys")
@pytest.mark.theorem("key-moves")
@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(sigma=2)], ids=repr)
@pytest.mark.parametrize(("steps", "groups", "places"), [(2, 1, 1), (2, 1, 2), (3, 1, 2)])
def test_all_tables_several_units_of_several_rows_apart(noise, steps, groups, places):
    choice = keys(noise=noise, threshold=4, groups=groups, most=2)
    found = largest(
        laws(choice, 6, radius=20),
        counted(most=2, steps=steps, groups=groups, places=places),
        most=6,
        epsilons=(0.0, 0.7, 2.0),
    )
    assert exceeded(found, choice.loss(distance=steps)) == []


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(sigma=2)], ids=repr)
def test_a_replaced_unit_of_several_rows(noise):
    choice = keys(noise=noise, threshold=6, relation="replace", most=2)
    alone = counted(most=2, steps=1, groups=1, places=2)
    come = [move for move in alone if min(move) >= 0]
    pairs = itertools.product(come, come)
    both = {tuple(a - b for a, b in zip(*pair, strict=True)) for pair in pairs}
    replaced = sorted((both | set(alone)) - {(0, 0)})
    found = largest(laws(choice, 12, radius=24), replaced, most=12, epsilons=(0.0, 0.7, 1.3))
    assert exceeded(found, choice.loss()) == []
    assert exceeded(found, keys(noise=noise, threshold=6, most=2).loss()) != []


@pytest.mark.theorem("threshold-leak")
@pytest.mark.parametrize("most", [1, 2, 5, 100])
@pytest.mark.parametrize("noise", [Laplace(scale=3), Gaussian(sigma=4)], ids=repr)
def test_one_unit_alone_is_seen_as_rarely_as_was_asked(most, noise):
    plan = {"noise": noise, "groups": 1, "relation": "add_remove", "most": most}
    choice = NoisyKeys.for_delta(delta="1e-6", **plan)
    assert choice.kept(most).high <= Fraction(1, 10**6)
    assert choice.leak() >= choice.kept(most).low
    before = replace(choice, threshold=choice.threshold - 1)
    assert before.kept(most).low > Fraction(1, 10**6)


def test_the_fewest_units_shift_the_threshold_only():
    shifted = keys(threshold=3 + 6, fewest=7)
    assert shifted.loss() == keys().loss()
    assert shifted.kept(7) == keys().kept(1)
    assert shifted.kept(6).high == 0
    assert not shifted.run([6] * 2000).shown.any()


def test_no_steps_lose_nothing():
    assert keys().loss(distance=0) == Pure(epsilon=0)


# --- the leak ------------------------------------------------------------------------------------


def entries(total, most):
    """List the ways in which units enter groups: falling numbers up to ``most``."""
    yield ()
    for first in range(min(total, most), 0, -1):
        for rest in entries(total - first, first):
            yield (first, *rest)


@pytest.mark.theorem("threshold-leak")
@pytest.mark.parametrize("law", [DiscreteLaplace(scale=2), DiscreteGaussian(variance=3)], ids=repr)
@pytest.mark.parametrize("distance", [-2, 0, 1, 3, 8])
@pytest.mark.parametrize(("steps", "groups"), [(1, 3), (2, 2), (3, 2), (4, 1)])
def test_no_way_to_enter_groups_leaks_more(law, distance, steps, groups):
    def hidden(j):
        return 1 - law.survival_bounds(distance - j).low

    most = max(
        1 - math.prod(hidden(j) for j in way) for way in entries(steps * groups, steps) if way
    )
    bound = leak_probability(law, distance=distance, groups=groups, steps=steps)
    assert most <= bound <= most * (1 + Fraction(1, 10**12))


@pytest.mark.theorem("threshold-leak")
def test_either_end_can_leak_more():
    """High thresholds are reached together, low ones by many groups of one unit."""
    law = DiscreteLaplace(scale=1)
    high, low = ({"distance": d, "groups": 2} for d in (12, -4))
    assert leak_probability(law, steps=3, **high) > leak_probability(
        law, steps=1, distance=12, groups=6
    )
    assert leak_probability(law, steps=3, **low) == leak_probability(
        law, steps=1, distance=-4, groups=6
    )


@pytest.mark.parametrize("noise", [Laplace(scale=3), Gaussian(sigma=4)], ids=repr)
@pytest.mark.parametrize("groups", [1, 7, 1000])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_smallest_threshold_for_a_delta(noise, groups, delta):
    choice = NoisyKeys.for_delta(delta=delta, noise=noise, groups=groups, relation="add_remove")
    before = keys(noise=noise, groups=groups, threshold=choice.threshold - 1)
    assert choice.leak() <= Fraction(delta) < before.leak()
    each = -math.expm1(math.log1p(-float(Fraction(delta))) / groups)  # of each group
    if isinstance(noise, Laplace):  # P[Z >= t] = a**t / (1 + a) for a = exp(-1/3)
        assert choice.threshold == 1 + math.ceil(-3 * math.log(each * (1 + math.exp(-1 / 3))))
    else:  # the formula for real-valued noise, which integers shift by about a half
        real = 1 - 4 * NormalDist().inv_cdf(each)
        assert abs(choice.threshold - real - 1) <= 0.75


@pytest.mark.parametrize("fewest", [1, 20])
def test_the_threshold_starts_at_the_fewest(fewest):
    choice = NoisyKeys.for_delta(
        delta="0.99", noise=Laplace(scale=1), groups=1, relation="replace", fewest=fewest
    )
    assert choice.threshold == fewest


# --- what is shown -------------------------------------------------------------------------------


def test_groups_without_units_are_never_shown():
    answer = keys(threshold=-(10**6)).run([0] * 1000 + [-5] * 1000 + [1] * 1000)
    assert answer.shown.tolist() == [False] * 2000 + [True] * 1000
    assert answer.counts.shape == (1000,)


def test_nothing_is_told_about_hidden_groups():
    answer = keys().run(np.arange(100), entropy=stream("thresholds"))
    assert answer.counts.size == answer.shown.sum()
    assert answer.counts.min() >= 3


def test_long_arrays_follow_the_chances():
    """Five deviations are one in 10**6."""
    choice = keys()
    units = np.arange(400_000) % 6
    answer = choice.run(units, entropy=stream("many thresholds"))
    for n in range(6):
        chance, times = choice.kept(n).nearest(), int((units == n).sum())
        found = int(answer.shown[units == n].sum())
        assert abs(found - chance * times) <= 5 * (chance * (1 - chance) * times) ** 0.5


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize("fewest", [1, 9])
def test_the_smallest_group_shown_with_a_chance(noise, fewest):
    choice = keys(noise=noise, threshold=8, fewest=fewest)
    for chance in ("0.01", "1/2", "0.9", "0.999999"):
        units = choice.smallest(chance)
        assert choice.kept(units).low >= Fraction(chance)
        assert units == fewest or choice.kept(units - 1).high < Fraction(chance)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@pytest.mark.parametrize(("threshold", "fewest"), [(4, 1), (-6, 1), (4, 12), (15, 12)])
def test_the_error_is_exact(noise, threshold, fewest):
    """Count every outcome, for every number of units around: hidden groups are taken for 0."""
    choice = keys(noise=noise, threshold=threshold, fewest=fewest)

    def right(units, reach):
        law = choice.reference_pmf([units])
        near = range(max(units - reach, threshold), units + reach + 1)
        shown = sum(law((y,)).nearest() for y in near)
        return shown + (law((None,)).nearest() if units <= reach else 0)

    for confidence in (0.6, 0.95, 0.999):
        reach = choice.error(confidence=confidence)
        assert min(right(units, reach) for units in range(40)) >= confidence - 1e-12
        assert reach == 0 or min(right(units, reach - 1) for units in range(40)) < confidence


# --- intervals -----------------------------------------------------------------------------------


@pytest.mark.theorem("shown-interval")
@pytest.mark.parametrize("noise", [Laplace(scale=1), Laplace(scale=6), Gaussian(sigma=3)], ids=repr)
@pytest.mark.parametrize("confidence", ["0.8", "0.95"])
@pytest.mark.parametrize("fewest", [1, 4])
def test_shown_counts_are_covered_whatever_they_are(noise, confidence, fewest):
    choice = keys(noise=noise, threshold=10, fewest=fewest)
    answers = np.arange(10, 10 + 120)
    low, high = choice.intervals(answers, confidence=confidence)
    assert (low <= np.maximum(answers, fewest)).all()
    assert (high >= answers).all()
    assert low.min() >= fewest
    for units in range(fewest, 40):
        law = choice.reference_pmf([units])
        inside = (low <= units) & (units <= high)
        covered = sum(law((y,)).nearest() for y in answers[inside].tolist())
        assert covered >= float(Fraction(confidence)) * choice.kept(units).nearest() - 1e-9


@pytest.mark.theorem("shown-interval")
def test_the_error_of_the_noise_alone_does_not_cover_small_counts():
    """A mutant: what is shown of a small group is far above it."""
    choice = keys(noise=Laplace(scale=6), threshold=40)
    reach = Laplace(scale=6).error(confidence="0.95")
    law = choice.reference_pmf([5])
    covered = sum(law((y,)).nearest() for y in range(40, 200) if abs(y - 5) <= reach)
    assert covered == 0


@pytest.mark.theorem("shown-interval")
@pytest.mark.parametrize("noise", [Laplace(scale=4), Gaussian(sigma=5)], ids=repr)
def test_far_above_the_threshold_it_is_the_error_of_the_noise(noise):
    choice = keys(noise=noise, threshold=30)
    answers = np.array([10**6, 30, 80, 31, 30, 2**63 - 1])
    low, high = choice.intervals(answers, confidence="0.9")
    reach = noise.error(confidence="0.9")
    assert (low[0], high[0]) == (10**6 - reach, 10**6 + reach)
    assert high[-1] == 2**63 - 1
    exact = ThresholdedLaw(choice.noise.law, 30, 1, Fraction(1, 20))
    for at, answer in enumerate(answers[:-1].tolist()):
        assert (low[at], high[at]) == exact.interval(answer)


def test_intervals_at_any_depth():
    low, high = keys(threshold=10**7).intervals([10**7, 10**7 + 9], confidence="0.9")
    assert low.tolist() == [1, 10**7 + 7]
    assert high.tolist() == [10**7 + 2, 10**7 + 11]


def test_no_counts_have_no_intervals():
    low, high = keys().intervals(np.array([], np.int64), confidence="0.9")
    assert low.size == high.size == 0


# --- in a composition ----------------------------------------------------------------------------


@pytest.mark.theorem("threshold-keys")
@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_leaf_is_priced_by_units(noise):
    leaf = Leaf(keys(noise=noise, groups=2))
    assert leaf.price(1, 0) == keys(noise=noise, groups=2).loss()
    exact = keys(noise=noise, groups=2, relation="replace").loss()
    for epsilon in (0, 0.5, 1, 2, 4):
        assert leaf.price(1, 1).delta(epsilon=epsilon) >= exact.delta(epsilon=epsilon)
    with pytest.raises(OutOfRange):
        Leaf(keys(), added=2)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_leaf_can_be_written_and_read(noise):
    leaf = Leaf(keys(noise=noise, threshold=-5, groups=7, relation="either", fewest=5, most=3))
    assert decode(encode(leaf)) == leaf
