"""How far the marginals of a model are from those of the table, by released numbers alone.

Trust: public.  A bug here misstates an error bar; it costs no privacy.

The table is the one that was counted: after rows outside the categories and rows above the limits
of a person were left out.  M_r(D) are its counts, M_r(p) those of the model.
Theorem (key ``measured-marginal``).  Let y_s = M_s(D) + Z be measured, r a part of s, and P the
projection from the cells of s to those of r.  Then
|M_r(D) - M_r(p)|_1 <= |P y_s - M_r(p)|_1 + |P Z|_1.
Proof.  M_r(D) = P y_s - P Z; the triangle inequality.
So a quantile of |P Z|_1 (key ``noise-norm``) gives a bound, and bounds of several pairs (s, r) hold
at once if their chances to fail add up to what is allowed; the smallest may then be taken.

Theorem (key ``selection-bound``; McSherry and Talwar 2007; McKenna, Mullins, Sheldon and Miklau
2022, AIM).  Let a round choose marginal c by the exponential mechanism of a scale b, among k
candidates with scores u_r = w_r (|M_r(D) - M_r(q)|_1 - e_r), for a model q and public w_r > 0 and
e_r.  With chance at least 1 - beta, for all candidates r at once, |M_r(D) - M_r(q)|_1 <= e_r +
(u_c + b ln(k / beta)) / w_r.
Proof.  A candidate whose score is t below the best is chosen with at
most exp(-t / b) times the chance of the best, and there are fewer than k. With the bound of the
first theorem for c, or with that of ``noisy-distance``, u_c is bounded by released numbers, and
|M_r(D) - M_r(p)|_1 <= |M_r(D) - M_r(q)|_1 + |M_r(q) - M_r(p)|_1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.noise import DiscreteGaussian
from discreet.synthetic.inference.inference import Model
from discreet.synthetic.inference.values import CodedDomain, Marginal
from discreet.synthetic.report.noise_norms import Law, cell_noise, noise_norm
from discreet.synthetic.report.noisy_distance import noisy_distance

_GRID: Final = 2.0**-20
"""What a score is rounded to, in rows of each cell."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoisyMarginal:
    """A marginal that was measured, and the law of the noise in each cell."""

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
    """What is public of a round that chose a marginal by how far a model was off.

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

        The noise may fail with the chance ``share``, and the selection with ``missed``.
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
    """What is public of a round that chose one cell of some marginals.

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
    """Bound the distance of all wanted marginals; all bounds hold at once but for this chance.

    The marginal of no column is the number of all rows.

    What may be missed is shared out evenly among all quantiles of noise; where there are rounds of
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
    """Bound how far each cell of a marginal is off, all cells at once but for this chance.

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
