"""Likelihood ratios: how much likelier a score is if an example was in.

Trust: public.  A better score makes a bound higher, never wrong.  Carlini, Chien, Nasr, Song,
Terzis and Tramer 2022, Membership Inference Attacks From First Principles (LiRA).

*Shadow* runs are made like the one that is attacked, on data that the attacker knows; each example
is in some and out of others.  Its scores are taken for normal, with one mean if it is in and one if
it is out.  The ratio is that of the two densities at the score in question.  If there are few runs,
all examples share their variances.  If no run has the example in, the score is its distance above
the scores of the runs without it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.read_numbers import numbers
from discreet.errors import WrongKind

Floats = NDArray[np.float64]

_ENOUGH: Final = 32
_SMALL: Final = 1e-12
_LARGEST: Final = 1e300


def confidence_logits(losses: object) -> Floats:
    """Turn cross-entropies -log p into log p / (1 - p), which is close to normal.

    >>> confidence_logits([0.6931471805599453, 0.0, 5.0]).round(3).tolist()
    [0.0, 35.351, -4.993]
    """
    read = np.maximum(numbers(losses, name="losses", shape=(None,)), 2.0**-51)
    logits: Floats = -read - np.log(-np.expm1(-read))
    return logits


def likelihood_ratios(scores: object, *, shadow_scores: object, shadow_bits: object) -> Floats:
    """Return the logarithm of the ratio for every example.

    Args:
        scores: the score of each example in the run that is attacked.
        shadow_scores: one row for each shadow run, one column for each example.
        shadow_bits: where an example was in: 1, otherwise 0.  Each was in and out at least once.

    >>> shadow = [[3.0, 1.0], [1.0, 3.0], [3.2, 0.8], [0.8, 3.2]]
    >>> ratios = likelihood_ratios(
    ...     [3.0, 1.0], shadow_scores=shadow, shadow_bits=[[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> (ratios > 0).tolist()
    [True, False]
    """
    seen = numbers(scores, name="scores", shape=(None,))
    rows = numbers(shadow_scores, name="shadow scores", shape=(None, seen.size))
    bits = numbers(shadow_bits, name="shadow bits", shape=rows.shape)
    sides = bits == 1, bits == 0
    counts = [side.sum(axis=0) for side in sides]
    if not (sides[0] | sides[1]).all() or min(count.min() for count in counts) == 0:
        raise WrongKind(
            what="an example is not in some shadow runs and out of others.",
            why="a ratio compares the scores of both kinds of runs.",
            do="write 1 and 0 for in and out, and have each at least once; or use outside_scores.",
        )
    means = [
        np.where(side, rows, 0).sum(axis=0) / count
        for side, count in zip(sides, counts, strict=True)
    ]
    spreads = [
        _variance(np.where(side, rows - mean, 0.0), count)
        for side, mean, count in zip(sides, means, counts, strict=True)
    ]
    inside, outside = (
        -((seen - mean) ** 2) / (2 * spread) - np.log(spread) / 2
        for mean, spread in zip(means, spreads, strict=True)
    )
    ratios: Floats = np.clip(inside - outside, -_LARGEST, _LARGEST)
    return ratios


def outside_scores(scores: object, *, shadow_scores: object) -> Floats:
    """Return how many deviations each score is above those of runs without the example.

    >>> outside_scores([3.0, 1.0], shadow_scores=[[0.5, 1.5], [1.5, 0.5]]).round(2).tolist()
    [2.83, 0.0]
    """
    seen = numbers(scores, name="scores", shape=(None,))
    rows = numbers(shadow_scores, name="shadow scores", shape=(None, seen.size))
    mean = rows.mean(axis=0)
    spread = _variance(rows - mean, np.full(seen.size, len(rows)))
    above: Floats = (seen - mean) / np.sqrt(spread)
    return above


def _variance(centered: Floats, counts: NDArray[np.int64]) -> Floats:
    """Return the variance of every example, or that of all together if runs are few."""
    squares = (centered**2).sum(axis=0)
    free = int(np.maximum(counts - 1, 0).sum())
    together = float(squares.sum()) / max(free, 1)
    own = squares / np.maximum(counts - 1, 1)
    return np.maximum(np.where(counts >= _ENOUGH, own, together), _SMALL)
