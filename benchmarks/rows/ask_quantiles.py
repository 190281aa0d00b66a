"""Rank errors of quantiles at one price, on values with ties and without, one by one and in lists.

Single quantiles are held against OpenDP's; lists of nineteen against those of OpenDP and
diffprivlib, and against single choices for a nineteenth of the price each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environment import Peers
from discreet.mechanisms import Exponential
from discreet.plan.pricing.group_sensitivity import LeafChoice, ScoredChoice, trees_of
from discreet.plan.pricing.quantile_tree import QuantileLevels
from discreet.release.choices import chosen_leaves, read_tree
from discreet.units import Relation

Values = NDArray[np.int64]

ROWS: Final = 1000
LEVELS: Final = ("1/2", "3/4", "9/10")
DEVIATIONS: Final = 5
"""How many standard deviations of the difference are left to chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileRow:
    """Mean rank errors at epsilon 1: how many rows lie between the answer and the right one."""

    values: str
    level: str
    ours: float
    opendp: float | None
    chance: float

    @property
    def behind(self) -> bool:
        """Whether OpenDP errs less, and not by chance."""
        return self.opendp is not None and self.ours > self.opendp + self.chance


def tables(values: str, count: int) -> Iterator[Values]:
    """Yield random tables of one kind."""
    rng = np.random.default_rng(7)
    for _ in range(count):
        match values:
            case "ages, 0 to 110":
                drawn = rng.normal(45, 18, ROWS).round().clip(0, 110)
            case "five answers, 0 to 110":
                drawn = rng.integers(1, 6, ROWS) * 20
            case "rounded incomes, 0 to 1999":
                drawn = (rng.lognormal(10.5, 0.5, ROWS) / 5000).round().clip(0, 39) * 50
            case _:
                drawn = rng.permutation(2000)[:ROWS]
        yield drawn.astype(np.int64)


KINDS: Final = {
    "ages, 0 to 110": 111,
    "five answers, 0 to 110": 111,
    "rounded incomes, 0 to 1999": 2000,
    "all different, 0 to 1999": 2000,
}
"""The kinds of tables, and the places that are candidates."""


def rank_error(values: Values, level: Fraction, answer: float) -> float:
    """Return by how many ranks an answer misses."""
    rank = float(level) * values.size
    below, upto = float((values < answer).sum()), float((values <= answer).sum())
    return max(0.0, below - rank, rank - upto)


def _scores(values: Values, level: Fraction, places: int) -> list[Fraction]:
    """Score each place by how far it is from the rank; a row moves scores by max(level, 1 - level).

    The exponential mechanism pays for moves in both directions, so its scale is twice that.
    """
    ordered = np.sort(values)
    rank = level * values.size
    below = np.searchsorted(ordered, np.arange(places), side="left")
    upto = np.searchsorted(ordered, np.arange(places), side="right")
    return [
        -max(Fraction(0), int(b) - rank, rank - int(u)) for b, u in zip(below, upto, strict=True)
    ]


def quantile_rows(opendp: Peers | None, draws: int) -> Iterator[QuantileRow]:
    """Yield a row for each kind of table and each level; rows are added and removed."""
    for values, places in KINDS.items():
        for text in LEVELS:
            level = Fraction(text)
            select = Exponential(candidates=places, scale=2 * max(level, 1 - level))
            drawn = list(tables(values, draws))
            ours = [
                rank_error(table, level, select.run(_scores(table, level, places)))
                for table in drawn
            ]
            spread = np.var(ours)
            others = None
            if opendp is not None:
                answers = opendp.ask(
                    work="quantiles",
                    tables=[table.tolist() for table in drawn],
                    level=float(level),
                    places=places,
                )["value"]
                pairs = zip(drawn, answers, strict=True)
                errors = [rank_error(table, level, answer) for table, answer in pairs]
                others, spread = float(np.mean(errors)), spread + np.var(errors)
            yield QuantileRow(
                values=values,
                level=text,
                ours=float(np.mean(ours)),
                opendp=others,
                chance=DEVIATIONS * math.sqrt(spread / draws),
            )


LIST: Final = tuple(Fraction(k, 20) for k in range(1, 20))
LIST_ROWS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    """Mean rank errors of nineteen quantiles of 2,000 rows, at epsilon 1 together."""

    values: str
    ours: float
    single: float
    opendp: float | None
    diffprivlib: float | None
    chance: float

    @property
    def behind(self) -> bool:
        """Whether somebody errs less, and not by chance."""
        others = [each for each in (self.opendp, self.diffprivlib) if each is not None]
        return any(self.ours > each + self.chance for each in others)


def list_tables(values: str, count: int) -> Iterator[Values]:
    """Yield random tables of one kind, with whole numbers from 0 to 2999."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        match values:
            case "spread over a third":
                drawn = rng.integers(1000, 2000, LIST_ROWS)
            case "forty different values":
                drawn = rng.integers(20, 60, LIST_ROWS) * 25
            case _:
                drawn = (rng.lognormal(5.5, 0.8, LIST_ROWS)).clip(0, LIST_PLACES - 1)
        yield drawn.astype(np.int64)


LIST_PLACES: Final = 3000
LIST_KINDS: Final = ("spread over a third", "forty different values", "lognormal")


def list_rows(opendp: Peers | None, ibm: Peers | None, draws: int) -> Iterator[ListRow]:
    """Yield a row for each kind of table; rows are added and removed."""
    part = QuantileLevels(
        measure="x", leaves=LIST_PLACES, rows=1, groups=1, available=1, levels=LIST
    )
    joint = part.within_epsilon(Fraction(1), Relation.ADD_REMOVE)
    share = Fraction(1, len(LIST))
    single = [each.within_epsilon(share, Relation.ADD_REMOVE)[0] for each in part.single()]
    levels = [float(level) for level in LIST]
    for values in LIST_KINDS:
        drawn = list(list_tables(values, draws))
        ours = [_list_error(table, _answers(joint, table)) for table in drawn]
        alone = [_list_error(table, _answers(single, table)) for table in drawn]
        tables = [table.tolist() for table in drawn]
        others: list[float | None] = []
        for peer, work, more in (
            (opendp, "quantile_lists", {"places": LIST_PLACES}),
            (ibm, "diffprivlib quantile lists", {"count": LIST_PLACES}),
        ):
            if peer is None:
                others.append(None)
                continue
            told = peer.ask(work=work, tables=tables, levels=levels, **more)["value"]
            pairs = zip(drawn, told, strict=True)
            others.append(float(np.mean([_list_error(table, found) for table, found in pairs])))
        yield ListRow(
            values=values,
            ours=float(np.mean(ours)),
            single=float(np.mean(alone)),
            opendp=others[0],
            diffprivlib=others[1],
            chance=DEVIATIONS * math.sqrt(np.var(ours) / draws) * math.sqrt(2),
        )


def _answers(choices: Sequence[LeafChoice], table: Values) -> list[int]:
    """Return what is chosen at each level of one table, from the lowest on."""
    leaf, count = np.unique(table, return_counts=True)
    sparse = np.zeros(leaf.size, np.int64), leaf, count
    for tree, read in trees_of(choices).items():
        found = read_tree(tree, read, sparse, groups=1)
        return sorted(int(found[choice][0]) for choice in read if choice.side == 0)
    scored = [choice for choice in choices if isinstance(choice, ScoredChoice)]
    return sorted(int(chosen_leaves(choice, sparse, groups=1)[0]) for choice in scored)


def _list_error(table: Values, answers: Sequence[float]) -> float:
    pairs = zip(LIST, answers, strict=True)
    return float(np.mean([rank_error(table, level, answer) for level, answer in pairs]))
