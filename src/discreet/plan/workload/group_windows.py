"""Windows over groups: which of them can be answered, and how running counts are measured.

Trust: public.  Windows are computed from what is released.  A strategy is priced for what it
measures (``linear-strategy``); which one is taken is about accuracy.

Definition.  A window over groups looks at released numbers of all groups.  That says something
about the table only if the groups are those of the question, regardless of the data: if they
are public, and no condition on noisy numbers (HAVING) leaves some of them out.

Definition.  The *running counts* of a measure are the sums over groups that windows ask for, by
frames that keys decide, and the counts of single groups if these are asked for as well.  They
are a workload whose cells are the groups.  Its strategies are noise on every group, whose totals
are added up, and those of :mod:`discreet.plan.workload.strategies`.  The one with the smallest
predicted error is taken, of equal ones the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

from discreet.errors import UnsupportedSQL
from discreet.plan.pricing.group_sensitivity import UNITS, GroupSensitivity
from discreet.plan.pricing.linear_strategy import CellSensitivity, CellValue, GroupTotals, key_order
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.statistics.answer_layout import AnswerLayout, Estimate
from discreet.plan.workload.strategies import Candidate, Workload
from discreet.query.expressions import Column, Expression, Grouped, Window, walk
from discreet.query.source_text import pointed
from discreet.requests.engine_request import PublicGroups, Total
from discreet.requests.table_schema import Product

_FEWEST: Final = 4
_MOST_GROUPS: Final = 2048

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
    """A count, and the sums of groups that are asked of it."""

    measure: str
    sums: Workload
    first: str = "adding up groups"

    def candidates(self, alone: GroupSensitivity) -> tuple[Candidate, ...]:
        """Return what a unit moves in all groups, and in sums of them."""
        low, high = min(alone.low, 0), max(alone.high, 0)
        value = CellValue(measure=self.measure, low=low, high=high)
        spread = sum(map(len, self.sums.cells)) / len(self.sums.names)
        sums = (
            (
                CellSensitivity(
                    low=0,
                    high=alone.groups,
                    groups=1,
                    available=1,
                    cells=replace(each, values=(value,)),
                ),
                each.spread,
            )
            for each in self.sums.strategies()
        )
        return (alone, spread), *sums


def running_counts(
    setting: Setting,
    measured: MeasuredAggregates,
    estimates: Sequence[Estimate],
    layout: AnswerLayout,
) -> tuple[RunningCounts, ...]:
    """Return the running counts of a question; if errors are asked for there are none."""
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
        if not estimator.counts or estimate.aggregate.epsilon is not None:
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
    workload = Workload(
        measure=measure,
        names=names,
        cells=tuple(map(tuple, inside)),
        rows=1,
        source=GroupTotals(order=tuple(order), named=tuple(places)),
    )
    return RunningCounts(measure=measure, sums=workload)


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
