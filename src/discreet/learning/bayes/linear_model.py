"""The noise-aware linear model: posteriors of coefficients from noisy second moments.

Trust: public.  It processes released numbers, and cannot lose any privacy.

Definition (Bernstein and Sheldon 2019).  Entries z = (x, y, 1) of a row follow a normal law with
unknown mean and covariance, given a weak normal-inverse-Wishart prior about the middle of the
declared bounds; y = slope x + offset + error follows.  The release is W = S + noise, where S is the
sum of z z' over all rows.  By the central limit theorem S is nearly normal, with the mean and the
covariance that Isserlis' theorem gives.  Gibbs sampling alternates
    parameters | S     the conjugate posterior of the normal law
    S | parameters, W  the product of two normal laws, moved to the nearest matrix of moments.
A posterior that takes W for S (*naive*) ignores the noise, and its intervals cover too little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet.learning.public_randomness import PublicDraws, public_stream

Floats = NDArray[np.float64]

_WIDEST: Final = 32
_BURNT: Final = 4  # a fourth of all draws is left out before the first that counts
_PRIOR_ROWS: Final = 1.0
_PRIOR_SPREAD: Final = 1 / 3  # that of a number that is uniform between its bounds


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearPosterior:
    """Draws of slopes and the offset, in the units of the table.

    >>> posterior = LinearPosterior(slopes=np.zeros((4, 2)), offsets=np.ones(4))
    >>> posterior.interval("0.9").tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """

    slopes: Floats
    offsets: Floats

    @property
    def mean(self) -> Floats:
        """The posterior mean of each slope."""
        average: Floats = self.slopes.mean(axis=0)
        return average

    def interval(self, confidence: Any = "0.9") -> Floats:
        """Return the central credible interval of each slope, one row a slope."""
        outside = (1 - float(confidence)) / 2
        if not 0 < outside < 1 / 2:
            raise OutOfRange(
                what="a confidence is not between 0 and 1.",
                why="it is the chance that the interval holds the coefficient.",
                do="give 0.9, say.",
            )
        ends: Floats = np.quantile(self.slopes, (outside, 1 - outside), axis=0).T
        return ends


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyMoments:
    """Released second moments of (x, y, 1) in units of the ends of bounds, with their noise.

    ``deviation`` is that of noise on the diagonal; off it, noise is 29/41 times as wide.
    """

    matrix: Floats
    deviation: float

    def posterior(
        self, *, half: Floats, middle: Floats, draws: int = 2000, aware: bool = True
    ) -> LinearPosterior:
        """Draw slopes and offsets; ``half`` and ``middle`` lead back to the units of the table.

        Args:
            half: half of the range of each entry but the constant.
            middle: the middle of each range.
            draws: how many steps the sampler takes; a fourth of them is left out.
            aware: whether it knows of the noise; otherwise moments are taken as they are.
        """
        count = whole(draws, name="draws", low=8, high=10**6)
        width = self.matrix.shape[0]
        if width > _WIDEST:
            raise OutOfRange(
                what=f"a row has {width} entries, and {_WIDEST} are the most for a posterior.",
                why="each draw solves for all pairs of moments at once.",
                do="use fewer columns; coefficients need no posterior.",
            )
        text = self.matrix.tobytes() + str((self.deviation, count, aware)).encode()
        sampler = _Gibbs(self, PublicDraws(public_stream(text, "linear posterior")), aware=aware)
        kept = sampler.run(count)
        slopes, offsets = kept[:, :-1], kept[:, -1]
        up = half[-1]
        scaled = slopes * up / half[:-1]
        return LinearPosterior(
            slopes=scaled, offsets=middle[-1] + up * offsets - scaled @ middle[:-1]
        )


class _Gibbs:
    """One chain; matrices are in the order (x, y, 1)."""

    def __init__(self, noisy: NoisyMoments, draws: PublicDraws, *, aware: bool) -> None:
        self._draws = draws
        self._aware = aware
        self._released = noisy.matrix
        self._width = noisy.matrix.shape[0]
        self._upper = np.triu_indices(self._width)
        diagonal = self._upper[0] == self._upper[1]
        wide = np.where(diagonal, noisy.deviation, noisy.deviation * 29 / 41)
        self._noise = np.maximum(wide**2, 1e-18)

    def run(self, count: int) -> Floats:
        moments = _possible(self._released)
        kept = []
        for _ in range(count):
            mean, covariance = self._parameters(moments)
            kept.append(_slopes(mean, covariance))
            if self._aware:
                moments = self._moments(mean, covariance)
        return np.array(kept[count // _BURNT :])

    def _parameters(self, moments: Floats) -> tuple[Floats, Floats]:
        """Draw mean and covariance of (x, y) given true moments."""
        inner = self._width - 1
        size = max(moments[-1, -1], 1.0)
        sums, squares = moments[-1, :-1], moments[:-1, :-1]
        rows = size + _PRIOR_ROWS
        center = sums / rows
        scale = squares - np.outer(sums, sums) / rows
        scale += np.eye(inner) * _PRIOR_SPREAD
        values, vectors = np.linalg.eigh((scale + scale.T) / 2)
        root = vectors / np.sqrt(np.maximum(values, 1e-9))
        freedom = size + inner + 1
        bartlett = np.tril(self._draws.normal((inner, inner)), -1)
        shapes = (freedom - np.arange(inner)) / 2
        np.fill_diagonal(bartlett, np.sqrt(2 * self._draws.gamma(shapes)))
        half = root @ bartlett  # half @ half.T is a Wishart draw of the inverse covariance
        inverse = np.linalg.inv(half)
        covariance = inverse.T @ inverse
        shift = inverse.T @ self._draws.normal((inner,)) / rows**0.5
        return center + shift, covariance

    def _moments(self, mean: Floats, covariance: Floats) -> Floats:
        """Draw true moments given parameters and the release."""
        size = self._size()
        inner = self._width - 1
        second = np.ones((self._width, self._width))
        second[:-1, :-1] = covariance + np.outer(mean, mean)
        second[-1, :-1] = second[:-1, -1] = mean
        spread = np.zeros((self._width, self._width))
        spread[:inner, :inner] = covariance
        full = np.append(mean, 1.0)
        i, j = self._upper
        vary = _isserlis(spread, full, i, j) * size
        expected = second[self._upper] * size
        total = vary + np.diag(self._noise)
        gain = np.linalg.solve(total, vary).T
        middle = expected + gain @ (self._released[self._upper] - expected)
        left = vary - gain @ vary
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        noise = self._draws.normal((len(values),)) * np.sqrt(np.maximum(values, 0.0))
        drawn = np.zeros((self._width, self._width))
        drawn[self._upper] = middle + vectors @ noise
        drawn += np.triu(drawn, 1).T
        drawn[-1, -1] = size
        return _possible(drawn)

    def _size(self) -> float:
        """Draw the number of rows, which is the moment of the constant."""
        noise = float(self._draws.normal((1,))[0]) * float(self._noise[-1]) ** 0.5
        return max(float(self._released[-1, -1]) + noise, 2.0)


def _isserlis(spread: Floats, mean: Floats, i: Any, j: Any) -> Floats:
    """Return the covariance of products z_i z_j of normal numbers.

    >>> one, at = np.eye(1), (np.array([0]),)
    >>> _isserlis(one, np.array([2.0]), *at, *at).tolist()
    [[18.0]]
    """
    first = spread[np.ix_(i, i)] * spread[np.ix_(j, j)]
    second = spread[np.ix_(i, j)] * spread[np.ix_(j, i)]
    outer = np.outer
    mixed = (
        outer(mean[i], mean[i]) * spread[np.ix_(j, j)]
        + outer(mean[i], mean[j]) * spread[np.ix_(j, i)]
        + outer(mean[j], mean[i]) * spread[np.ix_(i, j)]
        + outer(mean[j], mean[j]) * spread[np.ix_(i, i)]
    )
    found: Floats = first + second + mixed
    return found


def _possible(moments: Floats) -> Floats:
    """Return the nearest matrix of moments: without negative directions, and at least one row."""
    size = max(float(moments[-1, -1]), 2.0)
    mean = np.clip(moments[-1, :-1] / size, -1.0, 1.0)
    spread = moments[:-1, :-1] / size - np.outer(mean, mean)
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    spread = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    out = np.empty_like(moments)
    out[:-1, :-1] = size * (spread + np.outer(mean, mean))
    out[-1, :-1] = out[:-1, -1] = size * mean
    out[-1, -1] = size
    return out


def _slopes(mean: Floats, covariance: Floats) -> Floats:
    """Return slopes and offset of the last entry given the others."""
    slope = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
    return np.append(slope, mean[-1] - slope @ mean[:-1])
