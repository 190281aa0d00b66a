"""Ranges and quantiles: each person reports one node of a tree over ordered cells.

Trust: public.  The device runs ``Record``, whose parts are the levels; a bug here costs accuracy.

Definition (Cormode, Kulkarni and Srivastava 2019).  Cells are grouped by ``branching``, groups
again, and so on.  A device draws one level below the root, and reports its node there at the full
epsilon.  Nodes of all levels are made consistent by least squares, the root being 1 (key
``tree-least-squares``); a range is a difference of two thresholds.
``haar``: a device reports the side of its node, at a drawn height, that contains its cell.  A
node's left share minus its right one is a Haar coefficient, and the cells follow from these and
from the sum of all (key ``signed-hadamard``).

Theorem (key ``range-variance``).  If each of h levels has n/h reports, and an estimated node the
variance V h / n, uncorrelated, the mean variance of all ranges of k cells is
h (N S - |s|**2) / (N (N - 1) / 2) V / n: N = k + 1, w_t are the weights of nodes in threshold t
(those of the empty one are 0), S is the sum of their squares, and s their sum.
Proof.  A range has weights w_t - w_u, and the sum of |w_t - w_u|**2 over all pairs is N S - |s|**2.

Intervals are normal ones (see ``weighted_sums``); those who report about one level are drawn from
all, and this too is in them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import freeze, probability, rational, whole
from discreet.local.consistency import Consistent, project
from discreet.local.hadamard import SignedHadamard
from discreet.local.intervals import (
    Coins,
    Floats,
    Integers,
    Target,
    miss_chance,
    normal_reach,
    sum_variance,
)
from discreet.local.randomizer import checked_codes, local_epsilon
from discreet.local.record import Record
from discreet.local.share_table import ShareTable
from discreet.local.subset import Subset
from discreet.local.tree_estimates import Consistency, monotone, sizes_of
from discreet.mechanisms.mechanism import Number
from discreet.notebook import Shown

_MOST_CELLS: Final = 4096
_MOST_WAVELETS: Final = 1024
_SMALL_EPSILON: Final = Fraction(17, 20)


class RangeShare(NamedTuple):
    """The share of people in a range of cells, with its confidence interval."""

    share: float
    low: float
    high: float


class CellQuantile(NamedTuple):
    """The cell of a quantile, with its confidence interval of cells."""

    cell: int
    low: int
    high: int


@final
@dataclass(frozen=True, slots=True, init=False)
class Ranges(Shown):
    """Shares of ranges of ``cells`` ordered cells, by a tree or (branching=0) by Haar wavelets.

    >>> ages = Ranges(cells=16, epsilon=2)
    >>> [part.values for part in ages.record.parts]
    [16, 4]
    >>> from discreet.noise import KeyedEntropy
    >>> fixed = KeyedEntropy(key=bytes(32), label="a page that repeats")
    >>> people = np.arange(16).repeat(1000)
    >>> tally = ages.record.tally(ages.record.run_each(ages.codes(people), entropy=fixed))
    >>> share, median = (answer := ages.estimates(tally)).range(4, 11), answer.quantile("0.5")
    >>> share.low < 0.5 < share.high, median.low <= 7 <= median.high
    (True, True)
    """

    cells: int
    branching: int
    epsilon: Fraction

    def __init__(self, *, cells: int, epsilon: Number, branching: int | None = None) -> None:
        """Take how many cells there are, the loss of a report, and how many nodes form a group.

        By default groups have 4 nodes; below an epsilon of 0.85, if Hadamard response is nearly
        as good as any, wavelets are used if there are 2, 4, ..., 1024 cells.
        """
        count = whole(cells, name="cells", low=2, high=_MOST_CELLS)
        if branching is None:
            wavelets = count & (count - 1) == 0 and count <= _MOST_WAVELETS
            small = local_epsilon(epsilon) < _SMALL_EPSILON
            branching = 0 if wavelets and small else min(4, count)
        width = whole(branching, name="branching", low=0, high=count)
        if width == 1 or (width == 0 and count & (count - 1)):
            raise OutOfRange(
                "there is no such tree; give branching=4; or branching=0 with a power of two of "
                "cells."
            )
        freeze(self, cells=count, branching=width, epsilon=local_epsilon(epsilon))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes, or sides of nodes, each level has, the cells first."""
        return sizes_of(self.cells, self.branching or 2)[:-1]

    @property
    def record(self) -> Record:
        """What devices run: one level, drawn evenly, at the full epsilon."""
        return _record(self)

    def codes(self, cells: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the record of each person's cell: its node on every level."""
        places = checked_codes(cells, self.cells).astype(np.int64)
        step = self.branching or 2
        return self.record.codes([places // step**level for level in range(len(self.sizes))])

    def estimates(self, tally: Integers) -> RangeEstimates:
        """Read the tally of ``record``."""
        levels = []
        for number, part in enumerate(self.record.parts):
            people, counts = self.record.of_part(tally, number)
            if people == 0:
                raise OutOfRange(
                    "there are no reports about some level of the tree; collect more reports."
                )
            supports = part.supports(counts)  # type: ignore[union-attr]  # both kinds have it
            coins = Coins.of(part.chances())  # type: ignore[union-attr]
            levels.append(_Level(coins.shares(supports, people), people, coins))
        return RangeEstimates(plan=self, levels=tuple(levels))

    def weights(self, threshold: int) -> list[Floats]:
        """Return with which weight each node of each level enters the share up to a cell."""
        if self.branching:
            return np.split(_tree(self).weights(threshold), np.cumsum(self.sizes))[:-1]
        weights = []
        for height in range(1, len(self.sizes) + 1):
            node, inside = divmod(threshold + 1, 1 << height)
            half = 1 << (height - 1)
            level = np.zeros(self.cells >> (height - 1))
            if inside:  # a node cut by the threshold: this many cells of its left side, and right
                level[2 * node] = (min(inside, half) - max(inside - half, 0)) / (1 << height)
            weights.append(level)
        return weights

    def mean_variance(self) -> float:
        """Return the mean variance of all ranges, in multiples of V / n.

        >>> round(Ranges(cells=64, epsilon=1).mean_variance(), 2)
        6.58
        """
        rows = np.array([np.concatenate(self.weights(t)) for t in range(self.cells)])
        count = self.cells + 1
        total = count * float((rows**2).sum()) - float((rows.sum(axis=0) ** 2).sum())
        return len(self.sizes) * total / (count * (count - 1) / 2)


class _Level(NamedTuple):
    shares: Floats
    people: int
    coins: Coins


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RangeEstimates(Shown):
    """What the reports of all levels say about ranges of cells."""

    plan: Ranges
    levels: tuple[_Level, ...]

    def thresholds(self) -> Floats:
        """Return the estimated share up to each cell, without bias."""
        if self.plan.branching:
            nodes = np.concatenate([level.shares for level in self.levels] + [np.ones(1)])
            return _tree(self.plan).thresholds(nodes)
        cells = np.full(self.plan.cells, 1 / self.plan.cells)
        for height, level in enumerate(self.levels, start=1):
            sides = level.shares / (1 << height)  # the left side's, and its opposite
            cells += sides.repeat(1 << (height - 1))
        return np.asarray(cells.cumsum())

    def range(
        self, first: int, last: int, *, confidence: object = "0.95", target: Target = "population"
    ) -> RangeShare:
        """Return the share of people whose cell is ``first``, ``last`` or between them."""
        start = whole(first, name="first", low=0, high=self.plan.cells - 1)
        stop = whole(last, name="last", low=start, high=self.plan.cells - 1)
        sums = self.thresholds()
        share = float(sums[stop] - (sums[start - 1] if start else 0))
        reach = normal_reach(confidence) * self._deviation(start, stop, target)
        return RangeShare(share, max(share - reach, 0.0), min(share + reach, 1.0))

    def table(
        self,
        *,
        confidence: object = "0.95",
        consistent: Consistent = "tree",
        target: Target = "population",
    ) -> ShareTable:
        """Return the shares of all cells, each with its interval.

        Args:
            confidence: the probability that an interval holds the truth.
            consistent: tree, which is unbiased; or simplex, the projection of these shares.
            target: as in ``range``.
        """
        if consistent not in {"tree", "simplex"}:
            raise WrongKind(
                "cells of a tree are made consistent by 'tree' or 'simplex' alone; give "
                "consistent='tree'; or let devices report cells by an oracle of its own."
            )
        shares = np.diff(self.thresholds(), prepend=0.0)
        spans = np.array([self._deviation(cell, cell, target) for cell in range(self.plan.cells)])
        reach = normal_reach(confidence) * spans
        return ShareTable(
            values=tuple(range(self.plan.cells)),
            shares=shares if consistent == "tree" else project(shares),
            low=np.clip(shares - reach, 0, 1),
            high=np.clip(shares + reach, 0, 1),
            people=sum(level.people for level in self.levels),
            confidence=1 - miss_chance(confidence),
            consistent=consistent,
            hostile=0,
            target=target,
            bars="each",
        )

    def quantile(
        self, level: object, *, confidence: object = "0.95", target: Target = "population"
    ) -> CellQuantile:
        """Return the first cell whose cumulative share of people is at least this share.

        A cell is left out if the share up to it is surely too low, or that before it too high.
        """
        share = float(probability(rational(level, name="level"), name="level"))
        sums, reach = self.thresholds(), normal_reach(confidence)
        rising = monotone(sums)
        last = self.plan.cells - 1
        spans = [reach * self._deviation(0, cell, target) for cell in range(last)] + [0.0]
        spread = np.array(spans)
        possible = np.flatnonzero(sums + spread >= share)
        surely = np.flatnonzero(sums - spread >= share)
        cell = min(int(np.searchsorted(rising, share)), last)
        low = int(possible[0]) if len(possible) else last
        high = int(surely[0]) if len(surely) else last
        return CellQuantile(cell, min(low, cell), max(high, cell))

    def _deviation(self, first: int, last: int, target: Target) -> float:
        """Return the standard deviation of a range, from its weights."""
        upper = self.plan.weights(last)
        lower: Sequence[Floats] = (
            self.plan.weights(first - 1) if first else [np.zeros(len(part)) for part in upper]
        )
        variance, people = 0.0, sum(level.people for level in self.levels)
        for level, high, low in zip(self.levels, upper, lower, strict=True):
            shares, coins, part = level.shares, level.coins, level.people / people
            own = sum_variance(high - low, shares, coins, target, part=part)
            variance += own / level.people
        return float(np.sqrt(variance))

    def __str__(self) -> str:
        people = sum(level.people for level in self.levels)
        middle = self.quantile("1/2")
        return (
            f"{people:,} reports about {self.plan.cells} cells on {len(self.levels)} levels; "
            f"the median is in cell {middle.cell} ({middle.low} to {middle.high})"
        )


@functools.lru_cache(maxsize=16)
def _record(plan: Ranges) -> Record:
    kind = Subset if plan.branching else SignedHadamard
    return Record(parts=[kind(epsilon=plan.epsilon, values=size) for size in plan.sizes])


@functools.lru_cache(maxsize=16)
def _tree(plan: Ranges) -> Consistency:
    return Consistency(cells=plan.cells, branching=plan.branching, exact_root=True)
