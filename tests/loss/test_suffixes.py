"""Sums that decay, and the lengths of transforms, against exact ones."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import fft

from discreet.loss.lattice import _fast_length, decayed_sums, suffix_sums
from discreet.loss.rounding import UNIT

RNG = np.random.default_rng(20250102)


@pytest.fixture(autouse=True)
def _precise():
    ctx.prec = 240


def exactly(entries, rate):
    """Sum from the last on, in 240 bits."""
    step = (-arb(rate)).exp()
    sums = accumulate(
        (arb(float(entry)) for entry in entries[::-1]), lambda total, entry: total * step + entry
    )
    return list(sums)[::-1]


def tolerance(rate, size):
    return 20 * UNIT * min(size, 30 / rate) + 200 * UNIT


@pytest.mark.theorem("tilted-lattice")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 15, 16, 17, 1000, 4097])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.7, 40.0, 900.0])
def test_decayed_sums_err_by_less_than_single_steps_may(size, rate):
    entries = RNG.dirichlet(np.full(size, 0.3))
    for found, truth in zip(decayed_sums(entries, rate), exactly(entries, rate), strict=True):
        wrong = abs(float((arb(float(found)) - truth).mid()))
        assert wrong <= tolerance(rate, size) * float(truth.mid()) + 1e-300


@pytest.mark.theorem("tilted-lattice")
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_decayed_sums_of_whole_numbers(entries):
    found = decayed_sums(np.array(entries, float), math.log(2))
    for k, value in enumerate(found):
        truth = sum(Fraction(entry, 2**j) for j, entry in enumerate(entries[k:]))
        assert math.isclose(value, float(truth), rel_tol=1e-13, abs_tol=0)


@pytest.mark.theorem("tilted-lattice")
def test_suffixes_are_the_sums_of_the_definition():
    c, h = 0.8, 0.05
    entries = RNG.dirichlet(np.full(300, 0.3))
    near, far = suffix_sums(entries, c, h)
    for k in range(0, 300, 13):
        u = h * np.arange(300 - k)
        assert math.isclose(far[k], float(entries[k:] @ np.exp(-(c + 1) * u)), rel_tol=1e-12)
        wanted = float((entries[k:] * np.exp(-c * u)) @ -np.expm1(-u))
        assert math.isclose(near[k], wanted, rel_tol=1e-12)


def test_lengths_are_the_next_that_transforms_like():
    small = [n for n in range(1, 3000) if _smooth(n)]
    for least in range(1, 2900):
        assert _fast_length(least) == next(n for n in small if n >= least)
    for least in RNG.integers(1, 2**20, 300).tolist():
        assert _fast_length(least) == fft.next_fast_len(least, real=True)


def _smooth(number):
    for prime in (2, 3, 5):
        while number % prime == 0:
            number //= prime
    return number == 1
