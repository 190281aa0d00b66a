"""Histograms of one ordered column, from coarse to fine, and what follows from them.

Trust: kernel.

Definition.  Codes 0 to 4**L - 1 have a tree: a node of level l holds 4**(L - l) codes that follow
each other.  At each level a histogram is measured over some nodes of that level, and NULL as a cell
of its own.  Nodes of the next level are children of nodes that noisy counts have chosen: those that
may hold a quartile, and those that hold many rows.

Theorem (key ``profile-levels``).  Let a unit add at most r rows to a column.  Then it moves each of
the L histograms by at most r in L1, and therefore in L2, always in one direction, whichever nodes
were chosen; a column costs what L histograms with this sensitivity cost.
Proof.  The cells of a level are disjoint: a row counts in at most one, and counts up.  The nodes of
a level follow from noisy counts of earlier ones; composition allows for queries that are chosen in
view of earlier answers, and the noise is fixed beforehand.

A node and its children are measured with independent noise of one variance; the weighted mean of
a node and the sum of its children, upward, and then the rest spread evenly, downward, is the least
squares estimate (Hay, Rastogi, Miklau and Suciu 2010).  This is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.profile.columns import BRANCHES, Integers

MOST_NODES: Final = 48
CELLS: Final = MOST_NODES * BRANCHES + 1
"""The most cells of one histogram."""
LEVELS: Final = (0.25, 0.5, 0.75)
_NEAR: Final = 12
_HEAVY_SHARE: Final = 1 / 32
_SURE: Final = 4.0
_REACH: Final = 4.0

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Noisy counts of codes: cell i goes from ``starts[i]`` to ``starts[i + 1]``."""

    starts: Integers
    below: Floats
    """How many values lie below each of the starts; it rises."""
    missing: float

    @property
    def total(self) -> float:
        """How many values there are."""
        return float(self.below[-1])

    def code(self, rank: float) -> tuple[int, int, float]:
        """Return the cell that holds a rank, by its codes, and which part of it lies below."""
        inside = min(max(rank, 0.0), self.total)
        at = int(np.searchsorted(self.below, inside, side="left"))
        at = min(max(at, 1), self.below.size - 1)
        low, high = self.below[at - 1], self.below[at]
        part = (inside - low) / (high - low) if high > low else 0.0
        return int(self.starts[at - 1]), int(self.starts[at]), float(part)


@dataclass(slots=True)
class _Level:
    nodes: Integers
    noisy: Floats
    grown: NDArray[np.bool_]


def measured_distribution(  # noqa: PLR0913  counts, and how they are measured
    codes: Integers,
    counts: Integers,
    missing: int,
    *,
    levels: int,
    rows: tuple[float, float],
    deviation: float,
    measure: Callable[[Integers], Integers],
) -> Distribution:
    """Measure a column level by level; ``rows`` are the noisy number of rows, and its variance.

    >>> exact = measured_distribution(np.array([1, 5, 9]), np.array([2, 1, 1]), 3, levels=2,
    ...     rows=(7.0, 1.0), deviation=1e-9, measure=lambda cells: cells)
    >>> exact.total, exact.missing, exact.code(1.0)
    (4.0, 3.0, (1, 2, 0.5))
    """
    order = np.argsort(codes, kind="stable")
    codes, sums = codes[order], np.concatenate([[0], np.cumsum(counts[order])])
    known: list[_Level] = []
    nulls: list[float] = []
    nodes = np.arange(BRANCHES)
    for level in range(1, levels + 1):
        size = BRANCHES ** (levels - level)
        ends = np.searchsorted(codes, np.stack([nodes, nodes + 1]) * size)
        cells = np.concatenate([[missing], sums[ends[1]] - sums[ends[0]]])
        noisy = measure(cells).astype(np.float64)
        nulls.append(noisy[0])
        known.append(_Level(nodes, noisy[1:], np.zeros(nodes.size, np.bool_)))
        null = max(0.0, float(np.mean(nulls)))
        total = max(0.0, rows[0] - null)
        variance = rows[1] + deviation**2 / level
        found = _consistent(known, levels, total, variance / max(deviation, 1e-12) ** 2, null)
        if level < levels:
            known[-1].grown = _chosen(found, nodes * size, deviation * math.sqrt(level))
            chosen = nodes[known[-1].grown]
            nodes = (chosen[:, None] * BRANCHES + np.arange(BRANCHES)).ravel()
    return found


def _chosen(found: Distribution, starts: Integers, deviation: float) -> NDArray[np.bool_]:
    """Return which nodes may hold a quartile, or hold many rows."""
    at = np.searchsorted(found.starts, starts)
    low, high = found.below[at], found.below[at + 1]
    grown = np.zeros(starts.size, np.bool_)
    for level in LEVELS:
        target = level * found.total
        gap = np.maximum(np.maximum(low - target, target - high), 0.0)
        nearest = np.argsort(gap, kind="stable")[:_NEAR]
        grown[nearest[gap[nearest] <= _REACH * deviation]] = True
    heavy = np.argsort(low - high, kind="stable")[: MOST_NODES - len(LEVELS) * _NEAR]
    mass = (high - low)[heavy]
    grown[heavy[mass > max(found.total * _HEAVY_SHARE, _SURE * deviation)]] = True
    return grown


def _consistent(
    known: list[_Level], levels: int, total: float, variance: float, missing: float
) -> Distribution:
    """Return least squares estimates of all nodes without children, in their order."""
    means = [level.noisy.copy() for level in known]
    spreads = [np.ones(level.nodes.size) for level in known]
    for i in range(len(known) - 2, -1, -1):
        grown = known[i].grown
        below, spread = _of_children(means[i + 1]), _of_children(spreads[i + 1])
        means[i][grown] = (means[i][grown] * spread + below) / (1 + spread)
        spreads[i][grown] = spread / (1 + spread)
    own = spreads[0].sum()
    whole = (total * own + means[0].sum() * variance) / (own + variance)
    means[0] += spreads[0] / own * (whole - means[0].sum())
    for i in range(len(known) - 1):
        rest = means[i][known[i].grown] - _of_children(means[i + 1])
        share = spreads[i + 1] / np.repeat(_of_children(spreads[i + 1]), BRANCHES)
        means[i + 1] += share * np.repeat(rest, BRANCHES)
    starts = np.concatenate(
        [
            level.nodes[~level.grown] * BRANCHES ** (levels - depth)
            for depth, level in enumerate(known, 1)
        ]
    )
    mass = np.concatenate([mean[~level.grown] for mean, level in zip(means, known, strict=True)])
    order = np.argsort(starts)
    below = np.concatenate([[0.0], np.cumsum(mass[order])])
    rising = np.maximum.accumulate(below)
    falling = np.minimum.accumulate(below[::-1])[::-1]
    smooth = np.clip((rising + falling) / 2, 0.0, None)
    return Distribution(np.append(starts[order], BRANCHES**levels), smooth, missing)


@lru_cache
def rank_deviation(levels: int) -> float:
    """Return about the standard deviation of the rank of a value, over that of one count.

    It is that of the least squares estimate along a single path, at the worst edge, without the
    number of rows; both other nodes and that number only help.

    >>> round(rank_deviation(4), 2)
    2.17
    """
    measured: list[tuple[int, int]] = []

    def walk(start: int, level: int) -> int:
        for branch in range(BRANCHES):
            end = walk(start, level + 1) if branch == 2 and level < levels else start + 1
            measured.append((start, end))
            start = end
        return start

    cells = walk(0, 1)
    design = np.zeros((len(measured), cells))
    for row, (start, end) in enumerate(measured):
        design[row, start:end] = 1.0
    covariance = np.linalg.inv(design.T @ design)
    prefix = np.tril(np.ones((cells, cells)))
    return float(np.sqrt(np.diag(prefix @ covariance @ prefix.T).max()))


def _of_children(values: Floats) -> Floats:
    sums: Floats = values.reshape(-1, BRANCHES).sum(axis=1)
    return sums
