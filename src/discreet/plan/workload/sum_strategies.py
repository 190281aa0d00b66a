"""Strategies for sums and counts that are measured together, and what each row moves in them.

Trust: public.  Every strategy is priced for what it measures (``joint-sums``); which one is taken
is about accuracy.

Definition.  A *workload of sums* is a list of answers, each a sum of one value over some cells; a
count is a sum of ones.  Its strategies are, for each value by itself, those of a workload of
counts (:mod:`discreet.plan.workload.strategies`): all values by themselves, all by histograms,
and for each value the one that errs least alone.  Sums of different values are multiplied by whole
numbers, so that one row moves each of them by about as much, and all get the same noise.  So every
answer errs by about the same share of what one row can add to it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.plan.pricing.cell_strategy import CellStrategy, Weights
from discreet.plan.pricing.joint_norms import CellValue
from discreet.plan.workload.strategies import CountWorkload, strategies_of

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
