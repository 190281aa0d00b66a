"""What a profile measures, how its price is shared out, and the draw that is charged for it.

Trust: kernel.

Definition.  With r the most rows of a unit, these are measured, each with noise for a unit that
moves it by r in L1: the number of rows; people, counted r times each; histograms of leaves; how
many different values there are, of which a unit shows at most r.  Categories that have to be found
are counted with at most g of a unit, and at most r // g rows in each, and shown by a threshold
(key ``threshold-keys``).
The loss is that of the composition of all of it (key ``profile-levels``).  One part in 16 of delta
goes to thresholds.

Shares: an ordered column of L levels gets the square of its rank error, so that all quartiles err
alike; a listed one 4; one whose categories are found 16, because its threshold is some seven
deviations; rows and people 4; numbers of different values and of NULL 1.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.errors import OutOfRange
from discreet.extend import (
    ROWS,
    AskedPrice,
    BoundedSum,
    DistinctCount,
    EngineRequest,
    KeyValue,
    Leaves,
    Measurer,
    PlannedSum,
    RawTotals,
    SumSchedule,
    Total,
    loss_of,
    price_of,
    scheduled,
)
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys
from discreet.noise import Entropy
from discreet.profile.columns import Integers, ProfiledColumn
from discreet.profile.tree import CELLS, LEVELS, Distribution, measured_distribution, rank_deviation
from discreet.units import PrivacyUnit, Relation

BARS: Final = 16
TOP: Final = 12
"""The most categories that are kept of one column."""
_TAIL: Final = 0.01
_STEP: Final = Fraction(255, 256)
_NEARLY: Final = 1 - Fraction(1, 1 << 14)
_TRIES: Final = 400
_LISTED_SHARE: Final = 4
_FOUND_SHARE: Final = 16
_LEAK: Final = 16
PEOPLE: Final = "people"
DISTINCT: Final = "different values"
_LISTED: Final = "listed columns"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """All noise of a profile: sums, and thresholds where categories are found."""

    sums: SumSchedule
    keys: NoisyKeys | None
    found: int

    @property
    def tree(self) -> Node:
        """The charged composition."""
        if self.keys is None:
            return self.sums.tree
        unit = self.sums.unit
        whose = replace(unit, relation=Relation.ADD_REMOVE)
        loss = None
        if unit.relation.replaces:
            loss = replace(self.keys, relation=Relation.REPLACE).loss()
        leaf = Leaf(self.keys, name="categories", unit=whose, replaced=loss)
        return Sequential(self.sums.tree, Repeat(leaf, self.found) if self.found > 1 else leaf)

    def deviation(self, name: str) -> float:
        """Return the standard deviation of the noise of one count."""
        return noise_deviation(self.sums.noise(name))


def noise_deviation(noise: Gaussian | Laplace) -> float:
    """Return the standard deviation of a noise.

    >>> noise_deviation(Gaussian(variance=9))
    3.0
    """
    if isinstance(noise, Gaussian):
        return math.sqrt(noise.variance)
    return math.sqrt(2) * float(noise.scale)


def sum_name(column: ProfiledColumn) -> str:
    """Return the name of the sums that a column shares with others of its kind."""
    if column.scale is not None:
        return f"columns of {column.scale.levels} levels"
    return _LISTED if column.listed is not None else "missing values"


def _sums(columns: Sequence[ProfiledColumn], unit: PrivacyUnit) -> list[PlannedSum]:
    """Return the sums of a profile; columns of a kind share one, so that few prices are added."""
    kinds = Counter(map(sum_name, columns))
    wide = max((c.size for c in columns if c.listed is not None), default=1)
    distinct = sum(column.listed is None for column in columns)
    sums = [_planned(ROWS, 1, Fraction(4))]
    if unit.columns:
        sums.append(_planned(PEOPLE, 1, Fraction(4)))
    if distinct:
        sums.append(_planned(DISTINCT, 1, Fraction(distinct), times=distinct))
    levels = {sum_name(c): c.scale.levels for c in columns if c.scale is not None}
    for name, count in kinds.items():
        if name in levels:
            each = Fraction(rank_deviation(levels[name]) ** 2 * levels[name]).limit_denominator(100)
            sums.append(_planned(name, CELLS, each * count, times=levels[name] * count))
        elif name == _LISTED:
            sums.append(_planned(name, wide, Fraction(_LISTED_SHARE * count), times=count))
        else:
            sums.append(_planned(name, 2, Fraction(count), times=count))
    return sums


def schedule_of(
    columns: Sequence[ProfiledColumn],
    asked: AskedPrice,
    *,
    unit: PrivacyUnit,
    rows: int,
    groups: int,
) -> Schedule:
    """Return the noise of a profile: nearly the least that keeps a price."""
    sums = _sums(columns, unit)
    found = sum(column.found for column in columns) if asked.delta else 0
    share = sum((each.share for each in sums), Fraction(_FOUND_SHARE * found))
    kept = 1 - _FOUND_SHARE * found / share
    leak = (asked.delta or Fraction(0)) / _LEAK if found else Fraction(0)

    def at(rho: Fraction) -> Schedule:
        price = AskedPrice(epsilon=None, delta=None, rho=rho * kept)
        noises = scheduled(sums, price, unit=unit, rows=rows)
        if not found:
            return Schedule(sums=noises, keys=None, found=0)
        moved = groups * (rows // groups) ** 2 * (2 if unit.relation.replaces else 1)
        variance = Fraction(moved) * share / (2 * _FOUND_SHARE * rho)
        keys = NoisyKeys.for_delta(
            delta=leak / found,
            noise=Gaussian(variance=variance.limit_denominator(1 << 20) + Fraction(1, 1 << 20)),
            groups=groups,
            relation=Relation.ADD_REMOVE,
            most=rows // groups,
        )
        return Schedule(sums=noises, keys=keys, found=found)

    if asked.pure:
        return Schedule(sums=scheduled(sums, asked, unit=unit, rows=rows), keys=None, found=0)
    if asked.epsilon is None or asked.delta is None:
        rho = asked.nearly_rho
        paid = price_of(at(rho).tree, unit, asked.delta).rho or rho
        return at(rho * min(Fraction(1), _NEARLY * rho / paid))  # roots are rounded up
    less = AskedPrice(epsilon=asked.epsilon, delta=asked.delta - leak, rho=None)
    rho = Fraction(float(less.nearly_rho)) * _NEARLY
    for _ in range(_TRIES):
        made = at(rho)
        if loss_of(made.tree, unit).keeps(epsilon=asked.epsilon, delta=asked.delta):
            return made
        rho *= _STEP
    raise OutOfRange("no noise keeps this epsilon and delta: give a larger epsilon or delta.")


def _planned(name: str, coordinates: int, share: Fraction, *, times: int = 1) -> PlannedSum:
    return PlannedSum(
        name=name,
        squared=1,
        linear=1,
        opposed=False,
        coordinates=coordinates,
        times=times,
        share=share,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDraw:
    """Draws a profile from bounded totals; all that is stored follows from noisy counts."""

    columns: tuple[ProfiledColumn, ...]
    asked: AskedPrice
    schedule: Schedule
    unit: PrivacyUnit
    rows: int
    groups: int
    reach: float
    """How many deviations an interval goes to each side."""

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters; the digest covers them."""
        return {
            "kind": "profile",
            "columns": [column.document() for column in self.columns],
            "price": self.asked.document(),
            "reach": self.reach,
        }

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Return the composition, by the bounds that engines enforce (T7)."""
        whole, *found = reads
        measured = [
            each.rows if isinstance(each, Leaves) else each.most
            for each in whole.measures
            if isinstance(each, Leaves | Total | DistinctCount)
        ]
        sums, keys = self.schedule.sums, self.schedule.keys
        fits = len(measured) == len(whole.measures) and (sums.rows, sums.unit) == (self.rows, unit)
        if keys is not None:
            fits = fits and (keys.groups, keys.most) == (self.groups, self.rows // self.groups)
        fits = fits and unit == self.unit and not whole.keys and max(measured) <= self.rows
        fits = fits and all(total.low == 0 for total in whole.totals)
        fits = fits and all(total.most == 1 for total in whole.totals if total.name == PEOPLE)
        for read in found:
            (total,) = read.totals
            fits = fits and total.low == 0 and total.most <= self.rows // self.groups
            fits = fits and (read.groups or 1) <= self.groups
        if not fits or (keys is None) != (not found):
            raise OutOfRange(
                "a profile is planned for other bounds than its requests have; plan it with "
                "session.plan_profile."
            )
        return self.schedule.tree

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,  # noqa: ARG002  a profile does not name its program
        sources: tuple[tuple[str, str], ...],  # noqa: ARG002  nor the states of its tables
    ) -> bytes:
        """Measure all columns, and write down what is released."""
        whole, found = raws[0], iter(raws[1:])
        see = Measurer(self.schedule.sums, entropy)

        def measure(name: str, values: Integers) -> Integers:
            return see.measure(name, BoundedSum(values, 1, 1, opposed=False))

        def single(name: str, times: int = 1) -> float:
            total = np.asarray(whole.totals[name], np.int64)[:1] * times
            return float(measure(name.partition(" of ")[0], total)[0]) / times

        rows = single(ROWS)
        people = single(PEOPLE, self.rows) if self.unit.columns else None
        columns: list[dict[str, Any]] = []
        for place, column in enumerate(self.columns):
            _, leaves, counts = whole.leaves[f"leaves {place}"]
            entry = self._column(column, leaves, counts, rows, measure)
            if column.listed is None:
                distinct = single(f"{DISTINCT} of {place}")
                entry["distinct"] = max(0, round(distinct))
            if column.found and self.schedule.keys is not None:
                entry["top"] = self._found(next(found), entropy)
            columns.append(entry)
        profile = {"answer": "profile", "rows": rows, "people": people, "columns": columns}
        return json.dumps(profile).encode()

    def _column(
        self,
        column: ProfiledColumn,
        leaves: Integers,
        counts: Integers,
        rows: float,
        measure: Any,
    ) -> dict[str, Any]:
        name = sum_name(column)
        missing = int(counts[leaves == column.size - 1].sum())
        if column.scale is not None:
            inside = leaves < column.size - 1
            made = measured_distribution(
                column.scale.codes(leaves[inside]),
                counts[inside],
                missing,
                levels=column.scale.levels,
                rows=(rows, self.schedule.deviation(ROWS) ** 2),
                deviation=self.schedule.deviation(name),
                measure=lambda cells: measure(name, cells),
            )
            return {"missing": made.missing, **self._ordered(column, made)}
        if column.listed is None:
            known = np.array([int(counts.sum()) - missing, missing])
            return {"missing": max(0.0, float(measure(name, known)[1]))}
        cells = np.zeros(column.size, np.int64)
        np.add.at(cells, leaves, counts)
        noisy = np.maximum(measure(name, cells), 0).tolist()
        named = zip(column.listed, noisy[:-2], strict=True)
        return {"missing": noisy[-1], "top": sorted(named, key=lambda pair: -pair[1])}

    def _ordered(self, column: ProfiledColumn, made: Distribution) -> dict[str, Any]:
        """Return quartiles with intervals, and bars of equal width: post-processing."""
        scale = column.scale
        assert scale is not None  # noqa: S101  (only such columns come here)
        far = self.reach * rank_deviation(scale.levels) * self.schedule.deviation(sum_name(column))

        def cell(rank: float) -> tuple[int, int, int]:
            """Return the first and the last leaf of the cell of a rank, and one between them."""
            first, last, part = made.code(rank)
            low = scale.edge(first)
            high = max(low, scale.edge(last) - 1)
            return low, high, low + math.floor((high - low) * part)

        def shown(leaf: int, low: int | None = None, high: int | None = None) -> float | int | str:
            value = scale.value(leaf, low, high)
            return value if isinstance(value, int | float) else value.isoformat()

        quartiles = []
        for level in LEVELS:
            low, high, middle = cell(level * made.total)
            least, most = cell(level * made.total - far)[0], cell(level * made.total + far)[1]
            quartiles.append([shown(middle, low, high), shown(least), shown(most)])
        tail = min(max(_TAIL * made.total, far), made.total / 4)
        low, high = cell(tail)[2], cell(made.total - tail)[2]
        width = max(1, -(-(high - low + 1) // BARS))
        ends = [low + width * k for k in range(-(-(high - low + 1) // width) + 1)]
        edges = [float(scale.edge(int(code)) - low) for code in made.starts]
        below = np.interp([float(end - low) for end in ends], edges, made.below)
        below[0], below[-1] = 0.0, made.total
        bars = [
            [shown(end, end - width // 8, end + width // 8) for end in ends],
            np.diff(below).round(1).tolist(),
        ]
        return {"quartiles": quartiles, "bars": bars}

    def _found(self, raw: RawTotals, entropy: Entropy) -> list[tuple[KeyValue, int]]:
        """Return the categories whose noisy counts reach the threshold, largest first."""
        assert self.schedule.keys is not None  # noqa: S101  (asked before)
        counts = np.asarray(raw.totals[ROWS], np.int64)
        answer = self.schedule.keys.run(counts, entropy=entropy)
        names = np.array(raw.keys[0].to_pylist(), object)[answer.shown]
        pairs = zip(names.tolist(), answer.counts.tolist(), strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:TOP]
