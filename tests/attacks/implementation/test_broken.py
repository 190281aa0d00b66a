"""What each attack must see: an implementation with the fault that it looks for."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Budget, Leaf
from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.subjects import Batches
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import optimal_delta
from discreet.mechanisms import Laplace, NoisyKeys, OptimalKeys
from discreet.noise import SYSTEM, KeyedEntropy
from discreet_audit import clinic as totals
from discreet_audit import rank_tests as ranks
from discreet_audit.cases import CASES, Case
from discreet_audit.clinic import rehearsed, row_of, visits
from discreet_audit.implementation import (
    claimed,
    drift,
    float_support,
    odometer,
    poison,
    sampler_timing,
    selection_weights,
)
from discreet_audit.implementation import randomness as randomness_attack
from discreet_audit.implementation.fuzz import changed
from discreet_audit.suite import Row
from discreet_audit.twins.noises import float_laplace
from tests.twins.mechanisms import Twin


def fixed(label):
    return KeyedEntropy(key=bytes(32), label=label)


def test_float_noise_has_holes():
    source = fixed("holes")
    broken = Batches(lambda value, n: float_laplace(value, n, source))
    found = float_support.mironov(broken, (0.0, 1.0), 3000, claim=1)
    assert found.violates
    assert found.lower > 3


def coins_until_tails(entropy):
    count = 0
    while entropy.bits(1):
        count += 1
    return count


def test_a_sampler_that_tosses_coins_takes_its_time():
    found = sampler_timing.timed(coins_until_tails, 300)
    assert not found.independent
    assert found.correlation > 0.5


def test_times_of_draws_that_come_once():
    def draw():
        return coins_until_tails(SYSTEM)

    assert not sampler_timing.timed_once(draw, 3000).independent


@pytest.mark.theorem("permuted-ranks")
@pytest.mark.parametrize("ties", [1, 5, 1000])
def test_ranks_have_the_variance_that_is_claimed(ties):
    """Times drift and repeat; values are independent of them: 400 repeats, five deviations."""
    n, repeats = 200, 400
    source = fixed(f"ranks {ties}")
    times = np.arange(n) // 7 + 50.0 * (np.arange(n) > 150)
    found = []
    for _ in range(repeats):
        values = source.words(n, 32).astype(np.int64) % ties
        found.append(ranks.rank_test(values, times))
    correlations = np.array([each.correlation for each in found])
    areas = np.array([each.area for each in found])
    limit = np.array([each.area_limit for each in found])
    bound = ((limit - ranks.ALLOWED_AREA) / ranks.DEVIATIONS) ** 2
    assert all(each.independent for each in found)
    if ties > 1:
        assert abs((correlations**2).mean() * (n - 1) - 1) < 5 * math.sqrt(2 / repeats)
        assert (areas - 0.5).var() <= bound.mean() * (1 + 5 * math.sqrt(2 / repeats))


def test_groups_that_are_empty_tell_nothing():
    assert ranks.two_areas(np.array([]), np.array([1.0])) == (0.5, ranks.ALLOWED_AREA)


class Moved:
    """A plan with one leaf."""

    def __init__(self, leaf):
        self.tree = leaf


def test_a_total_that_moves_too_far_is_seen():
    leaf = Leaf(Laplace(scale=2), name="sum", added=2)
    (found,) = totals.moves(Moved(leaf), {"sum": {(): 5}, "other": {(): 9}}, {"sum": {(): 2}})
    assert found.too_far
    assert found.share == 1.5
    (fine,) = totals.moves(Moved(leaf), {"sum": {(): 5}}, {"sum": {(): 3}})
    assert not fine.too_far


def test_an_answer_that_breaks_has_another_outcome():
    class Session:
        def ask(self, question, **price):
            raise ValueError(question)

    class Refusing:
        def ask(self, question, **price):
            raise WrongKind(what="a.", why="b.", do="c.")

    with rehearsed(visits(3)) as session:
        fine = poison.outcome(session, "SELECT COUNT(*) AS n FROM visits")
    broken, refused = poison.outcome(Session(), "q"), poison.outcome(Refusing(), "q")
    assert (fine[0], broken[0], refused[0]) == ("answer", "escaped", "refused")


def test_a_claim_that_is_too_low_is_measured():
    def judge(n, level):
        return estimate_epsilon(Laplace(scale="1/2"), (0, 1), n, claim=1, level=level)

    row = Row(part="mechanisms", name="twin", judge=judge, quick=2000)
    finding = claimed.attack(quick=True, rows=[row])
    assert not finding.passed
    assert finding.measured == "1 promises, 1 refuted: twin"
    assert finding.rows[0].lower > 1.2


def generous(asked):
    """Accept whatever stays below three in all."""
    return sum(asked) <= 3


def test_a_rule_that_is_too_generous_is_refuted():
    promise = Budget(epsilon=1, delta="0.05").guarantee.delta(epsilon=1)
    paths = odometer.conversation(generous, seed=0, depth=8)
    assert odometer.delta_of(paths, Fraction(1)) > promise


def test_a_fixed_list_has_the_delta_of_optimal_composition():
    def four(asked):
        return len(asked) <= 4 and asked[-1] == Fraction(1, 20)

    found = odometer.delta_of(odometer.conversation(four, seed=3, depth=9), Fraction(1, 10))
    exact = optimal_delta([(Fraction(1, 20), 0)] * 4, target="0.1")
    assert exact.low - Fraction(1, 10**12) <= found <= exact.high


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import numpy as np\nnp.random.seed(1)",
        "from os import urandom",
        "import uuid",
    ],
)
def test_other_randomness_is_found(source):
    assert randomness_attack.reaches(source)


@pytest.mark.parametrize(
    "source",
    [
        "from discreet.noise import KeyedEntropy",
        "from discreet.noise import keyed_entropy",
        "import discreet.noise.keyed_entropy as k",
        "from discreet import noise\nnoise.KeyedEntropy(key=b'', label='')",
        "from cryptography.hazmat.primitives.ciphers import Cipher",
    ],
)
def test_streams_that_repeat_are_found(source):
    assert randomness_attack.repeats(source)
    assert not randomness_attack.repeats("from discreet.noise import SYSTEM, Entropy")


def test_weights_in_floats_are_off():
    """Weights that are not taken relative to the best score underflow to nothing."""

    def floats(*, scores, rate, entropy, sizes):
        weights = [math.exp(-min(float(rate) * abs(score), 1e9)) for score in scores]
        total = sum(weights) or 1.0
        return 0 if entropy.bits(16) < weights[0] / total * 2**16 else 1

    law = selection_weights.exponential_law([Fraction(1), Fraction(1, 2)])
    assert selection_weights.variation(floats, (1000, 999), Fraction(1), law) > Fraction(1, 4)


def test_laws_of_selection_by_hand():
    third = Fraction(1, 3)
    assert selection_weights.flip_law([Fraction(1)] * 3) == [third] * 3
    assert sum(selection_weights.flip_law([Fraction(1), third, third / 5])) == 1


def laplace_with(**faces):
    twin = Twin(Laplace(scale=2), **faces)
    return Case(name="twin", mechanism=twin, pairs=[(0, 1)], outcomes=range(-40, 42))


def test_a_loss_of_another_mechanism_is_refuted():
    finding = drift.attack(quick=True, cases=[laplace_with(loss=Laplace(scale=3).loss)])
    assert not finding.passed
    assert "1 priced too low, 0 drawn" in finding.measured


def test_draws_from_another_law_are_seen():
    narrow = Laplace(scale=1)

    def run(value, *, entropy):
        return narrow.run(value, entropy=entropy)

    finding = drift.attack(quick=True, cases=[laplace_with(run=run)])
    assert not finding.passed
    assert "0 priced too low, 1 drawn" in finding.measured


def test_a_case_with_one_cell_is_refused():
    empty = replace(CASES[-1], name="nothing", outcomes=[(99, 99)], pairs=[((0, 0), (0, 0))])
    keys = next(case for case in CASES if case.name == "OptimalKeys")
    hidden = replace(keys, pairs=[((0,), (0,))])
    for case in (empty, hidden):
        with pytest.raises(OutOfRange):
            drift.laws_of_draws(case, 400)


@pytest.mark.parametrize("name", ["OptimalKeys", "NoisyKeys"])
def test_a_threshold_that_is_too_low_is_seen_beyond_the_empty_group(name):
    """On the empty group the draws agree with the law whatever the threshold is."""
    case = next(case for case in CASES if case.name == name)
    lower = {
        "OptimalKeys": OptimalKeys(epsilon=2, delta="1/4", groups=1, relation="add_remove"),
        "NoisyKeys": NoisyKeys(
            noise=Laplace(scale=1), threshold=2, groups=1, relation="add_remove"
        ),
    }[name]

    def run(value, *, entropy):
        return lower.run(value, entropy=entropy)

    broken = replace(case, mechanism=Twin(case.mechanism, run=run))
    assert drift.law_of_draws(broken, (0,), 400).chance == 1
    assert not drift.attack(quick=True, cases=[broken]).passed


def test_every_mechanism_has_a_case():
    names = {type(case.mechanism).__name__ for case in CASES}
    assert len(names) >= 19


def test_changed_texts_are_many_and_repeat():
    first, again = (list(changed(50, label="x")) for _ in range(2))
    assert first == again
    assert len(set(first)) > 45
    assert first != list(changed(50, label="y"))


def test_one_row_more():
    assert visits(2, row_of(7, cost=None)).column("cost").to_pylist()[-1] is None
