"""A2: does the time of a draw tell how large the noise is?

Trust: public.  Jin, McMurtry, Rubinstein and Ohrimenko 2022, Are We There Yet? Timing and
Floating-Point Attacks on Differential Privacy Systems.

The same noise is drawn again and again from the same words, and the shortest time counts: what
other programs do to the clock wears off, and what the value does to it stays.  Served draws, which
cannot be repeated, are timed once each, many of them.  False alarms: key ``permuted-ranks``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.noise import (
    SYSTEM,
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Entropy,
    KeyedEntropy,
)
from discreet_audit.findings import Finding
from discreet_audit.rank_tests import RankTest, rank_test

LAWS: Final[dict[str, Distribution]] = {
    "Laplace 1": DiscreteLaplace(scale=1),
    "Laplace 100": DiscreteLaplace(scale=100),
    "Laplace 10**6": DiscreteLaplace(scale=10**6),
    "Gaussian 1": DiscreteGaussian(variance=1),
    "Gaussian 100": DiscreteGaussian(variance=100**2),
}
_KEY: Final = bytes(32)
_TIMES: Final = 3


class Draw(Protocol):
    """Draws one number from a source of words."""

    def __call__(self, entropy: Entropy, /) -> Any:
        """Return the number."""
        ...


def attack(*, quick: bool) -> Finding:
    """Time single draws of every law."""
    n, served = (800, 10_000) if quick else (20_000, 200_000)
    chosen = dict(list(LAWS.items())[::3]) if quick else LAWS
    tests: dict[str, RankTest] = {}
    for name, law in chosen.items():
        tests[f"{name}, drawn"] = timed(_one(law), n)
    for name, law in LAWS.items():
        tests[f"{name}, served"] = timed_once(partial(law.draw, SYSTEM), served)
    worst = max(tests, key=lambda name: abs(tests[name].area - 0.5) / tests[name].area_limit)
    return Finding(
        claimed="rank correlation of time and size below 0.02, area within 0.01 of one half, "
        "each with five deviations for chance",
        measured=f"largest correlation {max(abs(t.correlation) for t in tests.values()):.3f}; "
        f"largest area for its size: {worst}, {tests[worst].area:.3f} "
        f"(limit 0.5 ± {tests[worst].area_limit:.3f})",
        passed=all(test.independent for test in tests.values()),
        numbers={
            **{f"correlation, {name}": test.correlation for name, test in tests.items()},
            **{f"area, {name}": test.area for name, test in tests.items()},
            "draws": n,
            "served": served,
            "false_alarm_rate": 2 * len(tests) * 6e-7,
        },
        not_covered="caches, power and other side channels; correlations that are smaller than "
        "the limits",
    )


def timed(draw: Draw, n: int, *, label: str = "sampler timing") -> RankTest:
    """Say what the shortest time of a few equal draws tells about the size of the value.

    >>> timed(lambda entropy: [0] * entropy.bits(12) and entropy.bits(3), 50).area_limit > 0.1
    True
    """
    sizes, times = np.zeros(n), np.zeros(n, np.int64)
    for number in range(n):
        times[number], sizes[number] = min(_timed(draw, f"{label} {number}") for _ in range(_TIMES))
    return rank_test(np.abs(sizes), times)


def timed_once(draw: Callable[[], Any], n: int) -> RankTest:
    """Say what the time of draws that come but once tells about the size of the value."""
    sizes, times = np.zeros(n), np.zeros(n, np.int64)
    clock = time.perf_counter_ns
    for number in range(n):
        begun = clock()
        value = draw()
        times[number] = clock() - begun
        sizes[number] = value
    return rank_test(np.abs(sizes), times)


def _timed(draw: Draw, label: str) -> tuple[int, float]:
    entropy = KeyedEntropy(key=_KEY, label=label)
    begun = time.perf_counter_ns()
    value = draw(entropy)
    return time.perf_counter_ns() - begun, float(value)


def _one(law: Distribution) -> Draw:
    def draw(entropy: Entropy) -> Any:
        drawn: NDArray[np.int64] = law.sample(1, entropy)
        return drawn[0]

    return draw
