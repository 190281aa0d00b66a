"""Rare heads and noise beyond a number have their laws exactly, and slips are found."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import OutOfRange
from discreet.exact import Interval
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.noise import tablefree as beyond
from discreet.noise import tablefree as rare
from discreet.noise.bernoulli import CoinSizes
from discreet.noise.tablefree import FreeSizes, Parameters, laplace_beyond_into, rare_heads
from tests.noise.laws import ALPHA, LAZY_FREE, TINY_FREE, WrongLaw, check_law, stream

LAPLACE = [DiscreteLaplace(scale="1/3"), DiscreteLaplace(scale=1), DiscreteLaplace(scale="7/3")]
GAUSSIAN = [
    DiscreteGaussian(variance="1/3"),
    DiscreteGaussian(variance=1),
    DiscreteGaussian(variance="17/4"),
]
LAWS = LAPLACE + GAUSSIAN
SIZES = [TINY_FREE, LAZY_FREE]
BITS = FreeSizes(word_bits=2, step_bits=1, coins=CoinSizes(word_bits=1, step_bits=1))
LAZY = FreeSizes(word_bits=1, step_bits=2, coins=CoinSizes(word_bits=1, step_bits=1, guard=0.2))


def exactly(value):
    return lambda bits: Interval(Fraction(value), Fraction(value))


def reaches(law, least):
    return functools.cache(lambda bits: law.survival_bounds(least - 1, bits))


def heads_law(coins, chance):
    """Return the chance of a tuple of places, of independent coins."""
    each = chance(64)

    def law(places):
        tails = coins - len(places)
        return Interval(
            each.low ** len(places) * (1 - each.high) ** tails,
            each.high ** len(places) * (1 - each.low) ** tails,
        )

    return law


def check_heads(coins, chance, sizes=BITS, unexplored=Fraction(1, 50)):
    check_law(
        lambda entropy: tuple(
            rare_heads(coins=coins, chance=chance, entropy=entropy, sizes=sizes).tolist()
        ),
        heads_law(coins, chance),
        unexplored=unexplored,
        max_runs=10_000,
    )


@pytest.mark.theorem("rare-coins")
@pytest.mark.parametrize(("coins", "sizes"), [(1, BITS), (1, LAZY), (2, BITS)])
@pytest.mark.parametrize("chance", ["1/8", "1/3", "2/5"])
def test_heads_are_those_of_independent_coins(coins, chance, sizes):
    check_heads(coins, exactly(chance), sizes)


@pytest.mark.theorem("rare-coins")
def test_three_coins():
    check_heads(3, exactly("1/8"), unexplored=Fraction(1, 12))


@pytest.mark.theorem("rare-coins")
@pytest.mark.parametrize("share", ["1/2", "1/9", 7])
def test_gaps_lead_from_one_marked_coin_to_the_next(monkeypatch, share):
    """Each set of marked coins comes from one list of gaps, however many are drawn at a time."""
    coins = 7
    for places in itertools.chain.from_iterable(
        itertools.combinations(range(coins), size) for size in range(coins + 1)
    ):
        ends = [-1, *places, coins + 2]
        gaps = iter([b - a - 1 for a, b in itertools.pairwise(ends)] + [2**63 - 1] * 9)

        def serve(out, *_, gaps=gaps):
            out[:] = [next(gaps) for _ in range(out.size)]

        monkeypatch.setattr(rare, "geometric_into", serve)
        assert rare._marked(coins, Fraction(share), None, BITS).tolist() == list(places)


@pytest.mark.theorem("rare-coins")
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_chances_that_are_known_by_enclosures_alone(law):
    check_heads(1, reaches(law, 1))
    check_heads(2, reaches(law, 1), unexplored=Fraction(1, 20))


@pytest.mark.parametrize("change", ["scale", "stays", "gap", "last"])
def test_slips_in_skipping_are_found(monkeypatch, change):
    true, gaps = rare._marked, rare.geometric_into
    if change == "scale":  # gaps are too long, so that too few are marked
        monkeypatch.setattr(rare, "_scale", lambda most: 2 / most)
    elif change == "stays":  # all marked coins count
        monkeypatch.setattr(rare, "_stays", lambda chance, scale: lambda bits: (1 << bits,) * 2)
    elif change == "gap":  # one coin is jumped over each time

        def longer(out, *rest):
            gaps(out, *rest)
            out += 1

        monkeypatch.setattr(rare, "geometric_into", longer)
    else:  # the last coin is forgotten
        monkeypatch.setattr(rare, "_marked", lambda coins, *rest: true(coins - 1, *rest))
    with pytest.raises(WrongLaw):
        check_heads(2, exactly("2/5"))


def test_the_number_and_the_gaps_of_very_many_coins():
    """Poisson many heads in all, on both halves; gaps are geometric."""
    coins, law = 10**12, DiscreteLaplace(scale=3)
    least = law.quantile(1 - Fraction(1000, coins)) + 1
    chance = reaches(law, least)
    expected = float(coins * chance(64).high)
    places = np.concatenate(
        [
            rare_heads(coins=coins, chance=chance, entropy=stream(f"rare {number}"))
            + number * coins
            for number in range(20)
        ]
    )
    assert (np.diff(places) > 0).all()
    assert places.min() >= 0
    assert places.max() < 20 * coins
    halves = np.bincount((2 * places) // coins % 2)
    for count in halves:
        assert (
            2
            * min(
                stats.poisson.cdf(count, 10 * expected), stats.poisson.sf(count - 1, 10 * expected)
            )
            > ALPHA
        )
    gaps = np.diff(places) * (expected / coins)
    assert stats.kstest(gaps, "expon").pvalue > ALPHA


def test_no_coins_show_no_heads_and_hopeless_ones_hardly_any():
    hopeless = reaches(DiscreteLaplace(scale=2), 10**9)
    assert rare_heads(coins=2**62, chance=hopeless, entropy=stream("hopeless")).size == 0
    assert rare_heads(coins=0, chance=exactly("1/3"), entropy=stream("none")).size == 0


def beyond_law(law, least):
    """Return the chance of an outcome given that it is at least so much."""
    reached = law.survival_bounds(least - 1)

    def chance(outcome):
        if outcome < least:
            return Interval(Fraction(0), Fraction(0))
        each = law.pmf_bounds(outcome)
        return Interval(each.low / reached.high, each.high / reached.low)

    return chance


def check_laplace(law, least, sizes=TINY_FREE):
    def program(entropy):
        out = np.empty(1, np.int64)
        laplace_beyond_into(out, law.scale, least, entropy, sizes)
        return int(out[0])

    check_law(program, beyond_law(law, least))


def check_gaussian(law, least, sizes=TINY_FREE):
    center = beyond._center(law.variance, least)
    scale = Parameters.same(law.variance / (least + center))

    def program(entropy):
        value, accepted = beyond._attempt(scale, 1, law.variance, center, entropy, sizes)
        return least + int(value[0]) if accepted[0] else None

    check_law(program, beyond_law(law, least))


@pytest.mark.theorem("noise-beyond")
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("least", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("law", LAPLACE, ids=str)
def test_laplace_beyond(law, least, sizes):
    check_laplace(law, least, sizes)


@pytest.mark.theorem("noise-beyond")
@pytest.mark.parametrize(
    ("law", "least", "sizes"),
    [
        pytest.param(law, least, SIZES[odd], marks=[pytest.mark.slow] if odd == number % 2 else [])
        for number, (law, least) in enumerate(itertools.product(GAUSSIAN, [0, 1, 2, 5, 40]))
        for odd in (0, 1)
    ],
    ids=str,
)
def test_gaussian_beyond(law, least, sizes):
    """Every law and every end meets both sizes, in turns."""
    check_gaussian(law, least, sizes)


@pytest.mark.parametrize("change", ["center", "scale", "coin"])
def test_slips_in_gaussian_tails_are_found(monkeypatch, change):
    true = beyond.magnitudes
    if change == "center":
        monkeypatch.setattr(beyond, "_center", lambda variance, least: Fraction(least + 1))
        check_gaussian(GAUSSIAN[2], 2)  # any center will do
        other = beyond._attempt

        monkeypatch.setattr(
            beyond,
            "_attempt",
            lambda scale, count, v, center, *rest: other(scale, count, v, center / 2, *rest),
        )
    elif change == "scale":
        monkeypatch.setattr(
            beyond,
            "magnitudes",
            lambda scale, *rest: true(Parameters.same(2 * scale.exact(0)), *rest),
        )
    else:
        monkeypatch.setattr(
            beyond, "exp_coins", lambda exponent, *_: np.ones(exponent.shape, np.bool_)
        )
    with pytest.raises(WrongLaw):
        check_gaussian(GAUSSIAN[2], 2)


def test_slips_in_laplace_tails_are_found(monkeypatch):
    true = beyond.geometric_into
    monkeypatch.setattr(
        beyond,
        "geometric_into",
        lambda out, scale, *rest: true(out, Parameters.same(scale.exact(0) / 2), *rest),
    )
    with pytest.raises(WrongLaw):
        check_laplace(LAPLACE[1], 3)


WIDE = [
    (DiscreteLaplace(scale=1000), 9000),
    (DiscreteLaplace(scale=2**50), 2**51),
    (DiscreteGaussian(variance=10**6), 4000),
    (DiscreteGaussian(variance=10**6), 0),
    (DiscreteGaussian(variance=2**90), 5 * 2**45),
    (DiscreteGaussian(variance=50), 35),
]


@pytest.mark.parametrize(("law", "least"), WIDE, ids=str)
def test_real_draws_beyond(law, least):
    """Cells of about equal chance, fixed beforehand; the false-alarm rate is ALPHA."""
    assert p_value(law, least, law.beyond(least, 20_000, stream("beyond"))) > ALPHA


@pytest.mark.parametrize(("law", "least"), WIDE, ids=str)
def test_draws_that_start_elsewhere_are_found(law, least):
    far = max(1, math.isqrt(math.floor(law.moments().variance.high)) // 10)
    sample = law.beyond(least, 20_000, stream("beyond"))
    assert p_value(law, least, sample + far) < ALPHA
    assert p_value(law, least, np.maximum(sample - far, least)) < ALPHA


def p_value(law, least, sample, cells=40):
    reached = law.survival_bounds(least - 1).high
    steps = (1 - reached * Fraction(cells - number, cells) for number in range(1, cells))
    edges = sorted({law.quantile(step) for step in steps})
    beyond_edge = [1.0, *(float(law.survival_bounds(edge).high / reached) for edge in edges), 0.0]
    chances = -np.diff(beyond_edge)
    counts = np.bincount(np.searchsorted(edges, sample, side="left"), minlength=len(edges) + 1)
    return stats.chisquare(counts, chances / chances.sum() * counts.sum()).pvalue


def test_values_beyond_int64_stop_at_its_end():
    wide = DiscreteLaplace(scale=2**50)
    sample = wide.beyond(2**63 - 1, 50, stream("end"))
    assert set(sample.tolist()) == {2**63 - 1}
    sample = DiscreteGaussian(variance=2**100).beyond(2**63 - 2**40, 50, stream("end"))
    assert sample.min() >= 2**63 - 2**40


@pytest.mark.parametrize("law", [LAPLACE[1], GAUSSIAN[1]], ids=str)
def test_the_lower_half_of_a_law_is_refused(law):
    with pytest.raises(OutOfRange):
        law.beyond(-1, 3)


def test_all_places_are_reached():
    found = itertools.chain.from_iterable(
        rare_heads(coins=5, chance=exactly("2/5"), entropy=stream(f"all {number}")).tolist()
        for number in range(200)
    )
    assert set(found) == set(range(5))
