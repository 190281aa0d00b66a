"""How far the marginals of a model are from those of the table, by released numbers alone.

Trust: public.  Proofs are in docs/proofs/synthetic.md.  A bug here misstates an error bar; it costs
no privacy.

The table is the one that was counted: after rows outside the categories and rows above the limits
of a person were left out.  M_r(D) are its counts, M_r(p) those of the model.
Theorem (key ``measured-marginal``).  Let y_s = M_s(D) + Z be measured, r a part of s, and P the
projection from the cells of s to those of r.  Then
|M_r(D) - M_r(p)|_1 <= |P y_s - M_r(p)|_1 + |P Z|_1.
Proof.  M_r(D) = P y_s - P Z; the triangle inequality.
So a quantile of |P Z|_1 (key ``noise-norm``) gives a bound, and bounds of several pairs (s, r) hold
at once if their failure probabilities add up to at most the allowed one; the smallest may then be
taken.

Theorem (key ``selection-bound``; McSherry and Talwar 2007; McKenna, Mullins, Sheldon and Miklau
2022, AIM).  Let a round choose marginal c by the exponential mechanism of a scale b, among k
candidates with scores u_r = w_r (|M_r(D) - M_r(q)|_1 - e_r), for a model q and public w_r > 0 and
e_r.  With probability at least 1 - beta, for all candidates r at once, |M_r(D) - M_r(q)|_1 <= e_r +
(u_c + b ln(k / beta)) / w_r.

How large the noise of a whole marginal is: quantiles of its L1 norm, and of one cell's.

A bug here misstates an error bar; it costs no privacy.

Let a marginal be measured with independent noise in each cell.  A projection adds up m cells of it
for each cell of its own, so that its n cells have independent errors S_1, ..., S_n, each the sum of
m draws Z; of the marginal itself m is 1.
Theorem (key ``noise-norm``).  For every t > 0, with M(t) >= E exp(t |S_1|),
P[|S_1| + ... + |S_n| >= (n ln M(t) + ln(1 / beta)) / t] <= beta.

How far public counts are from true ones, by noisy counts that were drawn after they were fixed.

A bug here misstates an error bar; it costs no privacy.

Let d_1, ..., d_n be the differences between true counts and fixed integers, D the sum of their
absolute values, and S = |d_1 + Z_1| + ... + |d_n + Z_n| what noisy counts show, with independent
noise Z of a discrete Gaussian distribution.  The triangle inequality gives D <= S + |Z|_1, which
counts the noise twice: S itself is about as large as the noise if D is 0.
Theorem (key ``noisy-distance``).  Let h_t(k) be the mean of exp(-t |k + Z|), and s_k the largest of
(ln beta - n ln h_t(k)) / t over some rates t > 0.  With probability at least 1 - beta, D < n k for
every integer k with S <= s_k.

The measurements, with the distributions of their noise.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.continual.sum_tails import plain_sum_half_width
from discreet.exact import float_up
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.synthetic.evidence import Evidence, Measured
from discreet.synthetic.inference.inference import CodedDomain, Marginal, Model

_GRID: Final = 2.0**-20
"""What a score is rounded to, in rows of each cell."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyMarginal:
    """A marginal that was measured, and the distribution of the noise in each cell."""

    marginal: Marginal
    values: NDArray[np.int64]
    law: Law

    def projected(self, domain: CodedDomain, onto: Marginal) -> NDArray[np.float64]:
        """Return the noisy counts of some of its columns."""
        axes = tuple(i for i, column in enumerate(self.marginal) if column not in onto)
        cells = self.values.reshape(domain.shape(self.marginal)).sum(axis=axes)
        return np.asarray(cells, dtype=np.float64)

    def draws(self, domain: CodedDomain, onto: Marginal) -> int:
        """Return how many draws of noise are in each cell of a projection."""
        return domain.size(self.marginal) // domain.size(onto)


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SelectionRound:
    """The public facts of a round that chose a marginal by the error of a model.

    Attributes:
        measured: what was measured of the candidate that was chosen.
        expected: what the model of that round said of every candidate.
        weights: of all candidates.
        offsets: what was taken off each distance, in rows.
        scale: of the exponential mechanism, in rows times weights.
    """

    measured: NoisyMarginal
    expected: Mapping[Marginal, NDArray[np.float64]]
    weights: Mapping[Marginal, float]
    offsets: Mapping[Marginal, float]
    scale: float

    def bounds(
        self, domain: CodedDomain, *, share: Fraction, missed: Fraction
    ) -> dict[Marginal, float]:
        """Bound the distance of all candidates to the model of the round.

        The noise may fail with the probability ``share``, and the selection with ``missed``.
        """
        c = self.measured.marginal
        slack = self.scale * math.log(len(self.weights) / float(missed))
        apart = self._chosen_distance(domain, share)
        score = self.weights[c] * (apart + domain.size(c) * _GRID - self.offsets[c])
        return {
            r: max(0.0, self.offsets[r] + (score + slack) / weight + domain.size(r) * _GRID)
            for r, weight in self.weights.items()
        }

    def _chosen_distance(self, domain: CodedDomain, share: Fraction) -> float:
        """Bound the distance of the chosen marginal to the model of the round, in two ways.

        That model was fixed before the noise was drawn, so the second may be used too.
        """
        c, law = self.measured.marginal, self.measured.law
        cells, expected = domain.size(c), self.expected[c].ravel()
        seen = float(np.abs(self.measured.values - expected).sum())
        apart = seen + noise_norm(law, cells=cells, missed=share / 2)
        if isinstance(law, DiscreteGaussian):
            whole = np.rint(expected)
            seen = float(np.abs(self.measured.values - whole).sum())
            closer = noisy_distance(law, seen=seen, cells=cells, missed=share / 2)
            if closer is not None:
                apart = min(apart, closer + float(np.abs(expected - whole).sum()))
        return apart


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CellRound:
    """The public facts of a round that chose one cell of some marginals.

    ``measured`` are noisy counts of the chosen cell, or of all cells of its marginal, and
    ``chosen`` what the model of the round said of them; the other names are those of
    :class:`SelectionRound`.
    """

    measured: NDArray[np.int64]
    chosen: NDArray[np.float64]
    law: Law
    expected: Mapping[Marginal, NDArray[np.float64]]
    scale: float

    def bounds(
        self, domain: CodedDomain, *, share: Fraction, missed: Fraction
    ) -> dict[Marginal, float]:
        """Bound the distance of all marginals to the model of the round, cell by cell."""
        cells = sum(counts.size for counts in self.expected.values())
        slack = self.scale * math.log(cells / float(missed))
        noise = cell_noise(self.law, missed=share / self.measured.size)
        most = float(np.abs(self.measured - self.chosen).max()) + noise + slack
        return {r: domain.size(r) * (most + 2 * _GRID) for r in self.expected}


@final
@dataclass(frozen=True, slots=True)
class MarginalBound:
    """A bound on the L1 distance between counts of a marginal, in rows, and what it rests on.

    ``source`` is "measured", "projected" or "selected"; without any, ``rows`` is None.
    """

    marginal: Marginal
    rows: float | None
    source: str = ""


def marginal_bounds(
    model: Model,
    wanted: Iterable[Marginal],
    measured: Sequence[NoisyMarginal],
    *,
    missed: Fraction,
    rounds: Sequence[SelectionRound | CellRound] = (),
) -> tuple[MarginalBound, ...]:
    """Bound the distance of all wanted marginals; all bounds hold at once but for this probability.

    The marginal of no column is the number of all rows.

    The miss probability is divided evenly among all quantiles of noise; if there are rounds of
    selection, half of it goes to these.
    """
    marginals = tuple(dict.fromkeys(wanted))
    domain = model.domain
    pairs = [(r, s) for r in marginals for s in measured if set(r) <= set(s.marginal)]
    quantiles = missed / 2 if rounds else missed
    share = quantiles / max(1, len(pairs) + len(rounds))
    best: dict[Marginal, MarginalBound] = {r: MarginalBound(r, None) for r in marginals}
    for r, s in pairs:
        rows = _measured(domain, s, r, model, share)
        source = "measured" if r == s.marginal else "projected"
        best[r] = _smaller(best[r], MarginalBound(r, rows, source))
    for selection in rounds:
        found = selection.bounds(domain, share=share, missed=missed / 2 / len(rounds))
        for r in marginals:
            if r in found:
                apart = selection.expected[r].reshape(domain.shape(r)) - model.marginal(r)
                rows = found[r] + float(np.abs(apart).sum())
                best[r] = _smaller(best[r], MarginalBound(r, rows, "selected"))
    return tuple(best[r] for r in marginals)


def cell_bounds(
    model: Model,
    marginal: Marginal,
    measured: Sequence[NoisyMarginal],
    *,
    missed: Fraction,
) -> NDArray[np.float64] | None:
    """Bound how far each cell of a marginal is off, all cells at once but for this probability.

    None if no measured marginal contains this one.
    """
    domain = model.domain
    covering = [s for s in measured if set(marginal) <= set(s.marginal)]
    if not covering:
        return None
    share = missed / (len(covering) * domain.size(marginal))
    counts = model.marginal(marginal)
    widths: NDArray[np.float64] = np.min(
        [
            np.abs(s.projected(domain, marginal) - counts)
            + cell_noise(s.law, missed=share, draws=s.draws(domain, marginal))
            for s in covering
        ],
        axis=0,
    )
    return widths


def _measured(
    domain: CodedDomain, source: NoisyMarginal, onto: Marginal, model: Model, missed: Fraction
) -> float:
    """Return the bound of the first theorem for one pair."""
    noisy = source.projected(domain, onto)
    norm = noise_norm(source.law, cells=noisy.size, draws=source.draws(domain, onto), missed=missed)
    expected = model.marginal(onto) if onto else np.array(model.total)
    return float(np.abs(noisy - expected).sum()) + norm


def _smaller(first: MarginalBound, second: MarginalBound) -> MarginalBound:
    if first.rows is None or (second.rows is not None and second.rows < first.rows):
        return second
    return first


Law = DiscreteLaplace | DiscreteGaussian
_Floats = NDArray[np.float64]

_TAU_SQUARED: Final = 2.25
_ETA: Final = 1.1e-19
_ROUNDING: Final = 1 + 1e-9
_TILTS: Final = np.geomspace(1e-3, 60.0, 600)
"""Values of t, in one over the standard deviation."""
_SHARES: Final = np.linspace(0.002, 0.998, 500)
"""Values of t, as shares of one over the scale."""
_SMALLEST: Final = 1e-300


def noise_norm(law: Law, *, cells: int, missed: Fraction, draws: int = 1) -> float:
    """Return what the L1 norm of some cells' noise exceeds with at most this probability.

    >>> law = DiscreteGaussian(variance=100)
    >>> round(noise_norm(law, cells=8, missed=Fraction(1, 20)), 1)  # the mean is 64
    112.2
    >>> round(noise_norm(law, cells=4, draws=2, missed=Fraction(1, 20)), 1)
    95.3
    """
    wanted = -math.log(max(float(missed), _SMALLEST))
    if isinstance(law, DiscreteLaplace):
        rates, logs = _laplace(float_up(law.scale), draws)
    else:
        rates, logs = _gaussian(float_up(law.variance), draws)
    bound = float(((cells * logs + wanted) / rates).min()) * _ROUNDING
    if cells > 1:
        return bound
    return min(bound, float(plain_sum_half_width(law, draws, missed)))


def cell_noise(law: Law, *, missed: Fraction, draws: int = 1) -> float:
    """Return what the noise of one cell exceeds, to either side, with at most this probability.

    >>> cell_noise(DiscreteGaussian(variance=100), missed=Fraction(1, 20))
    20.0
    """
    return float(plain_sum_half_width(law, draws, missed))


def _laplace(scale: float, draws: int) -> tuple[_Floats, _Floats]:
    """Return some t, and the logarithm of M at each."""
    rates = _SHARES / scale
    if draws == 1:
        rise = np.exp((_SHARES - 1.0) / scale)  # a e**t
        fall = -math.expm1(-1.0 / scale) / (1.0 + math.exp(-1.0 / scale))
        return rates, math.log(fall) + np.log((1.0 + rise) / -np.expm1((_SHARES - 1.0) / scale))
    whole = math.log(-math.expm1(-1.0 / scale))
    near, far = (np.log(-np.expm1(-(1.0 + sign * _SHARES) / scale)) for sign in (-1.0, 1.0))
    return rates, math.log(2.0) + draws * (2.0 * whole - near - far)


def _gaussian(variance: float, draws: int) -> tuple[_Floats, _Floats]:
    if variance <= 2 * _TAU_SQUARED:
        rates = _TILTS / math.sqrt(draws * variance)
        return rates, math.log(2.0) + _TILTS**2 / 2.0
    from scipy.special import log_ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    extra = _TAU_SQUARED * variance / (variance - _TAU_SQUARED)
    rates = _TILTS / math.sqrt(draws * (variance + extra))
    return rates, math.log(2.0) + _TILTS**2 / 2.0 + np.asarray(log_ndtr(_TILTS)) + draws * _ETA


_RATES: Final = np.geomspace(0.02, 3.0, 24)
"""Values of t, in one over the standard deviation."""
_FARTHEST: Final = 10.0
"""The largest k that is tried, in standard deviations; the sums below reach 14 of them."""
_REACH: Final = 14.0
_SLIP: Final = 1e-11


def noisy_distance(
    law: DiscreteGaussian, *, seen: float, cells: int, missed: Fraction
) -> float | None:
    """Return an upper bound on D but for this probability, given S = ``seen``; None if too large.

    >>> law = DiscreteGaussian(variance=10_000)
    >>> noisy_distance(law, seen=80_000, cells=1000, missed=Fraction(1, 100))
    41000.0
    """
    deviation = math.sqrt(float_up(law.variance))
    wanted = math.log(max(float(missed), _SMALLEST))
    rates = _RATES / deviation
    noise = np.arange(-math.ceil(_REACH * deviation), math.ceil(_REACH * deviation) + 1)
    chances = np.exp(-(noise**2) / (2 * deviation**2))
    chances /= chances.sum()

    def beyond(k: int) -> bool:
        """Whether as little as was seen is too unlikely if D is n k or more."""
        shifted = np.exp(-rates[:, None] * np.abs(k + noise))
        logs = np.log(shifted @ chances) + _SLIP
        return bool((rates * seen + cells * logs <= wanted).any())

    low, high = 0, math.floor(_FARTHEST * deviation)
    if high < 1 or not beyond(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return float(cells * high)


def noise_law(measured: Measured) -> Law:
    """Return the distribution of the noise in each count."""
    if measured.law == "gaussian":
        return DiscreteGaussian(variance=measured.scale)
    return DiscreteLaplace(scale=measured.scale)


def noisy_marginal(measured: Measured) -> NoisyMarginal:
    """Return a measured marginal with the distribution of its noise."""
    return NoisyMarginal(measured.marginal, measured.values, noise_law(measured))


def noisy_marginals(evidence: Evidence) -> tuple[NoisyMarginal, ...]:
    """Return the marginals with all cells measured."""
    return tuple(noisy_marginal(each) for each in evidence.measured if each.cell is None)
