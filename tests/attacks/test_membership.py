"""Membership: scores of canaries bound epsilon, likelihood ratios rank, and nothing odd gets in."""

import math

import numpy as np
import pytest

from discreet.attacks.guessed_bits import guessed
from discreet.attacks.membership import (
    Canaries,
    confidence_logits,
    draw,
    guesses_by,
    likelihood_ratios,
    outside_scores,
)
from discreet.errors import OutOfRange, WrongKind
from discreet.loss import GaussianDP
from discreet.noise import KeyedEntropy


def coins(label):
    return KeyedEntropy(key=bytes(32), label=label)


def test_coins_are_fair_and_each_canary_has_its_own():
    bits = draw(4000, entropy=coins("fair")).bits
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / math.sqrt(4000)
    assert set(draw(200, entropy=coins("other")).inside) != set(
        draw(200, entropy=coins("o")).inside
    )


@pytest.mark.parametrize(("most", "expected"), [(4, [1, 0, 0, 1]), (3, [1, -1, 0, 1])])
def test_the_surest_are_guessed(most, expected):
    assert guesses_by([0.9, 0.4, 0.1, 0.6], most=most).tolist() == expected
    assert np.sum(guesses_by(np.zeros(9), most=5) >= 0) == 5
    assert guesses_by([math.inf, -math.inf], most=2).tolist() == [1, 0]


@pytest.mark.theorem("one-run-audit")
def test_an_audit_by_scores_is_that_of_its_guesses():
    canaries = draw(500, entropy=coins("bits"))
    noise = np.random.default_rng(3).normal(size=500)
    scores = canaries.bits + 0.3 * noise
    found = canaries.audit(scores, guesses=100, claim=GaussianDP(mu=1), delta="1e-5", level="0.01")
    same = guessed(
        canaries.bits,
        guesses_by(scores, most=100),
        claim=GaussianDP(mu=1),
        delta="1e-5",
        most=100,
        level="0.01",
    )
    assert (found.lower, found.hits, found.claimed) == (same.lower, same.hits, same.claimed)


@pytest.mark.theorem("one-run-audit")
@pytest.mark.parametrize("seed", range(8))
def test_a_sum_with_enough_noise_is_not_refuted_and_one_with_too_little_is(seed):
    """One coordinate for each canary: with noise of deviation s the loss is mu = 1 / s."""
    canaries = draw(1000, entropy=coins(f"canaries {seed}"))
    noise = np.random.default_rng(seed).normal(size=1000)
    options = {"guesses": 200, "claim": GaussianDP(mu="1/2"), "delta": "1e-5", "level": "0.02"}
    assert not canaries.audit(canaries.bits + 2.01 * noise, **options).violates
    assert canaries.audit(canaries.bits + 0.05 * noise, **options).violates


# --- likelihood ratios --------------------------------------------------------------------------


def shadows(runs, examples, *, gap, seed):
    """Scores around a level of each example, higher by a gap if it is in."""
    rng = np.random.default_rng(seed)
    level = rng.normal(scale=5.0, size=examples)
    bits = rng.integers(0, 2, (runs, examples))
    bits[:2] = [[0] * examples, [1] * examples]
    truth = rng.integers(0, 2, examples)
    scores = level + gap * bits + rng.normal(size=(runs, examples))
    return truth, level + gap * truth + rng.normal(size=examples), scores, bits


@pytest.mark.parametrize("runs", [8, 100])
def test_ratios_tell_members_where_scores_alone_do_not(runs):
    truth, seen, scores, bits = shadows(runs, 2000, gap=4.0, seed=1)
    ratios = likelihood_ratios(seen, shadow_scores=scores, shadow_bits=bits)
    right = np.mean((ratios > 0) == truth)
    assert right > 0.93  # the best is Phi(2) = 0.977
    assert np.mean((seen > np.median(seen)) == truth) < 0.7
    outside = outside_scores(seen, shadow_scores=scores[[0, *range(2, 2)]])
    assert np.mean((outside > np.median(outside)) == truth) > 0.85


def test_ratios_are_those_of_normal_densities():
    rng = np.random.default_rng(2)
    inside, outside = rng.normal(2, 1, 64), rng.normal(0, 3, 64)
    scores = np.concatenate([inside, outside])[:, None]
    bits = np.repeat([1, 0], 64)[:, None]
    [ratio] = likelihood_ratios([1.5], shadow_scores=scores, shadow_bits=bits)

    def density(rows):
        spread = rows.std(ddof=1)
        return -((1.5 - rows.mean()) ** 2) / (2 * spread**2) - math.log(spread)

    assert ratio == pytest.approx(density(inside) - density(outside))


def test_logits_of_losses():
    chances = np.array([0.01, 0.5, 0.99])
    logits = confidence_logits(-np.log(chances))
    assert logits == pytest.approx(np.log(chances / (1 - chances)))
    assert np.isfinite(confidence_logits([0.0, 1e-300, 700.0])).all()


# --- what is refused ----------------------------------------------------------------------------

SCORES = [0.1, 0.2, 0.3, 0.4]


@pytest.mark.parametrize("scores", [SCORES[:3], [*SCORES[:3], math.nan], ["a"] * 4, [SCORES], None])
def test_scores_that_are_not_one_number_for_each_are_refused(scores):
    with pytest.raises(WrongKind):
        Canaries(bits=[0, 1, 0, 1]).audit(scores, guesses=2, level="0.1")


@pytest.mark.parametrize("bits", [[0, 2], [0.5, 1], [], [math.nan, 0], "01"])
def test_bits_that_are_none_are_refused(bits):
    with pytest.raises(WrongKind):
        Canaries(bits=bits)


@pytest.mark.parametrize("guesses", [0, 5])
def test_a_number_of_guesses_that_cannot_be_is_refused(guesses):
    with pytest.raises(OutOfRange):
        Canaries(bits=[0, 1, 0, 1]).audit(SCORES, guesses=guesses, level="0.1")


@pytest.mark.parametrize(
    ("shadow", "bits"),
    [
        ([[1.0, 2.0]], [[1, 0]]),
        ([[1.0, 2.0], [1.0, 2.0]], [[1, 1], [0, 2]]),
        ([[1.0], [2.0]], [[1], [0]]),
        ([[1.0, math.nan], [1.0, 2.0]], [[1, 1], [0, 0]]),
    ],
)
def test_shadow_runs_that_say_nothing_are_refused(shadow, bits):
    with pytest.raises(WrongKind):
        likelihood_ratios([1.0, 2.0], shadow_scores=shadow, shadow_bits=bits)
