"""Leaves chosen with noise: by the exponential mechanism, and from the noisy tree of a histogram.

Trust: kernel.  Every block of a tree is counted once, with noise of its own; whatever else is done
here is computed from these noisy counts.
Proofs are in docs/proofs/plan.md.

Definition.  With n rows in the leaves of a group, of which b(i) are below leaf i and u(i) up to it,
the score of leaf i follows from b(i), u(i) and n (:mod:`discreet.plan.pricing.group_sensitivity`);
it is chosen with a probability proportional to exp(score / scale).  If a choice has an offset,
as many rows more are counted, in the first leaf if it is negative, and in the last one if it is
positive; n is the number without them.
Theorem (key ``leaf-runs``).  Leaves without rows between two that have some share b, u and so their
score: they form a *run*, and so does every leaf with rows.  To choose a run with a probability
proportional to (leaves in it) exp(score / scale), and then one of its leaves with equal chances, is
the same choice.
Proof.  The chances of the leaves of a run add up to that of the run, and are equal among them.

Floats find the run that a uniform U selects; if U comes closer to a boundary than the bound on
their error, integers decide (key ``exponential-inversion``).  Groups are taken together, some ten
thousand runs at a time, and running sums start anew with each of these batches.
Cost: two runs for each leaf with rows and one for each group, regardless of the number of leaves.

Definition.  A span of w leaves around a value v, chosen before, has b rows below leaf v - w, and u
up to leaf v + w; its *depth* is the smaller one of q n - b and u - q n.  Its *size* D is its depth,
or a third of the rows that it has in leaves other than v, if that is more: near the ends of all
rows no span is deep.  Spans rise; the last holds all leaves, and counts as infinitely large.  The
score of a span is minus the larger one of D' - T and T - D, for its own size D and the size D' of
the span before it, if there is one; T is what the choice aims at.
Theorem (key ``span-scores``).  One row more or less moves every score by at most max(q, 1 - q), and
one that is replaced by at most 1.
Proof.  For a given v, minus a depth is what ``leaf-scores`` is about, for a leaf made of all leaves
of the span; a third of a number of rows moves by at most 1/3, and max(q, 1 - q) is at least 1/2;
and the larger of two numbers moves no further than one of them.
Theorem (key ``quantile-span``).  Let k spans have a choice of some scale, and T at least
scale ln((k - 1) (1 - m) / m).  Then the span that is chosen has a size above 0, but for a chance
of m, regardless of the values.
Proof.  The first span with D >= T has D' < T, so the best score is at least 0, and each of at most
k - 1 spans with D <= 0 has a score of at most -T.

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

M is that of ``tree-error`` (:mod:`discreet.plan.noise_errors`).  At the i-th boundary
of the first level, factors of noises are 1 - q for i blocks and -q for the others; each level below
adds 1 - i / b for i parts and -i / b for the others, to a mean of the factors above.  So none is
larger than 1, and squares add up along the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.certified import exp_neg
from discreet.noise import SYSTEM, Entropy
from discreet.noise.bernoulli import SIZES, CoinSizes
from discreet.noise.entropy import checked_entropy
from discreet.plan.noise_errors import error_bound
from discreet.plan.pricing.group_sensitivity import (
    LeafChoice,
    QuantileSpan,
    ScoredChoice,
    spans_of,
)
from discreet.plan.pricing.quantile_tree import QuantileTree, TreeChoice
from discreet.requests.raw_totals import Integers, SparseLeaves

_BATCH: Final = 1 << 14
_STEEPEST: Final = Fraction(1 << 200)  # from here on a gap of one is decided
_SAFE: Final = 1 << 62


def chosen_leaves(
    choice: ScoredChoice,
    sparse: SparseLeaves,
    *,
    groups: int,
    entropy: Entropy = SYSTEM,
    sizes: CoinSizes = SIZES,
) -> Integers:
    """Return the leaf that is chosen in each of so many groups.

    ``sparse`` are the leaves with rows, sorted by group and leaf.

    >>> from discreet.mechanisms import Exponential
    >>> from discreet.plan.pricing.group_sensitivity import QuantileChoice
    >>> median = QuantileChoice(
    ...     measure="age", level=Fraction(1, 2), offset=0, rows=1, groups=1, available=None,
    ...     mechanism=Exponential(candidates=100, scale=1))
    >>> one = np.array([0]), np.array([41]), np.array([1000])
    >>> chosen_leaves(median, one, groups=1).tolist()
    [41]
    """
    checked_entropy(entropy)
    if not groups:
        return np.zeros(0, np.int64)
    leaves, aside = choice.mechanism.candidates, abs(choice.offset)
    if aside:
        place = 0 if choice.offset < 0 else leaves - 1
        sparse = _with_more(sparse, place, aside, groups=groups)
    runs = _Runs.of(sparse, leaves=leaves, groups=groups)
    gaps = _gaps(runs, choice)
    unit = 1 / (choice.mechanism.scale * choice.parts)
    picked = np.empty(groups, np.int64)
    for first, last in _batches(runs.first):
        part = slice(runs.first[first], runs.first[last])
        starts = runs.first[first:last] - runs.first[first]
        batch = _Batch(runs.length[part], gaps[part], starts, unit)
        picked[first:last] = batch.chosen(entropy, sizes) + runs.first[first]
    return runs.start[picked] + _below(runs.length[picked], entropy)


def chosen_spans(
    choice: QuantileSpan,
    sparse: SparseLeaves,
    *,
    near: Integers,
    entropy: Entropy = SYSTEM,
    sizes: CoinSizes = SIZES,
) -> Integers:
    """Return how many leaves to both sides of the values of some groups their spans go.

    >>> from discreet.mechanisms import Exponential
    >>> from discreet.plan.pricing.group_sensitivity import spans_of
    >>> median = QuantileSpan(
    ...     measure="age", level=Fraction(1, 2), offset=25, rows=1, groups=1, available=None,
    ...     mechanism=Exponential(candidates=len(spans_of(100)), scale="0.1"), leaves=100)
    >>> even = np.zeros(100, np.int64), np.arange(100), np.full(100, 10)
    >>> chosen_spans(median, even, near=np.array([50])).tolist()
    [3]
    """
    checked_entropy(entropy)
    widths = np.array(spans_of(choice.leaves), np.int64)
    gaps = _span_gaps(choice, sparse, near, widths)
    picked = np.empty(near.size, np.int64)
    unit = 1 / (choice.mechanism.scale * choice.parts)
    step = max(1, _BATCH // widths.size)
    for first in range(0, near.size, step):
        some = gaps[first : first + step]
        starts = np.arange(some.shape[0]) * widths.size
        batch = _Batch(np.ones(some.size, np.int64), some.ravel(), starts, unit)
        picked[first : first + step] = batch.chosen(entropy, sizes) - starts
    return widths[picked]


def _span_gaps(
    choice: QuantileSpan, sparse: SparseLeaves, near: Integers, widths: Integers
) -> NDArray[Any]:
    """Return how far the score of each span is below the best of its group, in whole steps."""
    group, leaf, count = (np.ascontiguousarray(part, np.int64) for part in sparse)
    first = np.arange(near.size) * choice.leaves
    most = float(count.sum(dtype=np.float64)) + choice.offset
    kind = np.int64 if 2 * choice.parts * most < _SAFE else object
    total = np.concatenate([[0], np.cumsum(count.astype(kind))]).astype(kind)
    place = group * choice.leaves + leaf
    before = total[np.searchsorted(place, first)]
    rows = total[np.searchsorted(place, first + choice.leaves)] - before
    low = np.maximum(near[:, np.newaxis] - widths, 0)
    beyond = np.minimum(near[:, np.newaxis] + widths, choice.leaves - 1) + 1
    below, upto = (
        total[np.searchsorted(place, first[:, np.newaxis] + end)] - before[:, np.newaxis]
        for end in (low, beyond)
    )
    below, upto = below * choice.parts, upto * choice.parts
    rank = rows[:, np.newaxis] * (choice.parts * choice.level).numerator
    inside = (upto - below) // 3
    size = np.maximum(np.minimum(rank - below, upto - rank), inside - inside[:, :1])
    target = choice.parts * choice.offset
    misses = target - size
    misses[:, 1:-1] = choice.misses(size[:, :-2], size[:, 1:-1], rows)
    if widths.size > 1:
        misses[:, -1] = size[:, -2] - target
    gaps: NDArray[Any] = misses - misses.min(axis=1, keepdims=True)
    return gaps


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Runs of leaves: where they start, how long they are, and the rows below and up to them.

    Run number ``first[g]`` is the first one of group g.  Some have length zero.
    """

    start: Integers
    length: Integers
    below: Integers
    upto: Integers
    first: Integers

    @classmethod
    def of(cls, sparse: SparseLeaves, *, leaves: int, groups: int) -> _Runs:
        """Put a run before each leaf with rows, one on it, and one after the last of a group."""
        group, leaf, count = (np.ascontiguousarray(part, np.int64) for part in sparse)
        ends = np.searchsorted(group, np.arange(groups), side="right")
        first = np.concatenate([[0], 2 * ends + np.arange(1, groups + 1)])
        upto = np.cumsum(count)
        before_group = np.concatenate([[0], upto])[np.concatenate([[0], ends[:-1]])[group]]
        inside = upto - before_group
        gap = 2 * np.arange(group.size) + group
        opens = np.ones(group.size, np.bool_)
        opens[1:] = group[1:] != group[:-1]
        previous = np.where(opens, 0, np.concatenate([[0], leaf[:-1] + 1])[: group.size])
        start = np.zeros(first[-1], np.int64)
        stop = np.full(first[-1], leaves, np.int64)
        below, total = np.zeros_like(start), np.zeros_like(start)
        start[gap], stop[gap] = previous, leaf
        below[gap] = total[gap] = inside - count
        own = gap + 1
        start[own], stop[own], below[own], total[own] = leaf, leaf + 1, inside - count, inside
        last, filled = first[1:] - 1, ends > np.concatenate([[0], ends[:-1]])
        rest = last[filled]
        start[rest] = leaf[ends[filled] - 1] + 1
        below[rest] = total[rest] = inside[ends[filled] - 1]
        return cls(start, stop - start, below, total, first)


def _with_more(sparse: SparseLeaves, place: int, more: int, *, groups: int) -> SparseLeaves:
    """Count so many rows more in one leaf of every group; there is room for them in 64 bits."""
    group, leaf, count = (np.ascontiguousarray(part, np.int64) for part in sparse)
    there = leaf == place
    count = count + np.where(there, more, 0)
    others = np.setdiff1d(np.arange(groups), group[there], assume_unique=True)
    into = np.searchsorted(group, others, side="left" if place == 0 else "right")
    return (
        np.insert(group, into, others),
        np.insert(leaf, into, place),
        np.insert(count, into, more),
    )


def _gaps(runs: _Runs, choice: ScoredChoice) -> NDArray[Any]:
    """Return how far the score of each run is below the best of its group, in whole steps.

    Counts that could leave 64 bits are taken as integers of any size, and so is a level that could,
    however few rows there are: nothing may fail for want of rows.  Rows that are counted besides
    are there in all tables, and are not rows of the group.
    """
    sizes = np.diff(runs.first)
    rows = runs.upto[runs.first[1:] - 1] - abs(choice.offset)
    most = int(rows.max(initial=1)) + 2 * abs(choice.offset)
    kind = np.int64 if 2 * choice.parts * most < _SAFE else object
    gaps = choice.misses(
        runs.below.astype(kind), runs.upto.astype(kind), np.repeat(rows.astype(kind), sizes)
    )
    top = gaps.max()
    best = np.minimum.reduceat(np.where(runs.length > 0, gaps, top), runs.first[:-1])
    below_best: NDArray[Any] = np.maximum(gaps - np.repeat(best, sizes), 0)
    return below_best


def _batches(first: Integers) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups that hold about as many runs as fit into a batch."""
    start, groups = 0, first.size - 1
    while start < groups:
        stop = int(np.searchsorted(first, first[start] + _BATCH, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Runs of some groups: their lengths and gaps, and where each group starts.

    A run has the weight length * exp(-gap * unit).
    """

    length: Integers
    gaps: NDArray[Any]
    starts: Integers
    unit: Fraction

    @property
    def ends(self) -> Integers:
        """The last run of each group."""
        return np.append(self.starts[1:], self.length.size) - 1

    def chosen(self, entropy: Entropy, sizes: CoinSizes) -> Integers:
        """Return the run that is chosen in each group."""
        words = entropy.words(self.starts.size, sizes.word_bits)
        picked, sure = self.by_floats(words, sizes.word_bits)
        for group in np.flatnonzero(~sure).tolist():
            picked[group] = self.by_integers(group, int(words[group]), entropy, sizes)
        return picked

    def by_floats(
        self, words: NDArray[np.unsignedinteger[Any]], bits: int
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """Find the run whose share of [0, 1) contains U, and whether floats can decide."""
        starts, ends = self.starts, self.ends
        exponent = self.gaps.astype(np.float64) * float(min(self.unit, _STEEPEST))
        weight = self.length * np.exp(-exponent)
        share = weight / np.repeat(np.add.reduceat(weight, starts), ends - starts + 1)
        sums = np.concatenate([[0.0], np.cumsum(share)])
        low = words * 2.0**-bits + sums[starts]
        high = low + 2.0**-bits
        run = np.clip(np.searchsorted(sums[1:], low, side="right"), starts, ends)
        # rounding of weights and totals, of running sums of one for each group, of low and high
        radius = (2.0 * weight.size * (starts.size + 2.0) + 4096.0) * 2.0**-52
        above = (run == starts) | (low - sums[run] > radius)
        below = (run == ends) | (sums[run + 1] - high > radius)
        return run, above & below & (self.length[run] > 0)

    def by_integers(self, group: int, word: int, entropy: Entropy, sizes: CoinSizes) -> int:
        """Find the run that U selects, revealing more bits of U as long as needed."""
        bits, places = sizes.word_bits, slice(self.starts[group], self.ends[group] + 1)
        filled = self.starts[group] + np.flatnonzero(self.length[places])
        while True:
            low, high = [0], [0]
            for run in filled:
                size = int(self.length[run])
                ends = exp_neg(int(self.gaps[run]) * self.unit, bits + 64)
                low.append(low[-1] + size * ends[0])
                high.append(high[-1] + size * ends[1])
            for rank, run in enumerate(filled, start=1):
                above = rank == 1 or word * low[-1] >= high[rank - 1] << bits
                if above and (rank == filled.size or (word + 1) * high[-1] <= low[rank] << bits):
                    return int(run)
            word = word << sizes.step_bits | entropy.bits(sizes.step_bits)
            bits += sizes.step_bits


def _below(limits: Integers, entropy: Entropy) -> Integers:
    """Return a whole number below each limit, all equally likely."""
    drawn = np.zeros_like(limits)
    waiting = np.flatnonzero(limits > 1)
    width = int(limits.max(initial=1) - 1).bit_length()
    widths = np.frexp((limits - 1).astype(np.float64))[1]  # enough bits for the largest outcome
    while waiting.size:
        words = entropy.words(waiting.size, width).astype(np.int64)
        words &= (np.int64(1) << widths[waiting].astype(np.int64)) - 1
        fits = words < limits[waiting]
        drawn[waiting[fits]] = words[fits]
        waiting = waiting[~fits]
    return drawn


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
