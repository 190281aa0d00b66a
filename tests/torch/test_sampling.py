"""Batches by exact coins: their law, by trying every coin; the cap; the rows of units."""

import itertools
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from discreet.attacks import exact_law
from discreet.errors import OutOfRange, WrongKind
from discreet.noise.bernoulli import CoinWords
from discreet.torch import PoissonBatches
from discreet.torch.sampling import UnitRows, overflow_chance

WORDS = CoinWords(first_bits=2, word_bits=4, step_bits=2)


def law(units, rate, cap):
    batches = PoissonBatches(rate=rate, cap=cap, words=WORDS)
    return exact_law(lambda entropy: tuple(batches.draw(units, entropy).tolist())).mass


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("units", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(3, 4)])
def test_every_unit_enters_by_itself_with_just_that_chance(units, rate):
    found = law(units, rate, cap=8)
    for size in range(units + 1):
        for batch in itertools.combinations(range(units), size):
            assert found[batch] == rate**size * (1 - rate) ** (units - size)
    assert sum(found.values()) == 1


@pytest.mark.theorem("capped-batch")
@pytest.mark.parametrize("units", [2, 3, 4])
@pytest.mark.parametrize("cap", [1, 2])
def test_a_capped_batch_is_the_first_units_of_a_batch(units, cap):
    whole, cut = law(units, Fraction(1, 4), cap=8), law(units, Fraction(1, 4), cap=cap)
    expected = {}
    for batch, chance in whole.items():
        expected[batch[:cap]] = expected.get(batch[:cap], 0) + chance
    assert cut == expected


SIGMA = 0.8
PLACES = np.linspace(-12, 12, 4001)


def density(chances):
    """Return the density of a sum with Gaussian noise, for the chances of its values."""
    found = np.zeros_like(PLACES)
    for value, chance in chances.items():
        found += float(chance) * np.exp(-(((PLACES - value) / SIGMA) ** 2) / 2)
    return found / (SIGMA * np.sqrt(2 * np.pi))


def divergences(one, other):
    """Return the hockey-stick divergences at some epsilons, in both directions."""
    step = PLACES[1] - PLACES[0]
    return np.array(
        [
            np.maximum(p - np.exp(epsilon) * q, 0).sum() * step
            for epsilon in (0, 0.1, 0.3, 0.7, 1.5)
            for p, q in ((one, other), (other, one))
        ]
    )


def released(values, rate, cap):
    """Return the density of a capped step on units that contribute these values."""
    sums = Counter()
    for batch, chance in law(len(values), rate, cap).items():
        sums[sum(values[unit] for unit in batch)] += chance
    return density(sums)


def crowded(others, rate, cap):
    """Return the chance that so many others fill the cap."""
    return float(
        sum(comb(others, k) * rate**k * (1 - rate) ** (others - k) for k in range(cap, others + 1))
    )


@pytest.mark.theorem("capped-batch")
@pytest.mark.parametrize(("rate", "cap"), [("1/4", 1), ("1/4", 2), ("3/4", 1), ("3/4", 2)])
def test_a_capped_step_loses_no_more_than_sampling_and_what_tells_all(rate, cap):
    """Steps by exact coins, for all neighbors of three units that contribute 1 or -1.

    A unit is added at each place; or it replaces another one, in its place or in another one.
    Where most batches are crowded, sampling alone would be too little, for either relation.
    """
    q = Fraction(rate)
    added = divergences(density({0: 1 - q, 1: q}), density({0: 1}))
    replaced = divergences(density({0: 1 - q, 1: q}), density({0: 1 - q, -1: q}))
    chance, beyond = crowded(3, q, cap), set()
    for others in itertools.product((-1, 1), repeat=3):
        with_one, with_other = (
            [released((*others[:k], value, *others[k:]), q, cap) for k in range(4)]
            for value in (1, -1)
        )
        without = released(others, q, cap)
        pairs = [("added", each, without, added) for each in with_one]
        pairs += [("replaced", a, b, replaced) for a in with_one for b in with_other]
        for kind, now, then, sampled in pairs:
            moved = divergences(now, then)
            assert (moved <= (1 - chance) * sampled + chance + 1e-6).all()
            if (moved > sampled + 1e-3).any():
                beyond.add(kind)
    if (rate, cap) == ("3/4", 1):
        assert beyond == {"added", "replaced"}


@pytest.mark.theorem("capped-batch")
@pytest.mark.parametrize(("population", "rate"), [(20, Fraction(1, 4)), (60, Fraction(1, 10))])
def test_the_chance_of_an_overflow_is_bounded(population, rate):
    for cap in range(1, population):
        true = sum(
            comb(population, k) * rate**k * (1 - rate) ** (population - k)
            for k in range(cap, population + 1)
        )
        assert true <= overflow_chance(population=population, rate=rate, cap=cap)
    assert overflow_chance(population=population, rate=rate, cap=population) == 0


def test_a_cap_that_is_not_priced_is_a_loss():
    """A mutant: with the cap at the mean, one unit more drops another, and nothing is paid."""
    assert overflow_chance(population=100, rate=Fraction(1, 10), cap=10) == 1


def test_rows_of_units_are_their_first_ones_in_order():
    rows = UnitRows(np.array([7, 3, 7, 3, 9, 7]), rows=2)
    assert rows.units == 3
    assert rows.of(np.array([0, 1, 2])).tolist() == [[0, 2], [1, 3], [4, -1]]
    assert UnitRows(4).of(np.array([3, 0])).tolist() == [[3], [0]]
    assert UnitRows(np.array([], dtype=int)).of(np.array([], dtype=int)).shape == (0, 1)


def test_rows_of_a_unit_depend_on_its_own_rows_alone():
    names = np.array([5, 1, 5, 2, 1, 1])
    whole = UnitRows(names, rows=2)
    order = [5, 1, 2]
    for gone in order:
        kept = np.flatnonzero(names != gone)
        part = UnitRows(names[kept], rows=2)
        left = [name for name in order if name != gone]
        for place, name in enumerate(left):
            mine = part.of(np.array([place]))[0]
            again = [int(kept[i]) for i in mine if i >= 0]
            assert again == [i for i in whole.of(np.array([order.index(name)]))[0] if i >= 0]


def test_large_numbers_of_people_stay_apart():
    assert UnitRows([2**63 + 1, 2**63 + 3, -1]).units == 3
    assert UnitRows([2**53, 2**53 + 1, 2**53]).units == 2
    assert UnitRows(["ana", "ben", "ana"]).units == 2


def test_bad_units_are_refused():
    for bad in (
        np.array([1.0, np.nan]),
        np.array([1.0, 2.0]),
        [2**53, 2**53 + 1, 0.5],
        ["ana", None, "ben"],
        ["ana", float("nan"), "ben"],
        np.array(["ana", np.nan], object),
        [1, "1"],
        np.array(["2020-01-01", "NaT"], "datetime64[D]"),
    ):
        with pytest.raises(WrongKind):
            UnitRows(bad)
    with pytest.raises(WrongKind):
        UnitRows(np.zeros((2, 2)))
    with pytest.raises(OutOfRange):
        PoissonBatches(rate="3/2", cap=3)


@pytest.mark.theorem("capped-batch")
def test_every_step_may_exceed_the_cap():
    given = {"population": 1000, "rate": Fraction(1, 10), "cap": 150}
    assert overflow_chance(**given, steps=40) == 40 * overflow_chance(**given)
