"""Windows over groups: which of them can be answered, and how running counts are measured.

Trust: public.  Windows are computed from what is released.  A strategy is priced for what it
measures (``group-sums``); which one is taken is about accuracy.

Definition.  A window over groups looks at released numbers of all groups.  That says something
about the table only where the groups are those of the question, whatever the data is: where they
are public, and no condition on noisy numbers (HAVING) leaves some of them out.

Definition.  The *running counts* of a measure are the sums over groups that windows ask for, by
frames that keys decide, and the counts of single groups where these are asked for as well.  They
are a workload whose cells are the groups.  Its strategies are noise on every group, whose totals
are added up, and those of :mod:`discreet.plan.workload.strategies`.  The one with the smallest
predicted error is taken, of equal ones the first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from discreet.errors import UnsupportedSQL
from discreet.mechanisms import Gaussian
from discreet.plan.aggregates.counts import Count, Units
from discreet.plan.pricing.group_sensitivity import UNITS, GroupSensitivity, Noise
from discreet.plan.pricing.linear_strategy import GroupStrategy, GroupSumSensitivity, key_order
from discreet.plan.pricing.release_parts import LAPLACE, NoisyTotals, dyadic_up, root_down
from discreet.plan.setting import Setting
from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate
from discreet.plan.workload.strategies import CountWorkload, strategies_of
from discreet.query.expressions import Column, Expression, Grouped, Window, walk
from discreet.query.source_text import pointed
from discreet.requests.engine_request import PublicGroups, Total
from discreet.requests.table_schema import Product
from discreet.units import Relation

if TYPE_CHECKING:  # made by an earlier step
    from discreet.plan.aggregates.measured import MeasuredAggregates

_FEWEST: Final = 4
_MOST_GROUPS: Final = 2048
_BETTER: Final = 0.99

Keys = Sequence[tuple[Any, ...]]
"""The keys of all groups, in their order."""


def check_windows(layout: AnswerLayout, public: PublicGroups | None) -> None:
    """Refuse windows over groups that are not all shown."""
    span = layout.windows[0][1].span
    if public is None or isinstance(public, Product) or layout.having is not None:
        raise UnsupportedSQL(
            what=pointed("a window looks at groups of which some may not be shown.", span),
            why="its sums and ranks would be about the groups that noise happens to show.",
            do="make the groups public: list them with WHERE ... IN (...), or declare categories; "
            "and leave HAVING out. Or compute it from the answer, with release.map(...).",
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCounts:
    """A count, and the sums of groups that are asked of it; see :class:`GroupStrategy`."""

    measure: str
    sums: CountWorkload
    order: tuple[int, ...]
    frames: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def spread(self) -> float:
        """How many groups a sum adds up, on average."""
        return sum(map(len, self.sums.cells)) / len(self.sums.names)


def running_counts(
    setting: Setting,
    measured: MeasuredAggregates,
    estimates: Sequence[Estimate],
    layout: AnswerLayout,
) -> tuple[RunningCounts, ...]:
    """Return the running counts of a question; where errors are asked for there are none."""
    public = setting.groups.public
    if public is None or isinstance(public, Product) or not _FEWEST <= len(public) <= _MOST_GROUPS:
        return ()
    if setting.ask.errors or setting.blind or setting.limits.all_rows:
        return ()
    keys = [public[at] for at in key_order(public)]
    users: dict[str, list[str]] = {}
    for estimate in estimates:
        for name in estimate.estimator.totals():
            users.setdefault(name, []).append(estimate.slot)
    totals = {each.name: each for each in measured.measures}
    found = []
    for estimate in estimates:
        estimator, slot = estimate.estimator, estimate.slot
        if not isinstance(estimator, Count | Units) or estimate.aggregate.epsilon is not None:
            continue
        (name,) = estimator.totals()
        plain = name == UNITS or isinstance(totals.get(name), Total)
        if plain and users[name] == [slot]:
            running = _running(layout, slot, name, keys)
            found += [] if running is None else [running]
    return tuple(found)


def _running(layout: AnswerLayout, slot: str, measure: str, keys: Keys) -> RunningCounts | None:
    """Return the sums of groups that are asked of a count, if windows ask for some."""
    windows = [(name, each) for name, each in layout.windows if each.arguments == (Column(slot),)]
    summed = {name: each for name, each in windows if each.function == "SUM" and _by_keys(each)}
    if not summed or not all(_sorted_by(each) is not None for each in summed.values()):
        return None
    first, *_ = summed.values()
    order = [place for part in _partitions(first, keys) for place in part]
    cells = {place: cell for cell, place in enumerate(order)}
    frames = {name: _frames(each, keys) for name, each in summed.items()}
    rest = [each for name, each in layout.windows if name not in summed]
    shown = [each.expression for each in layout.outputs]
    shown += [each.expression for each in layout.order]
    if any(Column(slot) in walk(part) for part in (*shown, *rest)):
        frames[measure] = {place: (place,) for place in range(len(keys))}
    return _made(measure, frames, order, cells)


def _made(
    measure: str,
    frames: Mapping[str, Mapping[int, tuple[int, ...]]],
    order: Sequence[int],
    cells: Mapping[int, int],
) -> RunningCounts:
    """Name each different sum once."""
    answers: dict[tuple[int, ...], int] = {}
    places: list[tuple[str, tuple[int, ...]]] = []
    for name, listed in frames.items():
        sums = (tuple(sorted(cells[at] for at in listed[place])) for place in range(len(order)))
        places.append((name, tuple(answers.setdefault(each, len(answers)) for each in sums)))
    inside: list[list[int]] = [[] for _ in order]
    for answer, held in enumerate(answers):
        for cell in held:
            inside[cell].append(answer)
    names = tuple(f"{measure}/{answer}" for answer in range(len(answers)))
    workload = CountWorkload(measure=measure, names=names, cells=tuple(map(tuple, inside)))
    return RunningCounts(measure=measure, sums=workload, order=tuple(order), frames=tuple(places))


def _by_keys(window: Window) -> bool:
    """Whether no released number decides which groups are in a frame."""
    decided = window.children()[len(window.arguments) :]
    return not any(isinstance(node, Column) for part in decided for node in walk(part))


def _sorted_by(window: Window) -> list[tuple[int, bool, bool]] | None:
    """Return the keys by which a window sorts, if it does so by keys as they are."""
    found = []
    whole: tuple[Expression, ...] = window.partition
    if not all(isinstance(part, Grouped) for part in whole):
        return None
    for item in window.order:
        if not isinstance(item.expression, Grouped):
            return None
        found.append((item.expression.at, item.descending, item.nulls_first))
    return found


def _partitions(window: Window, keys: Keys) -> Iterator[list[int]]:
    """Yield the places of the groups of each partition, sorted."""
    places = list(range(len(keys)))
    for at, descending, nulls_first in reversed(_sorted_by(window) or []):
        missing = [place for place in places if keys[place][at] is None]
        there = [place for place in places if keys[place][at] is not None]
        there.sort(key=lambda place: keys[place][at], reverse=descending)
        places = missing + there if nulls_first else there + missing
    apart: dict[tuple[Any, ...], list[int]] = {}
    for place in places:
        apart.setdefault(_values(window.partition, keys[place]), []).append(place)
    yield from apart.values()


def _frames(window: Window, keys: Keys) -> dict[int, tuple[int, ...]]:
    """Return for the place of each group those of its frame."""
    found: dict[int, tuple[int, ...]] = {}
    by = [item.expression for item in window.order]
    for places in _partitions(window, keys):
        upto = 0
        for _, peers in itertools.groupby(places, key=lambda place: _values(by, keys[place])):
            listed = list(peers)
            upto += len(listed)
            found |= dict.fromkeys(listed, tuple(places[:upto]))
    return found


def _values(parts: Sequence[Expression], group: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(group[part.at] for part in parts if isinstance(part, Grouped))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPart(NoisyTotals):
    """A count and its running sums, by the strategy that errs least; each law has its own."""

    running: RunningCounts
    alone: GroupSensitivity

    @classmethod
    def of(cls, running: RunningCounts, alone: GroupSensitivity, relation: Relation) -> RunningPart:
        """Choose the strategy for Laplace noise first."""
        far = chosen_sums(running, alone, relation, squared=False)
        return cls(measure=running.measure, distances=far, running=running, alone=alone)

    def factor(self) -> Fraction:
        """Return about by what a sum multiplies the noise."""
        sums = self.distances.group_strategy
        return Fraction(math.sqrt(self.running.spread if sums is None else sums.cells.spread))

    def within_rho(self, rho: Fraction, relation: Relation, law: str) -> Noise:
        """Return noise for a share of rho."""
        if law == LAPLACE:
            return self.within_epsilon(root_down(2 * rho), relation)
        far = chosen_sums(self.running, self.alone, relation, squared=True)
        variance = dyadic_up(far.moved_squared(relation) / (2 * rho))
        return Noise(measure=self.measure, mechanism=Gaussian(variance=variance), distances=far)


@functools.lru_cache(maxsize=64)
def chosen_sums(
    running: RunningCounts, alone: GroupSensitivity, relation: Relation, *, squared: bool
) -> GroupSensitivity:
    """Return the distances of the strategy with the smallest predicted error, by one norm."""
    best, first = alone, _error(alone, running.spread, relation, squared=squared)
    least = first
    for cells in strategies_of(running.sums):
        sums = GroupStrategy(cells=cells, order=running.order, frames=running.frames)
        far = GroupSumSensitivity(
            low=alone.low,
            high=alone.high,
            groups=alone.groups,
            available=alone.available,
            sums=sums,
        )
        error = _error(far, cells.spread, relation, squared=squared)
        if error < _BETTER * least:
            best, least = far, error
    if not isinstance(best, GroupSumSensitivity):
        return best
    cells = best.sums.cells
    words = f"{cells.words} ({least / first:.2g} times the error of adding up groups)"
    return replace(best, sums=replace(best.sums, cells=replace(cells, words=words)))


def _error(far: GroupSensitivity, spread: float, relation: Relation, *, squared: bool) -> float:
    """Return the root mean square of the noise of all sums, at a price of one."""
    moved = far.moved_squared(relation) if squared else far.moved(relation) ** 2
    return math.sqrt(moved * spread)
