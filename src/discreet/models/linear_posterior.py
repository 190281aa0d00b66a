"""The noise-aware linear model: posteriors of coefficients from noisy second moments.

Trust: public.  It processes released numbers, and cannot lose any privacy.

Definition (after Bernstein and Sheldon 2019).  The release is W = S + noise, where S is the sum of
z z' over all rows z = (x, y, 1).  S has to be *possible*: at least two rows, no direction of
negative variance, and no entry beyond its bounds.  The prior of S has a flat number of rows n and,
given n, flat second moments of a row, S / n, among all that are possible.  Given S, entries (x, y)
of a row follow a normal distribution whose mean and covariance have the conjugate posterior of a
weak normal-inverse-Wishart prior about the middle of the declared bounds; y = slope x + offset +
error.
Theorem (key ``noise-aware-moments``).  Given W, S has a density proportional to that of the noise
at W - S times n**-(p-1), among possible S, where p counts the different entries of S.  Draws of S
by an elliptical slice keep this distribution, and slopes drawn given S have their distribution
given W.
Proof.  With n fixed, S has p - 1 entries that are n times those of a row, which gives the power;
Bayes' rule and Murray, Adams and MacKay (2010) do the rest.  The slope depends on W through S.

So a 90 % interval holds the slope with probability 0.9 *over that prior*.  If noise is wide,
it says little more than the prior, and slopes in the middle of it are held more often; slopes
at its edges, less.  A posterior that takes W for S (*naive*) ignores the noise, and covers too
little.  Bernstein and Sheldon draw S from the central limit theorem's distribution given parameters
in place of the first step.  If noise is wider than that distribution, which is where it matters,
their chain moves by less than a hundredth of the posterior in a step; this one draws S anew each
time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import decimal, whole
from discreet.models.public_randomness import PublicDraws, public_stream

Floats = NDArray[np.float64]

_WIDEST: Final = 32
_CHAINS: Final = 100  # that run side by side
_BURNT: Final = 50  # steps of a chain before the first that counts
_PRIOR_ROWS: Final = 1.0
_FEWEST: Final = 2.0
_SHRINKS: Final = 60
_PRIOR_SPREAD: Final = 1 / 3  # that of a number that is uniform between its bounds


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LinearPosterior:
    """Draws of slopes and the offset, in the units of the table.

    >>> posterior = LinearPosterior(slopes=np.zeros((4, 2)), offsets=np.ones(4))
    >>> posterior.interval("0.9").tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    >>> posterior
    LinearPosterior(mean=[0.0, 0.0], of 4 draws)
    """

    slopes: Floats
    offsets: Floats

    def __repr__(self) -> str:
        """Return the mean of each slope, and how many draws there are."""
        means = ", ".join(str(float(f"{mean:.4g}")) for mean in self.mean)
        return f"LinearPosterior(mean=[{means}], of {len(self.slopes)} draws)"

    @property
    def mean(self) -> Floats:
        """The posterior mean of each slope."""
        average: Floats = self.slopes.mean(axis=0)
        return average

    def interval(self, confidence: Any = "0.9") -> Floats:
        """Return the central credible interval of each slope, one row a slope."""
        outside = float(1 - decimal(confidence, name="confidence")) / 2
        if not 0 < outside < 1 / 2:
            raise OutOfRange("a confidence is not between 0 and 1: give 0.9, say.")
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
            draws: how many slopes are drawn at least, by a hundred chains.
            aware: whether it knows of the noise; otherwise moments are taken as they are.
        """
        count = whole(draws, name="draws", low=8, high=10**6)
        width = self.matrix.shape[0]
        if width > _WIDEST:
            raise OutOfRange(
                f"a row has {width} entries, and {_WIDEST} are the most for a posterior: use fewer "
                "columns; coefficients need no posterior."
            )
        text = self.matrix.tobytes() + str((self.deviation, count, aware)).encode()
        sampler = _Sampler(self, PublicDraws(public_stream(text, "linear posterior")), aware=aware)
        kept = sampler.run(count)
        slopes, offsets = kept[:, :-1], kept[:, -1]
        up = half[-1]
        scaled = slopes * up / half[:-1]
        return LinearPosterior(
            slopes=scaled, offsets=middle[-1] + up * offsets - scaled @ middle[:-1]
        )


class _Sampler:
    """Many chains at once, each a matrix; these are in the order (x, y, 1)."""

    def __init__(self, noisy: NoisyMoments, draws: PublicDraws, *, aware: bool) -> None:
        self._draws = draws
        self._aware = aware
        self._width = noisy.matrix.shape[0]
        self._upper = np.triu_indices(self._width)
        self._released = noisy.matrix[self._upper]
        diagonal = self._upper[0] == self._upper[1]
        self._wide = np.where(diagonal, noisy.deviation, noisy.deviation * 29 / 41)

    def run(self, count: int) -> Floats:
        """Return at least this number of draws of slopes and offset, from independent chains."""
        steps = -(-count // _CHAINS)
        moments = np.repeat(_possible(self._full(self._released))[None], _CHAINS, axis=0)
        kept = []
        for step in range(_BURNT + steps):
            if self._aware:
                moments = self._moments(moments)
            if step >= _BURNT:
                kept.append(_slopes(*self._parameters(moments)))
        return np.concatenate(kept)

    def _moments(self, before: Floats) -> Floats:
        """Draw possible moments given the release, by elliptical slices (Murray et al. 2010)."""
        chains, after = len(before), before.copy()
        away = before[:, *self._upper] - self._released
        least = self._log_prior(before) + np.log(self._draws.uniform((chains,)))
        fresh = self._draws.normal(away.shape) * self._wide
        angle = 2 * np.pi * self._draws.uniform((chains,))
        low, high = angle - 2 * np.pi, angle.copy()
        left = np.arange(chains)
        for _ in range(_SHRINKS):
            turned = angle[left, None]
            drawn = self._full(
                self._released + away[left] * np.cos(turned) + fresh[left] * np.sin(turned)
            )
            good = _is_possible(drawn)
            good[good] = self._log_prior(drawn[good]) > least[left[good]]
            after[left[good]] = drawn[good]
            left = left[~good]
            if not left.size:
                break
            below = angle[left] < 0
            low[left[below]], high[left[~below]] = angle[left[below]], angle[left[~below]]
            share = self._draws.uniform((left.size,))
            angle[left] = low[left] + (high[left] - low[left]) * share
        return after

    def _log_prior(self, moments: Floats) -> Floats:
        """Return the logarithm of the prior of possible moments: that of flat sizes and shares."""
        logs: Floats = -(len(self._released) - 1) * np.log(moments[..., -1, -1])
        return logs

    def _full(self, upper: Floats) -> Floats:
        matrix = np.zeros((*upper.shape[:-1], self._width, self._width))
        matrix[..., *self._upper] = upper
        full: Floats = matrix + np.triu(matrix, 1).swapaxes(-1, -2)
        return full

    def _parameters(self, moments: Floats) -> tuple[Floats, Floats]:
        """Draw mean and covariance of (x, y) given true moments, of each chain."""
        inner, chains = self._width - 1, len(moments)
        size = np.maximum(moments[:, -1, -1], _FEWEST)
        sums, squares = moments[:, -1, :-1], moments[:, :-1, :-1]
        rows = (size + _PRIOR_ROWS)[:, None, None]
        scale = squares - _outer(sums) / rows + np.eye(inner) * _PRIOR_SPREAD
        values, vectors = np.linalg.eigh((scale + scale.swapaxes(1, 2)) / 2)
        root = vectors / np.sqrt(np.maximum(values, 1e-9))[:, None, :]
        bartlett = np.tril(self._draws.normal((chains, inner, inner)), -1)
        shapes = (size[:, None] + inner + 1 - np.arange(inner)) / 2
        places = np.arange(inner)
        bartlett[:, places, places] = np.sqrt(2 * self._draws.gamma(shapes))
        inverse = np.linalg.inv(root @ bartlett)  # of a root of a Wishart draw
        turned = inverse.swapaxes(1, 2)
        shift = (turned @ self._draws.normal((chains, inner, 1)) / rows**0.5)[..., 0]
        return sums / rows[..., 0] + shift, turned @ inverse


def _outer(vectors: Floats) -> Floats:
    products: Floats = vectors[..., :, None] * vectors[..., None, :]
    return products


def _is_possible(moments: Floats) -> NDArray[np.bool_]:
    """Whether matrices may be second moments of (x, y, 1) with all entries from -1 to 1."""
    size = moments[..., -1, -1]
    found: NDArray[np.bool_] = (size >= _FEWEST) & (np.abs(moments).max(axis=(-1, -2)) <= size)
    held = moments[found] / size[found, None, None]
    mean = held[:, -1, :-1]
    found[found] = np.linalg.eigvalsh(held[:, :-1, :-1] - _outer(mean))[:, 0] > 0
    return found


def _possible(moments: Floats) -> Floats:
    """Return possible moments near a matrix: the start of a chain."""
    size = max(float(moments[-1, -1]), 2.0 * _FEWEST)
    mean = np.clip(moments[-1, :-1] / size, -0.5, 0.5)
    spread = moments[:-1, :-1] / size - np.outer(mean, mean)
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    spread = (vectors * np.clip(values, 1e-3, None)) @ vectors.T
    spread *= min(1.0, 0.5 / float(np.diag(spread).max()))
    out = np.empty_like(moments)
    out[:-1, :-1] = size * (spread + np.outer(mean, mean))
    out[-1, :-1] = out[:-1, -1] = size * mean
    out[-1, -1] = size
    return out


def _slopes(mean: Floats, covariance: Floats) -> Floats:
    """Return slopes and offset of the last entry given the others, of each chain."""
    slope = np.linalg.solve(covariance[:, :-1, :-1], covariance[:, :-1, -1:])[..., 0]
    offset = mean[:, -1] - (slope * mean[:, :-1]).sum(axis=1)
    return np.column_stack([slope, offset])
