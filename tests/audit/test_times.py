"""Does the time of a draw tell how large the noise is?

Jin, McMurtry, Rubinstein and Ohrimenko 2022, Are We There Yet? Timing and
Floating-Point Attacks on Differential Privacy Systems.

The same noise is drawn again and again from the same words, and the shortest time counts: what
other programs do to the clock wears off, and what the value does to it stays.  Served draws, which
cannot be repeated, are timed once each, many of them.  See :mod:`tests.audit.rank_tests` for
false alarms.
"""

import time
from functools import partial

import numpy as np

from discreet.noise import (
    SYSTEM,
    DiscreteGaussian,
    DiscreteLaplace,
    KeyedEntropy,
)
from tests.audit.rank_tests import rank_test

LAWS = {
    "Laplace 1": DiscreteLaplace(scale=1),
    "Laplace 100": DiscreteLaplace(scale=100),
    "Laplace 10**6": DiscreteLaplace(scale=10**6),
    "Gaussian 1": DiscreteGaussian(variance=1),
    "Gaussian 100": DiscreteGaussian(variance=100**2),
}
_KEY = bytes(32)
_TIMES = 3


def test_the_time_of_a_draw_tells_nothing_of_its_size(found, quick):
    """The time of a draw tells nothing about the size of the noise."""
    n, served = (800, 10_000) if quick else (20_000, 200_000)
    chosen = dict(list(LAWS.items())[::3]) if quick else LAWS
    tests = {f"{name}, drawn": timed(_one(law), n) for name, law in chosen.items()}
    for name, law in LAWS.items():
        tests[f"{name}, served"] = timed_once(partial(law.draw, SYSTEM), served)
    correlation = max(abs(test.correlation) for test in tests.values())
    found.attack(
        f"largest rank correlation {correlation:.3f}",
        [name for name, test in tests.items() if not test.independent],
        not_covered="caches and power; smaller correlations; the time of whole answers, about "
        "which only the server promises something",
    )


def timed(draw, n, *, label="sampler timing"):
    """Say what the shortest time of a few equal draws tells about the size of the value.

    >>> timed(lambda entropy: [0] * entropy.bits(12) and entropy.bits(3), 50).area_limit > 0.1
    True
    """
    sizes, times = np.zeros(n), np.zeros(n, np.int64)
    for number in range(n):
        times[number], sizes[number] = min(_timed(draw, f"{label} {number}") for _ in range(_TIMES))
    return rank_test(np.abs(sizes), times)


def timed_once(draw, n):
    """Say what the time of draws that come but once tells about the size of the value."""
    sizes, times = np.zeros(n), np.zeros(n, np.int64)
    clock = time.perf_counter_ns
    for number in range(n):
        begun = clock()
        value = draw()
        times[number] = clock() - begun
        sizes[number] = value
    return rank_test(np.abs(sizes), times)


def _timed(draw, label):
    entropy = KeyedEntropy(key=_KEY, label=label)
    begun = time.perf_counter_ns()
    value = draw(entropy)
    return time.perf_counter_ns() - begun, float(value)


def _one(law):
    def draw(entropy):
        drawn = law.sample(1, entropy)
        return drawn[0]

    return draw


def coins_until_tails(entropy):
    count = 0
    while entropy.bits(1):
        count += 1
    return count


def test_a_sampler_that_tosses_coins_is_caught():
    drawn = timed(coins_until_tails, 300)
    assert not drawn.independent
    assert drawn.correlation > 0.5
    assert not timed_once(partial(coins_until_tails, SYSTEM), 3000).independent
