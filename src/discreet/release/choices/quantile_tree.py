"""Quantiles and their intervals, read from one tree of noisy counts.

Trust: kernel.  Every block of a tree is counted once, with noise of its own; whatever else is done
here is computed from these noisy counts.

Definition.  Let the noisy count of block c be y(c), let n be the number of rows and F(x) that of
the rows below boundary x of some leaves.  The *gap* of a level q at x is D(x) = F(x) - q n.  It is
estimated from the top of the tree on:

    at the i-th boundary of the b blocks of the first level, by y(1) + ... + y(i) less q times the
    sum of all b;
    inside a block from u to v, by E(u) + y(1) + ... + y(i) + (i / b) (E(v) - E(u) - y(1) - ... -
    y(b)), where E are the estimates one level higher, and y the counts of its b parts.

Going down, the value takes the part in the middle between the first whose end has an estimate of at
least 0 and the last whose start has one of at most 0.  The lower end of the interval takes the
first part whose end has one of at least - q - M, and the upper end the last part whose start has
one of at most 1 - q + M, where M bounds the error of the estimate, either way, except with a chance
of m over the number h of levels.
Theorem (key ``tree-ends``).  The lower end is a leaf no higher than the one of the quantile (as
``quantile-ends`` defines it), except with a chance of at most m; the upper end is no lower.
Proof.  Let the value of rank floor(q (n - 1)) + 1 be in leaf L.  More than q (n - 1) rows lie below
the end of each block that holds L, so D is above -q there, and the estimate is above -q - M, but
for a chance of m / h on each level.  As long as that is so, the part that holds L is never passed
over: the part that is taken holds L as well, or is lower, and then all of its leaves are.  Upper
ends are the same with the order reversed: fewer than q (n - 1) + 1 rows lie below the start of each
block that holds the value of rank ceil(q (n - 1)) + 1.

M is that of ``tree-error`` (:mod:`discreet.plan.forecast.noise_quantiles`).  At the i-th boundary
of the first level, factors of noises are 1 - q for i blocks and -q for the others; each level below
adds 1 - i / b for i parts and -i / b for the others, to a mean of the factors above.  So none is
larger than 1, and squares add up along the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.noise import SYSTEM, Entropy
from discreet.noise.entropy import checked_entropy
from discreet.plan.forecast.noise_quantiles import error_bound
from discreet.plan.pricing.group_sensitivity import LeafChoice
from discreet.plan.pricing.quantile_tree import QuantileTree, TreeChoice
from discreet.requests.raw_totals import Integers, SparseLeaves

_Floats = NDArray[np.float64]

_MOST_ROWS: Final = 1 << 40


def read_tree(
    tree: QuantileTree,
    choices: Sequence[TreeChoice],
    sparse: SparseLeaves,
    *,
    groups: int,
    entropy: Entropy = SYSTEM,
) -> dict[LeafChoice, Integers]:
    """Draw a tree once in each of so many groups, and read all choices from it.

    ``sparse`` are the leaves with rows, sorted by group and leaf.
    """
    checked_entropy(entropy)
    far = tree.distances
    if not groups:
        return {choice: np.zeros(0, np.int64) for choice in choices}
    counts = _Counts(tree, sparse, entropy)
    paths = [_Path.first(choice, groups) for choice in choices]
    for level in range(far.levels):
        blocks = [np.arange(groups) * far.arity**level + path.block for path in paths]
        wanted, place = np.unique(np.concatenate(blocks), return_inverse=True)
        noisy = counts.drawn(wanted, level)
        for path, mine in zip(paths, np.split(place, len(paths)), strict=True):
            path.down(noisy[mine], tree)
    return {
        choice: np.minimum(path.block, far.leaves - 1)
        for choice, path in zip(choices, paths, strict=True)
    }


@final
class _Counts:
    """The rows of all leaves, and noisy counts of blocks; each block is drawn once."""

    def __init__(self, tree: QuantileTree, sparse: SparseLeaves, entropy: Entropy) -> None:
        """Add up rows from the first leaf of the first group on."""
        group, leaf, count = (np.ascontiguousarray(part, np.int64) for part in sparse)
        self._tree, self._entropy = tree, entropy
        self._width = tree.distances.arity**tree.distances.levels
        inside = np.clip(leaf, 0, tree.distances.leaves - 1)
        self._places = group * self._width + inside
        held = np.minimum(count, _MOST_ROWS)  # so that no sum leaves 64 bits
        self._upto = np.concatenate([[0], np.cumsum(held)])
        self._drawn_levels = 0

    def drawn(self, blocks: Integers, level: int) -> _Floats:
        """Return noisy counts of the parts of some different blocks, on one level after another."""
        if level != self._drawn_levels or np.unique(blocks).size != blocks.size:
            message = "a block is counted once"
            raise ValueError(message)
        self._drawn_levels += 1
        arity = self._tree.distances.arity
        width = self._width // arity ** (level + 1)
        edges = (blocks[:, np.newaxis] * arity + np.arange(arity + 1)) * width
        below = self._upto[np.searchsorted(self._places, edges.ravel(), side="left")]
        exact = np.diff(below.reshape(edges.shape), axis=1)
        noisy: Integers = self._tree.mechanism.run(exact.ravel(), entropy=self._entropy)
        return noisy.astype(np.float64).reshape(exact.shape)


@final
@dataclass(slots=True)
class _Path:
    """Where a choice has come to, in all groups at once: a block, and what is known of its ends.

    ``start`` and ``end`` are the estimates there, and ``squares`` the sums of squared factors of
    their errors: of the start, of the end, and of the products of both.
    """

    choice: TreeChoice
    block: Integers
    start: _Floats
    end: _Floats
    squares: tuple[_Floats, _Floats, _Floats] | None

    @classmethod
    def first(cls, choice: TreeChoice, groups: int) -> _Path:
        """Begin above the first level."""
        zero = np.zeros(groups)
        return cls(choice, np.zeros(groups, np.int64), zero, zero, None)

    def down(self, noisy: _Floats, tree: QuantileTree) -> None:
        """Go down by one level, given the noisy counts of the parts of each block."""
        size, arity = noisy.shape
        steps = np.arange(arity + 1, dtype=np.float64)
        sums = np.concatenate([np.zeros((size, 1)), np.cumsum(noisy, axis=1)], axis=1)
        share = steps / arity
        level = float(self.choice.level)
        if self.squares is None:
            gaps = sums - level * sums[:, -1:]
            own = steps - 2 * level * steps + arity * level**2
            next_to = own[:-1] - level  # of neighbors: i - q i - q (i + 1) + b q**2
            squares = np.broadcast_to(own, gaps.shape)
            products = np.broadcast_to(next_to, (size, arity))
        else:
            first, last, both = (part[:, np.newaxis] for part in self.squares)
            rest = (self.end - self.start)[:, np.newaxis] - sums[:, -1:]
            gaps = self.start[:, np.newaxis] + sums + share * rest
            squares = (
                (1 - share) ** 2 * first
                + share**2 * last
                + 2 * share * (1 - share) * both
                + steps * (1 - share)
            )
            here, there = share[:-1], share[1:]
            products = (
                (1 - here) * (1 - there) * first
                + here * there * last
                + ((1 - here) * there + here * (1 - there)) * both
                + steps[:-1] * (1 - there)
            )
        taken = self._taken(gaps, squares, tree)
        rows = np.arange(size)
        self.block = self.block * arity + taken
        self.start, self.end = gaps[rows, taken], gaps[rows, taken + 1]
        self.squares = (
            squares[rows, taken],
            squares[rows, taken + 1],
            products[rows, taken],
        )

    def _taken(self, gaps: _Floats, squares: _Floats, tree: QuantileTree) -> Integers:
        """Return which part is taken."""
        level, side, last = float(self.choice.level), self.choice.side, gaps.shape[1] - 2
        low = high = gaps
        if side:
            missed = self.choice.missed / tree.distances.levels
            far = error_bound(tree.mechanism, squares, missed)
            low, high = gaps + level + far, gaps + level - 1 - far
        first = np.where((ends := low[:, 1:] >= 0).any(axis=1), np.argmax(ends, axis=1), last)
        back = np.argmax((starts := high[:, :-1] <= 0)[:, ::-1], axis=1)
        final_ = np.where(starts.any(axis=1), last - back, 0)
        found: Integers = first if side < 0 else final_ if side > 0 else (first + final_) // 2
        return found
