"""Cubes: the totals of ROLLUP, CUBE and GROUPING SETS, and how they are measured.

Trust: public.  A strategy is priced for what it measures (``cube-norms``); which one is taken is
about accuracy.

Definition.  A question with grouping sets asks for the totals of the groups of each set.  One table
of totals by all keys is read, and of its sums over keys are measured, by the strategy with the
smallest predicted error,

    the finest table, with noise on every group, whose totals are added up,
    every table that is asked for, by itself, or
    the residuals of all of them, which for Gaussian noise are best (``residual-basis``).

Every number of the answer is then the best linear estimate from all that was measured.  Private
keys are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from discreet.errors import UnsupportedSQL
from discreet.mechanisms import Laplace
from discreet.plan.pricing.cube_strategy import (
    CubeKeys,
    CubeStrategy,
    Keys,
    balanced,
    coarse_value,
)
from discreet.plan.pricing.group_sensitivity import UNITS, GroupSensitivity, Releases
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.plan.setting import MeasuredAggregates, Setting
from discreet.plan.statistics.answer_layout import AnswerLayout
from discreet.plan.workload.strategies import Candidate
from discreet.query.source_text import pointed
from discreet.requests.engine_request import Total

MOST_ENTRIES: Final = 1 << 22
"""Rows of one answer."""
_MOST_CELLS: Final = 1 << 20
_MOST_LAPLACE_SETS: Final = 512


def cube_keys(setting: Setting) -> CubeKeys | None:
    """Return the public values of the keys of a question with grouping sets, if it is one."""
    question = setting.bound.question
    if not question.sets:
        return None
    lists = tuple(key.values for key in setting.bound.keys)
    if setting.groups.public is None or setting.groups.chosen or setting.bound.groups is not None:
        names = ", ".join(key.key.name for key in setting.bound.keys if key.values is None)
        raise UnsupportedSQL(
            what=pointed(f"the values of {names or 'the keys'} are not public.", question.span),
            why="totals of several levels are measured together, for all groups that there can be.",
            do="declare categories in the policy, or list the values with WHERE ... IN (...).",
        )
    known = tuple(values for values in lists if values is not None)
    keys = CubeKeys(
        lists=known, types=tuple(key.key.type for key in setting.bound.keys), sets=question.sets
    )
    if sum(map(keys.cells, keys.sets)) > MOST_ENTRIES:
        raise UnsupportedSQL(
            what=pointed(f"the answer has more than {MOST_ENTRIES} rows.", question.span),
            why="all groups of all levels are shown, empty or not.",
            do="ask for fewer grouping sets, or group by fewer keys or values.",
        )
    return keys


def check_additive(
    setting: Setting, measured: MeasuredAggregates, layout: AnswerLayout, sums: str
) -> None:
    """Refuse aggregates whose totals do not add up over groups, and windows; say of which sums."""
    if layout.windows:
        raise UnsupportedSQL(
            what=pointed(f"a window looks at {sums}.", layout.windows[0][1].span),
            why="it would take groups, and sums of groups, for the same.",
            do="leave it out, and compute it from the answer.",
        )
    totals = {each.name for each in measured.measures if isinstance(each, Total)}
    several = setting.limits.groups > 1
    if not several:
        totals.add(UNITS)
    for (outer, _), uses in zip(setting.bound.aggregates, measured.uses, strict=True):
        if all(level is None and name in totals for name, level in uses):
            continue
        people = several and any(name == UNITS for name, _ in uses)
        raise UnsupportedSQL(
            what=pointed(f"{outer.function} of {sums} is not answered here.", outer.span),
            why="one person counts in several groups, and would be added up several times."
            if people
            else "these are sums of groups, and this one is not.",
            do="set max_groups_contributed = 1, or ask for this column by itself."
            if people
            else "ask for COUNT, SUM and AVG, or ask for this column by itself.",
        )


def check_cube_noise(cube: Cube | None, releases: Releases) -> None:
    """Refuse to work out intervals of sums of very many Laplace noises."""
    laplace = any(isinstance(noise.mechanism, Laplace) for noise in releases.noises)
    if cube is not None and laplace and len(cube.keys.sets) > _MOST_LAPLACE_SETS:
        raise UnsupportedSQL(
            what=f"{len(cube.keys.sets)} grouping sets are asked for, with Laplace noise.",
            why="residuals of so many tables are measured with Gaussian noise.",
            do="give a rho, or a delta.",
        )


@final
@dataclass(frozen=True, slots=True)
class Cube:
    """The tables of a measure that a question with grouping sets asks for."""

    keys: CubeKeys

    names: tuple[str, ...]
    measure: str = UNITS

    @property
    def levels(self) -> tuple[tuple[Keys, str], ...]:
        """The grouping sets, and what to call each."""
        sets = self.keys.sets
        return tuple(
            (some, " x ".join(self.names[at] for at in some) or "the total") for some in sets
        )

    @property
    def first(self) -> str:
        """What the first of the candidates is."""
        whole = self.keys.cells(tuple(range(len(self.keys.lists))))
        return "adding up groups" if whole <= _MOST_CELLS else "each table by itself"

    def candidates(self, alone: GroupSensitivity) -> tuple[Candidate, ...]:
        """Return what a unit moves in the tables that are measured, for each strategy."""
        keys = self.keys
        value, step = coarse_value(self.measure, min(alone.low, 0), max(alone.high, 0))
        every = tuple(range(len(keys.lists)))
        tables, factors = balanced(keys)
        tried = [
            ("as the finest table, added up", (every,), (1,), False),
            ("each table by itself", keys.sets, (1,) * len(keys.sets), False),
            ("by their residuals", tables, factors, True),
        ]
        if keys.cells(every) > _MOST_CELLS:
            del tried[0]
        found = []
        for words, some, times, centered in tried:
            strategy = CubeStrategy(
                words=words,
                keys=keys,
                value=value,
                tables=some,
                factors=times,
                centered=centered,
                step=step,
            )
            far = CellSensitivity(low=0, high=alone.groups, groups=1, available=1, cells=strategy)
            found.append((far, strategy.spread))
        return tuple(found)
