"""Post-processing of noisy counts: made to add up on a tree, or not to fall.

Trust: public.  It sees noisy counts only; a bug here costs accuracy, not privacy.

Definition.  Counts up to a threshold do not fall.  Pool neighbors that fall into their mean until
none do.  The result is the non-decreasing sequence with the least squared distance (Ayer, Brunk,
Ewing, Reid and Silverman 1955).
Theorem (key ``isotonic-contraction``).  The largest distance from any non-decreasing truth does not
grow.  Proof.  Entry i of the result is the largest over a <= i of the smallest over b >= i of the
mean of entries a to b; so it does not fall if entries rise, it moves along if all entries do, and
it leaves non-decreasing sequences as they are.

Definition.  Cells are grouped by ``branching``, groups again, and so on up to one group.  Each node
was counted with independent noise of one variance; the root perhaps exactly.
Theorem (key ``tree-least-squares``; Hay, Rastogi, Miklau and Suciu 2010).  Two passes give the
least squares estimate.  Up: estimate each node from its own count, of variance 1, and from the sum
of the estimates below it, of variance T, with weights inverse to the variances; the result has
variance T / (T + 1).  Down: give each node's surplus over the sum of those below it to them, in
proportion to their variances.  No count enters a threshold with a weight above its own estimate's
variance, which is at most 1, so thresholds move by at most 1.  The proof, and the variance of a
threshold, are in docs/proofs/mechanisms.md.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind


def monotone(values: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    """Return the nearest sequence that does not fall.

    >>> monotone([1, 4, 2, 3, 9]).tolist()
    [1.0, 3.0, 3.0, 3.0, 9.0]
    """
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1:
        raise WrongKind("the values must be a list, or a one-dimensional array, of numbers.")
    pools: list[tuple[float, int]] = []  # means and sizes
    for number in numbers.tolist():
        mean, size = number, 1
        while pools and pools[-1][0] >= mean:
            before, count = pools.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        pools.append((mean, size))
    means, counts = zip(*pools, strict=True) if pools else ((), ())
    return np.repeat(np.array(means, float), np.array(counts, int))


def sizes_of(cells: int, branching: int) -> tuple[int, ...]:
    """Return how many nodes each level has, the cells first and the root last.

    >>> sizes_of(8, 2), sizes_of(10, 4)
    ((8, 4, 2, 1), (10, 3, 1))
    """
    sizes = [cells]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // branching))
    return tuple(sizes)


@final
@dataclass(frozen=True, slots=True)
class Consistency:
    """Least squares on a tree over ``cells`` cells, in groups of ``branching``.

    >>> halves = Consistency(cells=2, branching=2, exact_root=False)
    >>> halves.thresholds(np.array([4, 6, 13])).tolist()  # 4 + 6 is not 13
    [5.0, 12.0]
    """

    cells: int
    branching: int
    exact_root: bool

    def thresholds(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        """Return the estimates of all counts up to a cell, from the noisy counts of all nodes."""
        steps = steps_of(self)
        levels = [part.astype(float) for part in np.split(counts, steps.ends)]
        sums = []
        for level, own in enumerate(steps.own):  # up
            sums.append(np.add.reduceat(levels[level], steps.firsts[level]))
            levels[level + 1] = own * levels[level + 1] + (1 - own) * sums[level]
        for level in reversed(range(len(sums))):  # down
            surplus = levels[level + 1] - sums[level]
            levels[level] += steps.parts[level] * surplus[steps.above[level]]
        return np.asarray(levels[0].cumsum())

    def weights(self, threshold: int) -> NDArray[np.float64]:
        """Return with which weight each node enters a threshold: both passes, backwards."""
        steps = steps_of(self)
        pulls = [(np.arange(self.cells) <= threshold).astype(float)]
        for part, first in zip(steps.parts, steps.firsts, strict=True):
            pulls.append(np.add.reduceat(pulls[-1] * part, first))
        inner = []
        for level in reversed(range(len(steps.own))):
            own, pull = steps.own[level], pulls[level + 1]
            surplus = np.add.reduceat(pulls[level] * steps.parts[level], steps.firsts[level])
            pulls[level] += ((1 - own) * pull - surplus)[steps.above[level]]
            inner.append(own * pull)
        return np.concatenate([pulls[0], *reversed(inner)])

    def exact(self, level: int) -> bool:
        """Whether the counts of a level have no noise."""
        return self.exact_root and level == len(sizes_of(self.cells, self.branching)) - 1


@final
@dataclass(frozen=True, slots=True)
class Steps:
    """What both passes use of each level, in floating point."""

    ends: NDArray[np.intp]
    """Where each level ends in the list of all nodes."""
    spreads: list[NDArray[np.float64]]
    """The variances of all nodes on the way up."""
    firsts: list[NDArray[np.intp]]
    """The first of each group."""
    above: list[NDArray[np.intp]]
    """The group of each node."""
    own: list[NDArray[np.float64]]
    """The weight of the own count of each group."""
    parts: list[NDArray[np.float64]]
    """Which part of the surplus of its group each node gets."""


@functools.lru_cache(maxsize=16)
def steps_of(tree: Consistency) -> Steps:
    """Return what both passes use of each level."""
    sizes = sizes_of(tree.cells, tree.branching)
    spreads = [np.array(level, dtype=float) for level in variances_of(tree)]
    firsts = [np.arange(0, size, tree.branching) for size in sizes[:-1]]
    above = [np.arange(size) // tree.branching for size in sizes[:-1]]
    totals = [np.add.reduceat(v, first) for v, first in zip(spreads, firsts, strict=False)]
    own = [1 - after / total for after, total in zip(spreads[1:], totals, strict=True)]
    parts = [v / total[group] for v, total, group in zip(spreads, totals, above, strict=False)]
    return Steps(np.cumsum(sizes)[:-1], spreads, firsts, above, own, parts)


@functools.lru_cache(maxsize=16)
def variances_of(tree: Consistency) -> tuple[tuple[Fraction, ...], ...]:
    """Return the variance of each node, from its own count and those below it."""
    levels: list[tuple[Fraction, ...]] = []
    for level, size in enumerate(sizes_of(tree.cells, tree.branching)):
        noise = Fraction(0 if tree.exact(level) else 1)
        if not levels:
            levels.append((noise,) * size)
            continue
        below, known = levels[-1], dict[tuple[Fraction, ...], Fraction]()
        variances = []
        for first in range(0, len(below), tree.branching):
            group = below[first : first + tree.branching]
            if group not in known:
                total = sum(group, Fraction(0))
                known[group] = total * noise / (total + noise)
            variances.append(known[group])
        levels.append(tuple(variances))
    return tuple(levels)
