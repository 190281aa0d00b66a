"""Choosing among scored candidates, with exponential weights.

Trust: kernel.  Proofs are in docs/proofs/noise.md.

Definition.  With scores u_i, largest score u*, and a rate c > 0, ``exponential_weights`` returns i
with probability proportional to exp(c u_i).

Theorem (key ``exponential-inversion``).  Prefix sums of floating-point weights, with a bound on
their relative error, determine which candidate a uniform U selects; if U is closer to a boundary
than the bound, integers decide.  Weights are relative to the best score, so a weight that
underflows is below 2**-1000 of the total and inside the bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import int64_range, listed
from discreet.certified import exp_neg
from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import ExactNumber, instance, positive
from discreet.noise.bernoulli import SIZES, CoinSizes
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy

_STEEPEST: Final = Fraction(1 << 200)  # decides a gap of one unit; products stay finite

Candidates = TypeVar("Candidates", list[Any], NDArray[np.int64])
Scores = Sequence[int] | Sequence[Fraction] | NDArray[np.integer[Any]]


@overload
def exponential_weights(
    *, scores: Scores, rate: ExactNumber, entropy: Entropy = ..., sizes: CoinSizes = ...
) -> int: ...


@overload
def exponential_weights(
    *, scores: Scores, rate: ExactNumber, count: int, entropy: Entropy = ..., sizes: CoinSizes = ...
) -> NDArray[np.int64]: ...


def exponential_weights(
    *,
    scores: Scores,
    rate: ExactNumber,
    count: int | None = None,
    entropy: Entropy = SYSTEM,
    sizes: CoinSizes = SIZES,
) -> int | NDArray[np.int64]:
    """Return an index with probability proportional to exp(rate * score), or ``count`` of them.

    The same words give the same indexes as that many single calls.

    >>> exponential_weights(scores=[0, 10**6, 3], rate=1)
    1
    >>> exponential_weights(scores=[0, 10**6, 3], rate=1, count=2).tolist()
    [1, 1]
    """
    gaps, unit = score_gaps(scores, rate)
    checked_entropy(entropy)
    instance(sizes, CoinSizes, name="sizes")
    draws = 1 if count is None else checked_count(count)
    sums = np.cumsum(np.exp(-exponents(gaps, unit)))
    winners = np.empty(draws, np.int64)
    for draw in range(draws):
        word = entropy.bits(sizes.word_bits)
        found = _by_floats(sums, word, sizes.word_bits)
        winners[draw] = _by_integers(gaps, unit, word, entropy, sizes) if found is None else found
    return int(winners[0]) if count is None else winners


def exponents(gaps: NDArray[np.int64], unit: Fraction) -> NDArray[np.float64]:
    """Return how far below the best each score is, times the rate, as floats."""
    return np.multiply(gaps, float(min(unit, _STEEPEST)), dtype=np.float64)


def _by_floats(sums: NDArray[np.float64], word: int, bits: int) -> int | None:
    """Find the candidate whose share of [0, 1) contains U, if floating point can tell.

    ``sums`` are prefix sums of n weights.  Each addition errs by at most 2**-53 of the total, so a
    sum and the total by n 2**-53 each; 1024 units are left for exp, its argument and the two ends.
    """
    total, size = float(sums[-1]), len(sums)
    first, last = math.ldexp(word, -bits) * total, math.ldexp(word + 1, -bits) * total
    index = min(int(np.searchsorted(sums, first, side="right")), size - 1)
    radius = total * (2.0 * size + 1024.0) * 2.0**-52
    above = index == 0 or first - float(sums[index - 1]) > radius
    below = index == size - 1 or float(sums[index]) - last > radius
    return index if above and below else None


def _by_integers(
    gaps: NDArray[np.int64], unit: Fraction, word: int, entropy: Entropy, sizes: CoinSizes
) -> int:
    """Find the candidate that U selects, revealing more bits of U as long as needed."""
    bits = sizes.word_bits
    distinct, place = np.unique(gaps, return_inverse=True)
    while True:
        known = [exp_neg(int(gap) * unit, bits + 64) for gap in distinct]
        low = list(itertools.accumulate(known[group][0] for group in place))
        high = list(itertools.accumulate(known[group][1] for group in place))
        index = _settled(low, high, word, bits)
        if index is not None:
            return index
        word = word << sizes.step_bits | entropy.bits(sizes.step_bits)
        bits += sizes.step_bits


def _settled(low: list[int], high: list[int], word: int, bits: int) -> int | None:
    """Return the only candidate that any U with these first bits can select, if there is one."""
    last = len(low) - 1
    for index in range(last + 1):
        if index == last or (word + 1) * high[-1] <= low[index] << bits:  # U is below its end
            above_start = index == 0 or word * low[-1] >= high[index - 1] << bits
            return index if above_start else None
    return None


def score_gaps(scores: Scores, rate: ExactNumber) -> tuple[NDArray[np.int64], Fraction]:
    """Return how far each score is below the best, in units, and c times the unit."""
    unit = positive(rate, name="rate")
    array, denominator = _integers(scores)
    best = int(array.max())
    int64_range(best - int(array.min()), name="the span of the scores")
    return best - array, unit / denominator


def _integers(scores: Scores) -> tuple[NDArray[np.int64], int]:
    """Read scores as integers over a common denominator."""
    if isinstance(scores, np.ndarray) and scores.dtype.kind in "iu" and scores.ndim == 1:
        int64_range(int(scores.max(initial=0)), name="a score")
        return _some(scores.astype(np.int64)), 1
    return _listed_integers(_some(listed(scores, name="scores")))


def _some(scores: Candidates) -> Candidates:
    if len(scores) == 0:
        raise OutOfRange("there are no candidates; give at least one score.")
    return scores


def _listed_integers(scores: list[Any]) -> tuple[NDArray[np.int64], int]:
    kinds = {type(score) for score in scores}
    if any(issubclass(kind, float | np.floating) for kind in kinds):
        raise NotExact("a score is a float; give integers, or Fractions.")
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return np.array([int64_range(int(score), name="a score") for score in scores], np.int64), 1
    if kinds == {Fraction}:
        common = math.lcm(*(score.denominator for score in scores))
        whole = [int64_range(int(score * common), name="a score") for score in scores]
        return np.array(whole, np.int64), common
    raise WrongKind("scores must all be int, or all Fraction.")
