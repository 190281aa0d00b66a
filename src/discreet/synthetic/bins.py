"""Bins at private quantiles: bought first, in the same program, at a price of their own.

Trust: kernel.  Proofs are in docs/proofs/synthetic.md.

The joint histogram is read in up to 1024 fine cells of equal width for such a column.  Each inner
edge is selected among the edges of these cells, and fine codes become codes of the bins found.

Definition.  For the i-th of k bins, the score of an edge is -|(k - i) b - i a|, where b rows are
below it and a rows are not; NULL counts nowhere.  It is 0 at a quantile of level i / k.
Theorem (key ``bin-edges``).  If one unit moves the histogram by d rows in one direction, a score
moves by at most max(i, k - i) d; if one unit replaces another, by at most k d.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, positive, whole
from discreet.mechanisms import Exponential
from discreet.mechanisms.mechanism import Number
from discreet.noise import Entropy
from discreet.synthetic.domain import Domain, NumberBins
from discreet.synthetic.joint import JointHistogram, UnitMoves
from discreet.synthetic.measurer import Spending

FINE: Final = 1024
"""How many cells of equal width edges are chosen among."""
_MOST_BINS: Final = 128


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileBins:
    """Bins that hold about as many rows each, bought for an epsilon.

    >>> quantile_bins(epsilon="0.1").count
    16
    """

    epsilon: Fraction
    count: int


def quantile_bins(*, epsilon: Number, count: int = 16) -> QuantileBins:
    """Let the edges of bins be found privately, for a price that is added to that of the table.

    Args:
        epsilon: what all edges of one column cost together.
        count: how many bins there are at most.

    >>> quantile_bins(epsilon=0.2, count=8)
    QuantileBins(epsilon=Fraction(1, 5), count=8)
    """
    price = positive(decimal(epsilon, name="epsilon"), name="epsilon")
    return QuantileBins(epsilon=price, count=whole(count, name="count", low=2, high=_MOST_BINS))


Bins = int | QuantileBins


def read_bins(given: object, names: tuple[str, ...]) -> dict[str, Bins]:
    """Return the bins of each column, by folded names, from one answer for all or from a mapping.

    >>> read_bins(8, ("age",))
    {'age': 8}
    """
    if isinstance(given, Mapping):
        known = {name.casefold() for name in names}
        wrong = [name for name in given if str(name).casefold() not in known]
        if wrong:
            raise OutOfRange(
                f"bins are given for {wrong[0]}, which is not a column of the table; name some of: "
                f"{', '.join(names)}."
            )
        chosen = {str(name).casefold(): value for name, value in given.items()}
    else:
        chosen = {name.casefold(): given for name in names}
    return {name: _checked(value) for name, value in chosen.items()}


def _checked(value: object) -> Bins:
    if isinstance(value, QuantileBins):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongKind(
            f"a {type(value).__name__} does not say how many bins there are; write bins=32, or "
            f"bins={{'cost': dp.synthetic.quantile_bins(epsilon=0.1)}}."
        )
    return whole(value, name="bins", low=1, high=4096)


@final
@dataclass(frozen=True, slots=True)
class BoughtBins:
    """The columns whose bins are bought, by their numbers; ``fine`` is the domain that is read."""

    fine: Domain
    wanted: tuple[tuple[int, QuantileBins], ...]

    def steps(self, moves: UnitMoves) -> tuple[Leaf, ...]:
        """Return all selections."""
        return tuple(
            self._leaf(moves, column, bins, place)
            for column, bins in self.wanted
            for place in range(1, bins.count)
        )

    def bought(
        self, joint: JointHistogram, moves: UnitMoves, spending: Spending, entropy: Entropy
    ) -> tuple[Domain, JointHistogram]:
        """Select edges, and return domain and histogram in the bins between them."""
        edges: dict[int, tuple[Fraction, ...]] = {}
        maps: dict[int, NDArray[np.int64]] = {}
        for column, bins in self.wanted:
            chosen = set()
            for place in range(1, bins.count):
                leaf = self._leaf(moves, column, bins, place)
                spending.spend(leaf)
                scores = self._scores(joint, column, bins, place)
                choice = leaf.source
                if not isinstance(choice, Exponential):
                    raise TypeError(choice)
                chosen.add(1 + choice.run(scores, entropy=entropy))
            coding = self._coding(column)
            inner = sorted(chosen)
            edges[column] = tuple(coding.edges[place] for place in (0, *inner, coding.size))
            cells = np.searchsorted(inner, np.arange(coding.size), side="right")
            null = [len(inner) + 1] if self.fine.columns[column].nullable else []
            maps[column] = np.array([*cells, *null], dtype=np.int64)
        domain = self.fine.with_edges(edges)
        return domain, joint.coarsened(domain.coded.sizes, maps)

    def _coding(self, column: int) -> NumberBins:
        coding = self.fine.columns[column].coding
        if not isinstance(coding, NumberBins):
            raise TypeError(coding)
        return coding

    def _leaf(self, moves: UnitMoves, column: int, bins: QuantileBins, place: int) -> Leaf:
        near = max(place, bins.count - place) * moves.rows
        far = bins.count * moves.rows
        epsilon = bins.epsilon / (bins.count - 1)
        scale = 2 * Fraction(far if moves.replaces else near) / epsilon
        edges = self._coding(column).size - 1
        return moves.chosen(Exponential(candidates=edges, scale=scale), added=near, replaced=far)

    def _scores(
        self, joint: JointHistogram, column: int, bins: QuantileBins, place: int
    ) -> NDArray[np.int64]:
        counts = joint.marginal((column,))[: self._coding(column).size]
        below = np.cumsum(counts)[:-1]
        above = int(counts.sum()) - below
        scores: NDArray[np.int64] = -np.abs((bins.count - place) * below - place * above)
        return scores
