"""Every sampler has exactly the law that it claims, by enumeration of all its words."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.certified import exp_neg
from discreet.exact import Interval
from discreet.noise import (
    Bernoulli,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    Uniform,
    exponential_weights,
    tablefree,
)
from discreet.noise.bernoulli import CoinSizes, CoinWords, exp_coins
from discreet.noise.categorical import _Weights
from discreet.noise.decay import ScaledExponential, complement, ratio
from discreet.noise.table import BlockSampler, SignedSampler, Table
from discreet.noise.tablefree import FreeSizes, Parameters, geometric_into
from discreet_course.permute_and_flip import permute_and_flip
from tests.noise.laws import (
    LAZY_COINS,
    LAZY_FREE,
    TINY_COINS,
    TINY_FREE,
    TINY_TABLE,
    check_law,
    stream,
)

LAWS = [
    DiscreteLaplace(scale="1/5"),
    DiscreteLaplace(scale=1),
    DiscreteLaplace(scale="7/3"),
    DiscreteGaussian(variance="1/3"),
    DiscreteGaussian(variance=1),
    DiscreteGaussian(variance="17/4"),
]
WIDE = [
    (DiscreteLaplace(scale=3), 1),
    (DiscreteLaplace(scale="17/5"), 2),
    (DiscreteGaussian(variance=8), 1),
    (DiscreteGaussian(variance="41/3"), 2),
]
CHANCES = [
    "1/3",
    "1/2",
    "5/8",
    0,
    1,
]


def one(sample_into):
    """Turn a sampler of arrays into a program that draws one value."""

    def program(entropy):
        out = np.empty(1, np.int64)
        sample_into(out, entropy)
        return int(out[0])

    return program


@pytest.mark.theorem("lazy-inversion")
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tables(law):
    program = one(SignedSampler(law.decay, TINY_TABLE).sample_into)
    check_law(program, law.pmf_bounds, unexplored=Fraction(1, 2**12))


def attempt(attempt_of):
    """Turn one vectorized attempt into a program that returns a value, or None if rejected."""

    def program(entropy):
        value, accepted = attempt_of(entropy)
        return int(value[0]) if accepted[0] else None

    return program


@pytest.mark.theorem("block-mixture")
@pytest.mark.parametrize(
    ("wide", "coins"),
    [
        (WIDE[0], LAZY_COINS),  # with the others in test_mutants
        (WIDE[1], TINY_COINS),
        (WIDE[2], LAZY_COINS),
        (WIDE[3], TINY_COINS),
        pytest.param(WIDE[1], LAZY_COINS, marks=pytest.mark.slow),
        pytest.param(WIDE[2], TINY_COINS, marks=pytest.mark.slow),
        pytest.param(WIDE[3], LAZY_COINS, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_blocks(wide, coins):
    """Coins know nothing of blocks, so that each law meets one kind of them, and each kind both."""
    law, bits = wide
    sampler = BlockSampler(law.decay, bits, TINY_TABLE, coins)

    def program(entropy):
        out = np.empty(1, np.int64)
        return None if sampler._attempt(out, entropy).size else int(out[0])

    check_law(program, law.pmf_bounds)


@pytest.mark.theorem("geometric-log")
@pytest.mark.theorem("laplace-sign")
@pytest.mark.theorem("gaussian-rejection")
@pytest.mark.parametrize(
    ("law", "sizes"),
    [
        *((law, sizes) for law in LAWS[:3] for sizes in (TINY_FREE, LAZY_FREE)),
        (LAWS[3], TINY_FREE),
        (LAWS[4], LAZY_FREE),  # with the others in test_mutants
        (LAWS[5], TINY_FREE),
        pytest.param(LAWS[3], LAZY_FREE, marks=pytest.mark.slow),
        pytest.param(LAWS[5], LAZY_FREE, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_tablefree(law, sizes):
    """Lazy coins of variance 1 reach what those of the other variances do; slips are found at 1."""
    if isinstance(law, DiscreteLaplace):
        of, parameters = tablefree._laplace_attempt, Parameters.same(law.scale)
    else:
        of, parameters = tablefree._gaussian_attempt, Parameters.same(law.variance)
    check_law(attempt(lambda entropy: of(parameters, 1, entropy, sizes)), law.pmf_bounds)


def geometric(scale):
    """Return the probabilities of k = 0, 1, 2, ... with weights exp(-k / scale)."""
    return lambda k: ScaledExponential(k / scale, complement(ratio(scale, 64))).bounds(64)


@pytest.mark.theorem("geometric-split")
@pytest.mark.parametrize("scale", [33, pytest.param("77/2", marks=pytest.mark.slow)])
def test_geometric_split_in_blocks(scale):
    scale = Fraction(scale)
    sizes = FreeSizes(word_bits=8, step_bits=3, coins=CoinSizes(word_bits=3, step_bits=3))
    parameters = Parameters.same(scale)
    of = tablefree._geometric_attempt
    check_law(
        attempt(lambda entropy: of(parameters, 1, entropy, sizes)),
        geometric(scale),
        unexplored=Fraction(1, 12),
    )


@pytest.mark.parametrize("scale", ["1/5", 1, "7/3"])
def test_geometric(scale):
    parameters = Parameters.same(Fraction(scale))
    program = one(lambda out, entropy: geometric_into(out, parameters, entropy, TINY_FREE))
    check_law(program, geometric(Fraction(scale)))


@pytest.mark.parametrize("law", [DiscreteLaplace(scale=1), DiscreteGaussian(variance=1)], ids=str)
def test_what_is_rejected_is_drawn_again(law):
    """Cut a recorded stream into attempts: a draw is the first accepted one of them."""
    of, parameters = {
        DiscreteLaplace: lambda law: (tablefree._laplace_attempt, Parameters.same(law.scale)),
        DiscreteGaussian: lambda law: (tablefree._gaussian_attempt, Parameters.same(law.variance)),
    }[type(law)](law)
    source, expected, rejected = stream("again"), [], 0
    while len(expected) < 200:
        value, accepted = of(parameters, 1, source, tablefree.SIZES)
        expected += value.tolist() if accepted[0] else []
        rejected += not accepted[0]
    source = stream("again")
    assert rejected > 20
    assert [law.draw(source) for _ in expected] == expected


@pytest.mark.theorem("lazy-inversion")
@pytest.mark.parametrize("p", CHANCES, ids=str)
def test_coins(p):
    coin = Bernoulli(p=p, words=CoinWords(first_bits=3, word_bits=6, step_bits=5))
    check_law(lambda entropy: int(coin.flips(1, entropy)[0]), coin.pmf_bounds)
    check_law(coin.draw, coin.pmf_bounds)


@pytest.mark.parametrize("sizes", [TINY_COINS, LAZY_COINS])
@pytest.mark.parametrize("x", ["0", "1/20", "1/2", "3"])
def test_exponential_coins(x, sizes):
    exact = Fraction(x)

    def program(entropy):
        return int(exp_coins(np.array([float(exact)]), lambda _: exact, entropy, sizes)[0])

    low, high = exp_neg(exact, 64)
    heads = Interval(Fraction(low, 1 << 64), Fraction(high, 1 << 64))
    check_law(program, lambda k: heads if k else complement(heads))


@pytest.mark.parametrize("below", [1, 2, 3, 8, 11])
def test_uniform(below):
    law = Uniform(below=below)
    check_law(law.draw, law.pmf_bounds)
    check_law(lambda entropy: int(law.sample(1, entropy)[0]), law.pmf_bounds)


@pytest.mark.parametrize("weights", [[1], [1, 1, 2], [3, 0, 5, "1/7"], [0, 0, 9, 1]])
def test_categorical(weights):
    law = Categorical(weights=weights)
    positive = [int(Fraction(weight) * 7) for weight in weights if Fraction(weight)]
    kept = [index for index, weight in enumerate(weights) if Fraction(weight)]
    table = Table(_Weights(positive), TINY_TABLE)

    def program(entropy):
        out = np.empty(1, np.int64)
        void, index, _ = table.look_up(out, entropy)
        out[void] = index
        return kept[out[0]]

    check_law(program, law.pmf_bounds)


def exponential_law(scores, rate):
    """Return exact-enough probabilities proportional to exp(rate * score)."""
    weights = [exp_neg(rate * (max(scores) - score), 200) for score in scores]
    low, high = sum(low for low, _ in weights), sum(high for _, high in weights)
    return [Interval(Fraction(a, high), Fraction(b, low)) for a, b in weights]


def permute_and_flip_law(scores, rate):
    """Sum over all orders, the way permute-and-flip is defined."""
    import itertools  # noqa: PLC0415  used by this oracle alone

    heads = [Fraction(exp_neg(rate * (max(scores) - score), 200)[0], 2**200) for score in scores]
    wins = [Fraction(0)] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        still_open = Fraction(1)
        for candidate in order:
            wins[candidate] += still_open * heads[candidate] / len(orders)
            still_open *= 1 - heads[candidate]
    tiny = Fraction(1, 2**190)
    return [Interval(max(Fraction(0), win - tiny), win + tiny) for win in wins]


SCORES = [
    [0, 1, 2],
    [Fraction(1, 2), Fraction(1, 3), Fraction(0)],
    [5, 5],
    [-(10**6), 10**6, 10**6 - 1],
    [7],
]


@pytest.mark.theorem("exponential-inversion")
@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_exponential_weights(scores):
    claim = exponential_law(scores, Fraction(1, 2))
    check_law(
        lambda entropy: exponential_weights(
            scores=scores, rate="1/2", entropy=entropy, sizes=CoinSizes(word_bits=6, step_bits=6)
        ),
        lambda outcome: claim[outcome],
    )


@pytest.mark.theorem("exponential-inversion")
@pytest.mark.parametrize("scores", SCORES[:3], ids=str)
def test_two_exponential_weights_are_independent(scores):
    claim = exponential_law(scores, Fraction(1, 2))
    check_law(
        lambda entropy: tuple(
            exponential_weights(
                scores=scores,
                rate="1/2",
                count=2,
                entropy=entropy,
                sizes=CoinSizes(word_bits=5, step_bits=5),
            ).tolist()
        ),
        lambda pair: Interval(
            claim[pair[0]].low * claim[pair[1]].low, claim[pair[0]].high * claim[pair[1]].high
        ),
        unexplored=Fraction(1, 16),
    )


@pytest.mark.theorem("permute-and-flip")
@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_permute_and_flip(scores):
    claim = permute_and_flip_law(scores, Fraction(1, 2))
    check_law(
        lambda entropy: permute_and_flip(
            scores=scores, rate="1/2", entropy=entropy, sizes=CoinSizes(word_bits=3, step_bits=3)
        ),
        lambda outcome: claim[outcome],
        unexplored=Fraction(1, 16),
    )


def toy_attempt(entropy):
    """Attempts of a uniform value below 6, by words of three bits."""

    def attempted(part, count):
        words = entropy.words(count, 3).astype(np.int64)
        return words, words < part.floats

    return attempted


def test_every_element_keeps_its_own_parameter_in_all_attempts():
    out, source = np.empty(5000, np.int64), stream("own parameters")
    wanted = np.arange(5000) % 8 + 1
    parameters = Parameters(wanted.astype(float), lambda index: Fraction(int(wanted[index])))
    tablefree.repeated(out, parameters, toy_attempt(source))
    assert (out < wanted).all()
    assert all(set(out[wanted == n].tolist()) == set(range(n)) for n in range(1, 9))
