"""Strategies for workloads of cells: which noisy sums are drawn, and by which weights.

Trust: public.  Every strategy is priced for what it measures (``linear-strategy``); which one is
taken is about accuracy.

Definition.  A *workload* is a list of answers, each a sum of one value over some cells; a count is
a sum of ones.  Its strategies, for each value by itself, are those of the matrix mechanism (Li,
Miklau, Hay, McGregor and Rastogi 2015; McKenna, Miklau, Hay and Machanavajjhala 2018) that measure
sums of cells:

    by itself     every answer is a sum of its own, and all of them are priced together
    histogram     every cell is a sum, and every answer adds up its cells
    hierarchy     blocks of b**l neighboring cells are sums, for all l, cells among them; an answer
                  adds up the largest blocks inside of it, or takes what is outside from a block
                  if these are fewer; sums that no answer needs are left out
    factorization  for answers up to thresholds, the lower triangular Toeplitz matrix with the
                  coefficients C(2k, k) / 4**k of (1 - x)**(-1/2), rounded to sixteenths: nearly
                  the best there is for Gaussian noise (:mod:`discreet.continual.factorized`)

Of several values those are tried that take each by itself, all by histograms, and for each value
the one that errs least alone.  Sums of different values are multiplied by whole numbers, so that
one row moves each of them by about as much, and all get the same noise: every answer errs by about
the same share of what one row can add to it.

The *predicted error* of a strategy is the root of the mean over answers of the variance of their
noise, which is in proportion to the squared distance that one unit moves all sums, in L1 for
Laplace noise and in L2 for Gaussian noise, times the sum of the squared weights of an answer.
The strategy with the smallest predicted error is taken, of equal ones the first; cells stand in the
order of the values that conditions compare, so that counts up to a threshold are made of neighbors.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.mechanisms import Gaussian
from discreet.plan.pricing.group_sensitivity import GroupSensitivity, Noise
from discreet.plan.pricing.linear_strategy import (
    CELL_ROWS,
    CellSensitivity,
    CellSource,
    CellStrategy,
    CellValue,
    Weights,
)
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
_FINE: Final = 16

_Terms = list[tuple[int, int]]
"""Blocks, and their signs."""


Candidate = tuple[GroupSensitivity, float]
"""What a unit moves by a strategy, and the mean of the squared weights of its answers."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The names of answers, the value that each adds up, and the answers of each cell.

    ``kinds`` has the place of a value for each name; without any all add up the first.  A unit
    counts with at most ``rows`` rows in a group.

    >>> thresholds = Workload(measure="cells", names=("low", "all"), cells=((0, 1), (1,)), rows=1)
    >>> [strategy.sums for strategy in thresholds.strategies()]
    [((0,), (0, 1)), ((0,), (1,))]
    """

    measure: str
    names: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]
    rows: int
    values: tuple[CellValue, ...] = (CellValue(measure="cells"),)
    kinds: tuple[int, ...] = ()
    source: CellSource = CELL_ROWS

    def __hash__(self) -> int:
        """Do not look at all cells: there may be a million places in them."""
        return hash((self.measure, self.names, len(self.cells), self.values))

    def strategies(self) -> tuple[CellStrategy, ...]:
        """Return all strategies, every answer by itself first."""
        return _strategies(self)

    def candidates(self, groups: int, available: int | None) -> tuple[Candidate, ...]:
        """Return what a unit in so many groups moves by each of them."""
        return tuple(
            (
                CellSensitivity(
                    low=0, high=self.rows, groups=groups, available=available, cells=each
                ),
                each.spread,
            )
            for each in self.strategies()
        )

    def inside(self, kind: int) -> tuple[tuple[str, ...], tuple[int, ...], list[tuple[int, ...]]]:
        """Return the answers of one value, its cells, and the places of the answers of each."""
        if not any(self.kinds):
            return self.names, tuple(range(len(self.cells))), list(self.cells)
        chosen = [at for at, each in enumerate(self.kinds) if each == kind]
        places = {at: index for index, at in enumerate(chosen)}
        held = [tuple(places[at] for at in cell if at in places) for cell in self.cells]
        cells = tuple(at for at, cell in enumerate(held) if cell)
        return tuple(self.names[at] for at in chosen), cells, [held[at] for at in cells]

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
def _strategies(workload: Workload) -> tuple[CellStrategy, ...]:
    parts = []
    for place in range(len(workload.values)):
        names, cells, held = workload.inside(place)
        found = _alone(names, held)
        parts.append([_Part(place, cells, each) for each in found])
    if len(parts) == 1:
        return tuple(_joined(workload, [each]) for each in parts[0])
    first = [some[0] for some in parts]
    single = [next((each for each in some if each.histogram), some[0]) for some in parts]
    best = [min(some, key=lambda part: part.error) for some in parts]
    candidates = {tuple(part.words for part in each): each for each in (first, single, best)}
    return tuple(_joined(workload, each) for each in candidates.values())


def _alone(names: Sequence[str], held: Sequence[tuple[int, ...]]) -> list[CellStrategy]:
    """Return the strategies of the answers of one value."""
    size, inside = len(held), _inside(held, len(names))
    itself = [((place, 1),) for place in range(len(inside))]
    sums = [tuple(cells) for cells in inside]
    found = [_strategy(names, size, "each by itself", sums, itself)]
    root = _root(names, size, inside)
    if root is not None:
        found.append(root)
    for arity in _arities(size, len(inside)):
        tree = _Tree(size, arity)
        parts = [tree.parts(cells) for cells in inside]
        words = f"as a hierarchy of blocks of {arity}"
        found.append(_strategy(names, size, words, tree.blocks, parts))
    if not _hopeless(sums, found):
        found.insert(1, _histogram(names, size, inside))
    return found


def _histogram(names: Sequence[str], size: int, inside: Sequence[Sequence[int]]) -> CellStrategy:
    once = [(cell, 1) for cell in range(size)]
    added = [tuple(once[cell] for cell in cells) for cells in inside]
    single = [(cell,) for cell, _ in once]
    return _strategy(names, size, "as one histogram whose cells are added up", single, added)


def _inside(held: Sequence[tuple[int, ...]], answers: int) -> list[list[int]]:
    """Return the cells of each answer."""
    counts = np.fromiter(itertools.chain.from_iterable(held), np.int64)
    cells = np.repeat(np.arange(len(held)), [len(each) for each in held])
    cells = cells[np.argsort(counts, kind="stable")]
    ends = np.cumsum(np.bincount(counts, minlength=answers))
    return [part.tolist() for part in np.split(cells, ends[:-1])]


def _hopeless(sums: Sequence[tuple[int, ...]], others: Sequence[CellStrategy]) -> bool:
    """Whether a long histogram, of spread s and columns of length 1, errs more than another."""
    terms = sum(map(len, sums))
    spread = _CLEARLY * terms / len(sums)
    return terms > _LONG and any(
        max(each.lengths[0] ** 2, each.lengths[1]) * each.spread < spread for each in others
    )


def _root(names: Sequence[str], size: int, inside: Sequence[Sequence[int]]) -> CellStrategy | None:
    """Return the factorization of answers each of which has one cell more than the one before."""
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
            for count, name in enumerate(names)
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
    names: Sequence[str],
    size: int,
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
        cells=size,
        sums=tuple(sums[place] for place in used),
        answers=tuple(
            (name, tuple(sorted(weights))) for name, weights in zip(names, answers, strict=True)
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
class StrategyPart(NoisyTotals):
    """Totals that are measured together, by the strategy that errs least; each law has its own.

    ``distances`` are those of the strategy for Laplace noise, and ``apart`` says what the first of
    the candidates is.
    """

    candidates: tuple[Candidate, ...]
    apart: str

    @classmethod
    def of(
        cls, measure: str, candidates: tuple[Candidate, ...], relation: Relation, apart: str
    ) -> StrategyPart:
        """Choose the strategy for Laplace noise first."""
        far = best_strategy(candidates, relation, apart, squared=False)
        return cls(measure=measure, distances=far, candidates=candidates, apart=apart)

    def factors(self) -> dict[str, Fraction]:
        """Return about by what each answer multiplies the noise of one sum."""
        far, strategy = self.distances, self.distances.strategy
        if strategy is None or strategy.source.frames:
            spread = self.candidates[0][1]
            if strategy is not None:
                spread = strategy.spread * strategy.values[0].most ** 2
            elif isinstance(far, CellSensitivity):
                spread = far.cells.spread
            return {self.measure: Fraction(math.sqrt(spread))}
        return {
            name: Fraction(math.sqrt(sum(float(weight) ** 2 for _, weight in weights)))
            for name, weights in strategy.answers
        }

    def gaussian_error(self, relation: Relation) -> float:
        """Return the deviation of a column at rho = 1/2, over what :meth:`factors` says of it."""
        errors = [
            best_error(self.candidates, relation, squared=squared) for squared in (True, False)
        ]
        return errors[0] / errors[1] * self.distances.moved(relation)

    def within_rho(self, rho: Fraction, relation: Relation, law: str) -> Noise:
        """Return noise for a share of rho."""
        if law == LAPLACE:
            return self.within_epsilon(root_down(2 * rho), relation)
        far = best_strategy(self.candidates, relation, self.apart, squared=True)
        variance = dyadic_up(far.moved_squared(relation) / (2 * rho))
        return Noise(measure=self.measure, mechanism=Gaussian(variance=variance), distances=far)


@functools.lru_cache(maxsize=256)
def best_strategy(
    candidates: tuple[Candidate, ...], relation: Relation, apart: str, *, squared: bool
) -> GroupSensitivity:
    """Return the distances of the strategy with the smallest predicted error, by one norm."""
    errors = [predicted_error(each, relation, squared=squared) for each in candidates]
    best = 0
    for at, error in enumerate(errors):
        if error < _BETTER * errors[best]:
            best = at
    far = candidates[best][0]
    if not isinstance(far, CellSensitivity):
        return far
    if len(candidates) == 1:
        return far
    why = (
        f"{errors[best] / errors[0]:.2g} times the error of {apart}" if best else "which errs least"
    )
    return replace(far, cells=far.cells.called(f"{far.cells.words} ({why})"))


def best_error(candidates: tuple[Candidate, ...], relation: Relation, *, squared: bool) -> float:
    """Return the smallest predicted error, by one norm."""
    return min(predicted_error(each, relation, squared=squared) for each in candidates)


def predicted_error(candidate: Candidate, relation: Relation, *, squared: bool) -> float:
    """Return the root mean square of the noise of all answers, at a price of one.

    >>> counts = Workload(measure="cells", names=("a", "b"), cells=((0,), (1,)), rows=1)
    >>> predicted_error(counts.candidates(1, 1)[0], Relation.ADD_REMOVE, squared=False)
    1.0
    """
    far, spread = candidate
    moved = far.moved_squared(relation) if squared else far.moved(relation) ** 2
    return math.sqrt(moved * spread)


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


def _joined(workload: Workload, parts: Sequence[_Part]) -> CellStrategy:
    """Return strategies of all values as one, with sums that rows move by about as much."""
    size, (value, *others) = len(workload.cells), workload.values
    if not others and value.step == 1:  # there is nothing to join
        (alone,) = (part.strategy for part in parts)
        unit = value.most * alone.unit
        return replace(alone, values=workload.values, source=workload.source, unit=unit)
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
        source=workload.source,
    )


def _words(parts: Iterable[str]) -> str:
    different = list(dict.fromkeys(parts))
    return different[0] if len(different) == 1 else " and ".join(different)
