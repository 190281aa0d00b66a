"""Strategies for counts and sums of cells: which noisy sums are drawn, and by which weights.

Trust: public.  Every strategy is priced for what it measures (``cell-sums``); which one is taken is
about accuracy.

Definition.  A *workload* is a list of counts, each a sum of cells.  Its strategies are those of the
matrix mechanism (Li, Miklau, Hay, McGregor and Rastogi 2015; McKenna, Miklau, Hay and
Machanavajjhala 2018) that measure sums of cells:

    by itself     every count is a sum of its own, and all of them are priced together
    histogram     every cell is a sum, and every count adds up its cells
    hierarchy     blocks of b**l neighboring cells are sums, for all l, cells among them; a count
                  adds up the largest blocks inside of it, or takes what is outside from a block
                  where these are fewer; sums that no count needs are left out

    factorization  for counts up to thresholds, the lower triangular Toeplitz matrix with the
                  coefficients C(2k, k) / 4**k of (1 - x)**(-1/2), rounded to sixteenths: nearly
                  the best there is for Gaussian noise (:mod:`discreet.continual.factorized`)

The *predicted error* of a strategy is the root of the mean over counts of the variance of their
noise, which is in proportion to the squared distance that one unit moves all sums, in L1 for
Laplace noise and in L2 for Gaussian noise, times the sum of the squared weights of a count.
The strategy with the smallest predicted error is taken, of equal ones the first; cells stand in the
order of the values that conditions compare, so that counts up to a threshold are made of neighbors.

Definition.  A *workload of sums* is a list of answers, each a sum of one value over some cells; a
count is a sum of ones.  Its strategies are, for each value by itself, those of a workload of
counts (:mod:`discreet.plan.workload.strategies`): all values by themselves, all by histograms,
and for each value the one that errs least alone.  Sums of different values are multiplied by whole
numbers, so that one row moves each of them by about as much, and all get the same noise.  So every
answer errs by about the same share of what one row can add to it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Protocol, final

import numpy as np

from discreet.mechanisms import Gaussian
from discreet.plan.pricing.group_sensitivity import Noise
from discreet.plan.pricing.linear_strategy import CellSensitivity, CellStrategy, CellValue, Weights
from discreet.plan.pricing.release_parts import LAPLACE, NoisyTotals, dyadic_up, root_down
from discreet.units import Relation

_ARITIES: Final = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)
_FEWEST: Final = 4
_LONGEST: Final = 64
_UNIT: Final = 16
_MOST_WORK: Final = 1 << 21
_BETTER: Final = 0.999
_CLEARLY: Final = 0.99
_LONG: Final = 1 << 16

_Terms = list[tuple[int, int]]
"""Blocks, and their signs."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CountWorkload:
    """The names of counts, and for each cell of a histogram the places of those that it is part of.

    ``nested`` says that cells are differences of the counts themselves, each a part of the next.

    >>> thresholds = CountWorkload(measure="cells", names=("low", "all"), cells=((0, 1), (1,)))
    >>> [strategy.sums for strategy in strategies_of(thresholds)]
    [((0,), (0, 1)), ((0,), (1,))]
    """

    measure: str
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    nested: bool = False

    def __hash__(self) -> int:
        """Do not look at all cells: there may be a million places in them."""
        return hash((self.measure, self.names, len(self.cells)))

    def strategies(self) -> tuple[CellStrategy, ...]:
        """Return all strategies, every count by itself first."""
        return strategies_of(self)


class CellWorkload(Protocol):
    """What can be measured in cells by several strategies."""

    def __hash__(self) -> int:
        """Find it among those whose strategies are known."""
        ...

    @property
    def measure(self) -> str:
        """The name of what is released."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the answers."""
        ...

    def strategies(self) -> tuple[CellStrategy, ...]:
        """Return all strategies, every answer by itself first."""
        ...


@functools.lru_cache(maxsize=64)
def strategies_of(workload: CountWorkload) -> tuple[CellStrategy, ...]:
    """Return all strategies for a workload, every count by itself first."""
    size = len(workload.cells)
    inside = _inside(workload)
    itself = [((place, 1),) for place in range(len(inside))]
    sums = [tuple(cells) for cells in inside]
    found = [_strategy(workload, "each by itself", sums, itself)]
    if workload.nested:
        found.append(_histogram(workload, inside))
        return tuple(replace(strategy, nested=workload.names) for strategy in found)
    root = _root(workload, inside)
    if root is not None:
        found.append(root)
    for arity in _arities(size, len(inside)):
        tree = _Tree(size, arity)
        parts = [tree.parts(cells) for cells in inside]
        words = f"as a hierarchy of blocks of {arity}"
        found.append(_strategy(workload, words, tree.blocks, parts))
    if not _hopeless(sums, found):
        found.insert(1, _histogram(workload, inside))
    return tuple(found)


def _histogram(workload: CountWorkload, inside: Sequence[Sequence[int]]) -> CellStrategy:
    once = [(cell, 1) for cell in range(len(workload.cells))]
    added = [tuple(once[cell] for cell in cells) for cells in inside]
    single = [(cell,) for cell, _ in once]
    return _strategy(workload, "as one histogram whose cells are added up", single, added)


def _inside(workload: CountWorkload) -> list[list[int]]:
    """Return the cells of each count."""
    counts = np.fromiter(itertools.chain.from_iterable(workload.cells), np.int64)
    cells = np.repeat(np.arange(len(workload.cells)), [len(each) for each in workload.cells])
    cells = cells[np.argsort(counts, kind="stable")]
    ends = np.cumsum(np.bincount(counts, minlength=len(workload.names)))
    return [part.tolist() for part in np.split(cells, ends[:-1])]


def _hopeless(sums: Sequence[tuple[int, ...]], others: Sequence[CellStrategy]) -> bool:
    """Whether a long histogram, of spread s and columns of length 1, errs more than another."""
    terms = sum(map(len, sums))
    spread = _CLEARLY * terms / len(sums)
    return terms > _LONG and any(
        max(each.lengths[0] ** 2, each.lengths[1]) * each.spread < spread for each in others
    )


def _root(workload: CountWorkload, inside: Sequence[Sequence[int]]) -> CellStrategy | None:
    """Return the factorization of counts each of which has one cell more than the one before."""
    size = len(workload.cells)
    order = sorted(range(len(inside)), key=lambda count: len(inside[count]))
    steps = all(inside[count] == [*range(at + 1)] for at, count in enumerate(order))
    if not steps or not _FEWEST <= size <= _LONGEST or len(order) != size:
        return None
    column, central = [], 1
    for k in range(size):
        column.append((2 * (central * _UNIT) + 4**k) // (2 * 4**k))
        central = central * 2 * (2 * k + 1) // (k + 1)
    undo: list[Fraction] = []  # of the column times all ones: B times this is one everywhere
    for k in range(size):
        rest = sum((column[j] * undo[k - j] for j in range(1, k + 1)), Fraction(0))
        undo.append((1 - rest) / column[0])
    places = {count: at for at, count in enumerate(order)}
    return CellStrategy(
        words="as a factorization close to the root of all prefix sums",
        cells=size,
        sums=tuple(tuple(range(row + 1)) for row in range(size)),
        factors=tuple(tuple(column[row::-1]) for row in range(size)),
        answers=tuple(
            (name, tuple((at, undo[places[count] - at]) for at in range(places[count] + 1)))
            for count, name in enumerate(workload.names)
        ),
        unit=_UNIT,
    )


def _arities(cells: int, counts: int) -> list[int]:
    """Return the numbers of branches to try; of very many cells the one near their root."""
    if cells < _FEWEST:
        return []
    arities = [arity for arity in _ARITIES if arity < cells]
    if len(arities) * cells * counts <= _MOST_WORK:
        return arities
    return [min(arities, key=lambda arity: abs(arity - math.isqrt(cells)))]


def _strategy(
    workload: CountWorkload,
    words: str,
    sums: Sequence[tuple[int, ...]],
    answers: Sequence[Weights],
) -> CellStrategy:
    """Return a strategy without the sums that no answer needs."""
    used = sorted({place for weights in answers for place, _ in weights})
    if len(used) < len(sums):
        places = {place: index for index, place in enumerate(used)}
        answers = [
            tuple((places[place], weight) for place, weight in weights) for weights in answers
        ]
    return CellStrategy(
        words=words,
        cells=len(workload.cells),
        sums=tuple(sums[place] for place in used),
        answers=tuple(
            (name, tuple(sorted(weights)))
            for name, weights in zip(workload.names, answers, strict=True)
        ),
    )


@final
class _Tree:
    """Blocks of neighboring cells, of all sizes that are powers of the arity, without the root."""

    def __init__(self, cells: int, arity: int) -> None:
        """List the blocks, small ones first."""
        self.blocks: list[tuple[int, ...]] = [(cell,) for cell in range(cells)]
        self._levels: list[list[int]] = [list(range(cells))]
        self._widths = [1]
        self._arity = arity
        width = arity
        while width < cells:
            starts = range(0, cells, width)
            first = len(self.blocks)
            self.blocks += [tuple(range(at, min(at + width, cells))) for at in starts]
            self._levels.append(list(range(first, len(self.blocks))))
            self._widths.append(width)
            width *= arity

    def parts(self, cells: Sequence[int]) -> Weights:
        """Return some cells as few blocks, with signs; most blocks hold all of them or none."""
        held = np.zeros(len(self._levels[0]) + 1, np.int64)
        held[np.asarray(cells, np.int64) + 1] = 1
        upto = np.cumsum(held).tolist()
        top = len(self._levels) - 1
        return tuple(self._divided(top, range(len(self._levels[top])), upto)[0])

    def _divided(
        self, level: int, indices: Iterable[int], upto: Sequence[int]
    ) -> tuple[_Terms, _Terms]:
        """Return what is held of blocks, and what is not, given how many cells before each are."""
        here: _Terms = []
        there: _Terms = []
        width, blocks, last = self._widths[level], self._levels[level], len(upto) - 1
        for index in indices:
            start = index * width
            end = start + width
            held = upto[min(end, last)] - upto[start]
            if held == 0 or held == min(end, last) - start:
                whole = blocks[index] if end <= last else self._whole(level, index, last - start)
                (here if held else there).append((whole, 1))
                continue
            first = index * self._arity
            below = range(first, min(first + self._arity, len(self._levels[level - 1])))
            inside, outside = self._divided(level - 1, below, upto)
            block = blocks[index]  # itself, less what is not wanted, may be fewer terms
            here += _fewer(block, inside, outside)
            there += _fewer(block, outside, inside)
        return here, there

    def _whole(self, level: int, index: int, size: int) -> int:
        """Return the smallest block with the same cells: the last one of a level may be short."""
        while level and size <= self._arity ** (level - 1):
            level, index = level - 1, index * self._arity
        return self._levels[level][index]


def _fewer(block: int, wanted: _Terms, others: _Terms) -> _Terms:
    """Return what is wanted of a block, or the block less the others."""
    if not wanted or len(wanted) <= 1 + len(others):
        return wanted
    return [(block, 1), *((place, -weight) for place, weight in others)]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPart(NoisyTotals):
    """All counts of a workload, by the strategy that errs least; each law of noise has its own.

    A unit counts with at most ``rows`` rows in a group.  ``distances`` are those of the strategy
    for Laplace noise.
    """

    workload: CellWorkload

    @classmethod
    def of(
        cls,
        workload: CellWorkload,
        *,
        rows: int,
        groups: int,
        available: int | None,
        relation: Relation,
    ) -> WorkloadPart:
        """Choose the strategy for Laplace noise first."""
        first = workload.strategies()[0]
        far = CellSensitivity(low=0, high=rows, groups=groups, available=available, cells=first)
        return cls(
            measure=workload.measure,
            distances=chosen_strategy(workload, far, relation, squared=False),
            workload=workload,
        )

    def factors(self) -> dict[str, Fraction]:
        """Return about by what each count multiplies the noise of one sum."""
        strategy = self.distances.strategy
        assert strategy is not None  # noqa: S101 (of cells)
        return {
            name: Fraction(math.sqrt(sum(float(weight) ** 2 for _, weight in weights)))
            for name, weights in strategy.answers
        }

    def within_rho(self, rho: Fraction, relation: Relation, law: str) -> Noise:
        """Return noise for a share of rho."""
        if law == LAPLACE:
            return self.within_epsilon(root_down(2 * rho), relation)
        far = self.distances
        assert isinstance(far, CellSensitivity)  # noqa: S101 (made above)
        far = chosen_strategy(self.workload, far, relation, squared=True)
        variance = dyadic_up(far.moved_squared(relation) / (2 * rho))
        return Noise(measure=self.measure, mechanism=Gaussian(variance=variance), distances=far)


@functools.lru_cache(maxsize=256)
def chosen_strategy(
    workload: CellWorkload, far: CellSensitivity, relation: Relation, *, squared: bool
) -> CellSensitivity:
    """Return the distances of the strategy with the smallest predicted error, by one norm."""
    best, least, first = far, math.inf, 0.0
    for strategy in workload.strategies():
        moved = replace(far, cells=strategy)
        error = predicted_error(moved, relation, squared=squared)
        first = first or error
        if error < _BETTER * least:
            best, least = moved, error
    why = "which errs least"
    if least < first:
        why = f"{least / first:.2g} times the error of each by itself"
    words = f"{best.cells.words} ({why})"
    return replace(best, cells=replace(best.cells, words=words))


def predicted_error(far: CellSensitivity, relation: Relation, *, squared: bool) -> float:
    """Return the root mean square of the noise of all counts, at a price of one.

    >>> counts = CountWorkload(measure="cells", names=("a", "b"), cells=((0,), (1,)))
    >>> far = CellSensitivity(low=0, high=1, groups=1, available=1, cells=strategies_of(counts)[0])
    >>> predicted_error(far, Relation.ADD_REMOVE, squared=False)
    1.0
    """
    moved = far.moved_squared(relation) if squared else far.moved(relation) ** 2
    return math.sqrt(moved * far.cells.spread)


_FINE: Final = 16
_MOST_CELLS: Final = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumWorkload:
    """The names of sums and counts, the value that each adds up, and the answers of each cell.

    ``kinds`` has the place of a value for each name.  A unit counts with at most ``rows`` rows.

    >>> both = SumWorkload(measure="cells", names=("old", "young"), cells=((0,), (1,)),
    ...     values=(CellValue(measure="pay", low=0, high=9),), kinds=(0, 0), rows=1)
    >>> both.strategies()[0].lengths
    (9, 81)
    """

    measure: str
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    values: tuple[CellValue, ...]
    kinds: tuple[int, ...]
    rows: int

    def __hash__(self) -> int:
        """Do not look at all cells: there may be a million places in them."""
        return hash((self.measure, self.names, len(self.cells), self.values))

    def strategies(self) -> tuple[CellStrategy, ...]:
        """Return all strategies, every answer by itself first."""
        return _strategies(self)

    @property
    def multiples(self) -> tuple[int, ...]:
        """By what the sums of each value are multiplied."""
        most = [value.most for value in self.values]
        largest = max(most)
        fine = 1 if all(largest % each == 0 for each in most) else _FINE
        found = [fine * largest // each for each in most]
        common = math.gcd(*found)
        return tuple(each // common for each in found)


@functools.lru_cache(maxsize=64)
def _strategies(workload: SumWorkload) -> tuple[CellStrategy, ...]:
    parts = [_alone(workload, place) for place in range(len(workload.values))]
    if len(parts) == 1:
        return tuple(_joined(workload, [each]) for each in parts[0])
    first = [some[0] for some in parts]
    single = [next((each for each in some if each.histogram), some[0]) for some in parts]
    best = [min(some, key=lambda part: part.error) for some in parts]
    candidates = {tuple(part.words for part in each): each for each in (first, single, best)}
    return tuple(_joined(workload, each) for each in candidates.values())


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """A strategy for the answers of one value, over the cells that they need."""

    place: int
    inside: tuple[int, ...]
    strategy: CellStrategy

    @property
    def words(self) -> str:
        return self.strategy.words

    @property
    def histogram(self) -> bool:
        return all(len(cells) == 1 for cells in self.strategy.sums)

    @property
    def error(self) -> float:
        """The predicted error alone, by the norm that favors it less."""
        first, second = self.strategy.lengths
        return max(first**2, second) * self.strategy.spread


def _alone(workload: SumWorkload, place: int) -> list[_Part]:
    """Return the strategies of the answers of one value."""
    chosen = [at for at, kind in enumerate(workload.kinds) if kind == place]
    places = {at: index for index, at in enumerate(chosen)}
    held = [tuple(places[at] for at in cell if at in places) for cell in workload.cells]
    inside = tuple(at for at, cell in enumerate(held) if cell)
    counts = CountWorkload(
        measure=workload.measure,
        names=tuple(workload.names[at] for at in chosen),
        cells=tuple(held[at] for at in inside),
    )
    few = len(workload.cells) <= _MOST_CELLS
    return [
        _Part(place, inside, strategy)
        for strategy in strategies_of(counts)
        if few or not strategy.factors
    ]


def _joined(workload: SumWorkload, parts: Sequence[_Part]) -> CellStrategy:
    """Return strategies of all values as one, with sums that rows move by about as much."""
    size = len(workload.cells)
    sums: list[tuple[int, ...]] = []
    factors: list[tuple[int, ...]] = []
    answers: dict[str, Weights] = {}
    scales: list[int] = []
    for part, multiple in zip(parts, workload.multiples, strict=True):
        strategy, first = part.strategy, len(sums)
        for cells, entries in strategy.terms():
            sums.append(tuple(part.place * size + part.inside[cell] for cell in cells))
            factors.append(tuple(multiple * entry for entry in entries))
        value = workload.values[part.place]
        scale = multiple * value.step
        scales.append(value.most * multiple * strategy.unit)
        for name, weights in strategy.answers:
            answers[name] = tuple(
                (first + at, weight if scale == 1 else Fraction(weight) / scale)
                for at, weight in weights
            )
    plain = all(entry == 1 for entries in factors for entry in entries)
    return CellStrategy(
        words=_words(part.words for part in parts),
        cells=size,
        sums=tuple(sums),
        answers=tuple((name, answers[name]) for name in workload.names),
        factors=() if plain else tuple(factors),
        unit=max(scales),
        values=workload.values,
    )


def _words(parts: Iterable[str]) -> str:
    different = list(dict.fromkeys(parts))
    return different[0] if len(different) == 1 else " and ".join(different)
