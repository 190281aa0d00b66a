"""Choosing the event: learned on some answers, chosen on others, judged on new ones.

Trust: public.

Theorem (key ``held-out-event``; Bichsel and others 2021, DP-Sniper).  If an event is chosen before
the answers that judge it are drawn, its hits among them are binomial with its true probabilities,
and bounds for these hold at their level, for any basis of the choice and any number of tried
events.
Proof.  Given everything that the choice looked at, the event is fixed and
the new answers are independent of it; the statement holds under that condition, and so without it.

A first part of the answers is for learning scores, a second for choosing a score and a threshold:
those with the largest bound, were it computed from the second part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.answer_columns import Columns
from discreet.attacks.claim import Claim
from discreet.attacks.features import Feature, features_of
from discreet.attacks.scorers import (
    AdditiveScorer,
    Bins,
    CellScorer,
    LinearScorer,
    OrderedScorer,
    Scorer,
    WholeScorer,
)

Floats = NDArray[np.float64]

_THRESHOLDS: Final = 256
_TOP: Final = 8
_PAIRED: Final = 6
_SUMMED: Final = 32
_FINE: Final = 64
_COARSE: Final = 12
_MILDER: Final = (0.01, 0.3)
_FAINT: Final = 1e-6


class Sides(NamedTuple):
    """Answers about each of two neighbors."""

    one: Columns
    other: Columns


@final
@dataclass(frozen=True, slots=True)
class Event:
    """The answers that score at least a threshold, and the bound that they promise to give."""

    scorer: Scorer
    threshold: float
    promise: float

    def hits(self, columns: Columns) -> int:
        """Count the answers in the event."""
        return int((self.scorer.score(columns) >= self.threshold).sum())

    def __str__(self) -> str:
        """Say which answers are in it."""
        return self.scorer.tell(self.threshold)


def choose(learn: Sides, select: Sides, claim: Claim, level: float) -> Event:
    """Return the event that speaks most strongly against a claim.

    >>> from discreet.attacks.answer_columns import columns_of
    >>> from discreet.attacks.claims import PureClaim
    >>> zeros, ones = (columns_of(np.arange(100) % 4 + at) for at in (0, 1))
    >>> str(choose(Sides(zeros, ones), Sides(zeros, ones), PureClaim(), 0.05))
    'the answer is at most 3'
    """
    scored = [
        _Scored(scorer, *(np.sort(scorer.score(side)) for side in select))
        for scorer in _scorers(learn)
    ]
    event = _best(scored, claim, level)
    for milder in _MILDER:  # too few answers for a guarantee: use the likely event
        if event.promise > 0:
            break
        likely = _best(scored, claim, milder)
        event = replace(likely, promise=_FAINT * likely.promise)
    return event


class _Scored(NamedTuple):
    scorer: Scorer
    one: Floats
    other: Floats


def _best(scored: Sequence[_Scored], claim: Claim, level: float) -> Event:
    bounds = _Bounds(scored[0].one.size, level), _Bounds(scored[0].other.size, level)
    events = [_thresholded(candidate, bounds, claim) for candidate in scored]
    return max(events, key=lambda event: event.promise)


def _thresholded(scored: _Scored, bounds: tuple[_Bounds, _Bounds], claim: Claim) -> Event:
    """Return the best event of one score."""
    scorer, one, other = scored
    pooled = np.unique(np.concatenate([one, other]))
    thresholds = pooled[np.unique(np.linspace(0, pooled.size - 1, _THRESHOLDS).astype(int))]
    p = bounds[0].lower(one.size - np.searchsorted(one, thresholds))
    q = bounds[1].upper(other.size - np.searchsorted(other, thresholds))
    promises = claim.guess(p, q)
    best = int(np.argmax(promises))
    return Event(scorer, float(thresholds[best]), float(promises[best]))


class _Bounds:
    """Bounds of Clopper and Pearson in floats, for all counts: between a few that are computed."""

    def __init__(self, n: int, level: float) -> None:
        from scipy.special import betaincinv  # type: ignore[import-untyped]  # noqa: PLC0415  slow

        few = np.unique(np.geomspace(1, n, 96).astype(int))
        self._n = n
        self._counts = np.unique(np.concatenate([[0], few, n - few]))
        inside = np.maximum(self._counts, 1)
        lower = betaincinv(inside, n - inside + 1, level / 2)
        self._lower = np.where(self._counts == 0, 0.0, lower)

    def lower(self, hits: NDArray[np.intp]) -> Floats:
        return np.interp(hits, self._counts, self._lower)

    def upper(self, hits: NDArray[np.intp]) -> Floats:
        bound: Floats = 1 - self.lower(self._n - hits)
        return bound


def _scorers(learn: Sides) -> Iterator[Scorer]:
    """Learn scores, simple ones first: of two that promise the same the first is taken."""
    features = features_of(*learn)
    cells = _ranked(features, learn)
    top = [cell.bins[0].feature for cell in cells[:_TOP]]
    for feature in sorted(top, key=lambda feature: feature.kind != "value"):
        if feature.ordered:
            yield from (OrderedScorer(feature, 1), OrderedScorer(feature, -1))
    yield from cells[:_TOP]
    for cell in cells[:_TOP]:
        yield CellScorer.of([_bins(cell.bins[0].feature, learn, _COARSE)], *learn)
    yield WholeScorer.of(*learn)
    if len(features) > 1:
        yield AdditiveScorer.of(cells[:_SUMMED], *learn)
    values = [feature for feature in features if feature.kind == "value"]
    if len(values) > 1:
        yield LinearScorer.of(values, *learn)
        yield AdditiveScorer.of([c for c in cells if c.bins[0].feature in values][:_SUMMED], *learn)
    coarse = [_bins(cell.bins[0].feature, learn, _COARSE) for cell in cells[:_PAIRED]]
    for pair in combinations(coarse, 2):
        if pair[0].size * pair[1].size <= _FINE * _FINE:
            yield CellScorer.of(pair, *learn)


def _ranked(features: Sequence[Feature], learn: Sides) -> list[CellScorer]:
    """Order features by how far apart they are on the two neighbors, less what chance explains."""
    ranking: list[tuple[float, int, CellScorer]] = []
    for feature in features:
        bins = _bins(feature, learn, _FINE)
        one, other = (
            np.bincount(bins.codes(side), minlength=bins.size) / max(side.n, 1) for side in learn
        )
        noise = np.sqrt(one / max(learn.one.n, 1) + other / max(learn.other.n, 1))
        gap = float(np.abs(one - other).sum() - 0.8 * noise.sum())
        ranking.append((-gap, len(ranking), CellScorer.of([bins], *learn)))
    return [cells for _, _, cells in sorted(ranking)[: 2 * _SUMMED]]


def _bins(feature: Feature, learn: Sides, most: int) -> Bins:
    return Bins.of(feature, learn, most)
