"""Samplers that are wrong on purpose: the exact check refuses each of them.

Each mutant changes one line of a sampler the way a slip would, and runs through the same check that
the true sampler passes in test_laws.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise import (
    Bernoulli,
    DiscreteGaussian,
    DiscreteLaplace,
    Uniform,
    table,
    tablefree,
)
from discreet.noise import bernoulli as coins
from discreet.noise import table as blocks
from discreet.noise.bernoulli import CoinSizes, CoinWords
from discreet.noise.decay import Decay
from discreet.noise.table import SignedSampler
from discreet.noise.tablefree import Parameters
from discreet_course.permute_and_flip import permute_and_flip
from tests.noise.laws import TINY_COINS, TINY_FREE, TINY_TABLE, WrongLaw, check_law
from tests.noise.test_laws import attempt, one, permute_and_flip_law

LAPLACE = DiscreteLaplace(scale=1)
GAUSSIAN = DiscreteGaussian(variance=1)


def check_table(law, decay=None):
    sampler = SignedSampler(decay or law.decay, TINY_TABLE)
    check_law(one(sampler.sample_into), law.pmf_bounds, unexplored=Fraction(1, 2**12))


def check_blocks():
    law = DiscreteLaplace(scale=3)
    sampler = blocks.BlockSampler(law.decay, 1, TINY_TABLE, TINY_COINS)

    def program(entropy):
        out = np.empty(1, np.int64)
        return None if sampler._attempt(out, entropy).size else int(out[0])

    check_law(program, law.pmf_bounds)


def check_laplace():
    of, parameters = tablefree._laplace_attempt, Parameters.same(LAPLACE.scale)
    check_law(attempt(lambda entropy: of(parameters, 1, entropy, TINY_FREE)), LAPLACE.pmf_bounds)


def check_gaussian():
    of, parameters = tablefree._gaussian_attempt, Parameters.same(GAUSSIAN.variance)
    check_law(attempt(lambda entropy: of(parameters, 1, entropy, TINY_FREE)), GAUSSIAN.pmf_bounds)


def check_coin():
    coin = Bernoulli(p="1/3", words=CoinWords(first_bits=3, word_bits=6, step_bits=5))
    check_law(lambda entropy: int(coin.flips(1, entropy)[0]), coin.pmf_bounds)


def check_winner():
    scores = [0, 1, 1]
    claim = permute_and_flip_law(scores, Fraction(1, 2))
    check_law(
        lambda entropy: permute_and_flip(
            scores=scores, rate="1/2", entropy=entropy, sizes=CoinSizes(word_bits=3, step_bits=3)
        ),
        lambda outcome: claim[outcome],
        unexplored=Fraction(1, 16),
    )


def test_the_true_samplers_pass():
    for check in (
        lambda: check_table(LAPLACE),
        check_blocks,
        check_laplace,
        check_gaussian,
        check_coin,
        check_winner,
    ):
        check()


@pytest.mark.parametrize("factor", [Fraction(21, 20), Fraction(19, 20)])
def test_a_scale_five_percent_off(factor):
    with pytest.raises(WrongLaw):
        check_table(LAPLACE, Decay(linear=factor))
    with pytest.raises(WrongLaw):
        check_table(GAUSSIAN, Decay(quadratic=factor / 2))


def test_minus_zero_kept(monkeypatch):
    whole = tablefree._geometric_attempt

    def keeps(scale, count, entropy, sizes):
        negative = entropy.words(count, 1).astype(bool)
        value, accepted = whole(scale, count, entropy, sizes)
        return np.where(negative, -value, value), accepted

    monkeypatch.setattr(tablefree, "_laplace_attempt", keeps)
    with pytest.raises(WrongLaw):
        check_laplace()


@pytest.mark.parametrize("shift", [-1, 1])
def test_boundaries_off_by_one(monkeypatch, shift):
    true = table.boundaries

    def shifted(low, high, rest, bits):
        known = true(low, high, rest, bits)
        return table.Boundaries(
            [at + shift for at in known.low], [at + shift for at in known.high], known.finite
        )

    monkeypatch.setattr("discreet.noise.table.boundaries", shifted)
    with pytest.raises(WrongLaw):
        check_table(LAPLACE)


def test_tail_cut_off(monkeypatch):
    true = table.boundaries
    monkeypatch.setattr(
        "discreet.noise.table.boundaries",
        lambda low, high, rest, bits: true(low[:7], high[:7], 0, bits),
    )
    with pytest.raises(WrongLaw):
        check_table(LAPLACE)


def test_tail_counted_once(monkeypatch):
    """The mass beyond the last boundary is forgotten in the total, not in the support."""
    true = table.boundaries
    monkeypatch.setattr(
        "discreet.noise.table.boundaries",
        lambda low, high, rest, bits: true(low[:7], high[:7], 1, bits),
    )
    with pytest.raises((WrongLaw, AssertionError)):
        check_table(LAPLACE)


@pytest.mark.parametrize("verdict", [True, False])
def test_residuals_not_tested(monkeypatch, verdict):
    monkeypatch.setattr(
        blocks, "flip", lambda estimate, *_: np.full(estimate.size, verdict, np.bool_)
    )
    with pytest.raises((WrongLaw, AssertionError)):
        check_blocks()


def test_residuals_mirrored_the_wrong_way(monkeypatch):
    true = blocks.BlockSampler._accept

    def mirrored(self, block, offset, entropy):
        return true(self, block, (1 << self._bits) - 1 - offset, entropy)

    monkeypatch.setattr(blocks.BlockSampler, "_accept", mirrored)
    with pytest.raises(WrongLaw):
        check_blocks()


def test_gaussian_with_a_wrong_center(monkeypatch):
    true = tablefree.exp_coins

    def shifted(exponent, exact, entropy, sizes):
        return true(exponent * 1.25, lambda at: exact(at) * Fraction(5, 4), entropy, sizes)

    monkeypatch.setattr(tablefree, "exp_coins", shifted)
    with pytest.raises(WrongLaw):
        check_gaussian()


@pytest.mark.parametrize("verdict", [True, False])
def test_close_calls_decided_carelessly(monkeypatch, verdict):
    monkeypatch.setattr("discreet.noise.bernoulli.settle", lambda *_: verdict)
    with pytest.raises(WrongLaw):
        check_coin()
    monkeypatch.setattr(coins, "settle", lambda *_: verdict)
    with pytest.raises(WrongLaw):
        check_gaussian()


def test_logarithm_rounded_instead_of_floored(monkeypatch):
    true = tablefree.settle_geometric
    monkeypatch.setattr(tablefree, "settle_geometric", lambda *arguments: true(*arguments) + 1)
    with pytest.raises(WrongLaw):
        check_laplace()


def test_the_first_head_wins_without_an_order(monkeypatch):
    class First:
        def __init__(self, *, below):
            pass

        def sample(self, count, entropy):
            return [0] * count

    monkeypatch.setattr("discreet_course.permute_and_flip.Uniform", First)
    with pytest.raises(WrongLaw):
        check_winner()


def test_uniform_by_remainder():
    law = Uniform(below=11)
    with pytest.raises(WrongLaw):
        check_law(lambda entropy: entropy.bits(4) % 11, law.pmf_bounds)
