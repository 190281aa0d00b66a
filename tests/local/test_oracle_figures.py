"""Golden numbers of frequency oracles: closed forms, and the figures of the literature."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.local import Direct, Hadamard, Hashing, Subset, Unary

VARIANCES = {  # n times the variance at share 0, by epsilon
    "0.5": {
        Direct: {10: 22.9, 128: 303, 1024: 2432},
        "symmetric": 15.917,
        "optimized": 15.671,
        Hashing: (3, 15.817),
        Subset: {128: (48, 15.41)},
        Hadamard: 16.671,
    },
    "1": {
        Direct: {10: 3.63, 128: 43.6, 1024: 347},
        "symmetric": 3.9177,
        "optimized": 3.6827,
        Hashing: (4, 3.6917),
        Subset: {16: (4, 3.111), 128: (34, 3.610), 1024: (275, 3.674)},
        Hadamard: 4.6827,
    },
    "2": {
        Direct: {10: 0.377, 128: 3.27, 1024: 25.2},
        "symmetric": 0.92067,
        "optimized": 0.72406,
        Hashing: (8, 0.72459),
        Subset: {16: (2, 0.5198), 128: (15, 0.697), 1024: (122, 0.7207)},
        Hadamard: 1.7241,
    },
    "4": {
        Direct: {10: 0.022, 128: 0.063, 1024: 0.375},
        "symmetric": 0.181,
        "optimized": 0.0760,
        Hashing: (56, 0.0760),
        Subset: {16: (1, 0.0239), 128: (2, 0.0584), 1024: (18, 0.0739)},
        Hadamard: 1.076,
    },
}


def close(figure, printed):
    """Agree up to half a unit of the last digit that is printed, and a little."""
    digits = len(f"{printed}".partition(".")[2])
    return abs(figure - printed) <= 0.51 * 10.0**-digits


@pytest.mark.theorem("frequency-oracle")
@pytest.mark.parametrize("epsilon", VARIANCES)
def test_variances_at_share_zero(epsilon):
    figures = VARIANCES[epsilon]
    for values, printed in figures[Direct].items():
        found = Direct(epsilon=epsilon, values=values).variance()
        assert close(found.nearest(), printed)
    for coding in ("symmetric", "optimized"):
        found = Unary(epsilon=epsilon, values=128, coding=coding).variance()
        assert close(found.nearest(), figures[coding])
    hashing = Hashing(epsilon=epsilon, values=128)
    assert hashing.cells == figures[Hashing][0]
    assert close(hashing.variance().nearest(), figures[Hashing][1])
    for values, (size, printed) in figures[Subset].items():
        subset = Subset(epsilon=epsilon, values=values)
        assert subset.size == size
        assert close(subset.variance().nearest(), printed)
    assert close(Hadamard(epsilon=epsilon, values=128).variance().nearest(), figures[Hadamard])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_closed_forms(epsilon):
    e = math.exp(epsilon)
    forms = {
        Direct(epsilon=epsilon, values=10): (8 + e) / (e - 1) ** 2,
        Unary(epsilon=epsilon, values=10, coding="symmetric"): e**0.5 / (e**0.5 - 1) ** 2,
        Unary(epsilon=epsilon, values=10): 4 * e / (e - 1) ** 2,
        Hadamard(epsilon=epsilon, values=10): ((e + 1) / (e - 1)) ** 2,
    }
    for oracle, variance in forms.items():
        assert oracle.variance().nearest() == pytest.approx(variance, rel=1e-12)


def test_the_variance_of_a_common_value_is_larger():
    oracle = Unary(epsilon=1, values=10)  # 3.68 at share 0, 4.68 at share 1
    assert close(oracle.variance(1).nearest(), 4.68)
    middle = (oracle.variance(0).low + oracle.variance(1).low) / 2
    assert oracle.variance("0.5").low == middle


def test_subsets_are_never_worse_than_one_value_or_unary():
    for epsilon in ("0.5", 1, 2, 3, 4):
        for values in (2, 3, 10, 50):
            subset = Subset(epsilon=epsilon, values=values).variance().low
            assert subset <= Direct(epsilon=epsilon, values=values).variance().low
            assert subset <= Unary(epsilon=epsilon, values=values).variance().low
            every = [Subset(epsilon=epsilon, values=values, size=w) for w in range(1, values)]
            assert subset == min(oracle.variance().low for oracle in every)


def test_how_far_one_hostile_report_moves_a_count():
    figures = {
        Hadamard(epsilon=1, values=128): 2.164,
        Unary(epsilon=1, values=128, coding="symmetric"): 2.54,
        Unary(epsilon=1, values=128): 3.164,
        Subset(epsilon=1, values=128): 3.174,
        Hashing(epsilon=1, values=128): 3.33,
        Direct(epsilon=1, values=10): 6.24,
        Direct(epsilon=1, values=128): 74.9,
        Hadamard(epsilon="0.5", values=128): 4.08,
        Unary(epsilon="0.5", values=128, coding="symmetric"): 4.52,
        Unary(epsilon="0.5", values=128): 5.08,
        Subset(epsilon="0.5", values=128): 5.08,
        Hashing(epsilon="0.5", values=128): 5.62,
        Direct(epsilon="0.5", values=10): 14.9,
        Direct(epsilon="0.5", values=128): 197,
    }
    for oracle, printed in figures.items():
        assert close(float(oracle.amplification()), printed), (
            oracle,
            float(oracle.amplification()),
        )


def test_what_a_short_report_costs():
    for epsilon, more in ((1, 1.27), (2, 2.38)):
        short, long = Hadamard(epsilon=epsilon, values=128), Unary(epsilon=epsilon, values=128)
        assert close(short.variance().nearest() / long.variance().nearest(), more)
    pooled = Hashing(epsilon=1, values=40, pool=1000)  # all squares of shares together are .169
    assert close(1e5 * 0.169 * float(pooled.floor()), 5.6)
    assert close(1e5 * pooled.variance().nearest() / 1e5, 3.7)


def test_bits_on_the_wire():
    assert Direct(epsilon=1, values=128).bits == 7
    assert Unary(epsilon=1, values=128).bits == 128
    assert Hadamard(epsilon=1, values=128).bits == 9
    assert Hadamard(epsilon=1, values=2**16).bits == 18
    assert Subset(epsilon=1, values=128).bits == 128  # a bit for each value
    assert Subset(epsilon=4, values=128).bits == 14  # two names
    assert Hashing(epsilon=1, values=128, pool=1000).bits == 12


@pytest.mark.theorem("pool-floor")
def test_a_pool_of_functions_has_a_floor():
    """Over many pools the bias has the variance that the floor says, near values included."""
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]  # of the values 1, 2, 3; we ask for 2
    oracle = Hashing(epsilon=1, values=8, pool=64)
    p, q = (float(chance) for chance in oracle.exact_chances())
    biases = []
    for start in range(0, 60_000, 64):
        with_offset = np.array([[2], [1], [3]])
        cells = _pool_cells(oracle, start, with_offset)
        share = sum(
            float(f) * (p * hit + (1 - p) * (1 - hit) / (oracle.cells - 1))
            for f, hit in zip(
                (shares[0], shares[2]), (cells[0] == cells[1:]).mean(axis=1), strict=True
            )
        )
        biases.append((share + float(shares[1]) * p - q) / (p - q) - float(shares[1]))
    others = oracle.floor([shares[0], shares[2]])
    ratio = np.mean(np.square(biases)) / float(others)
    assert 0.8 < ratio < 1.25  # 937 pools: five standard deviations of a mean of squares
    assert Hashing(epsilon=1, values=8).floor() == 0


def _pool_cells(oracle, start, codes):
    family = Hashing(epsilon=oracle.epsilon, values=8, pool=2**16)._family()
    seeds = np.arange(start, start + oracle.pool, dtype=np.uint64)
    return family.cells(seeds[None, :], codes)
