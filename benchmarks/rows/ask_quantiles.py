"""Rank errors of quantiles at one price, on values with ties and without, against OpenDP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environment import Peers
from discreet.mechanisms import Quantile

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


def rank_error(values: Values, level: Fraction, answer: int) -> float:
    """Return by how many ranks an answer misses."""
    rank = float(level) * values.size
    below, upto = float((values < answer).sum()), float((values <= answer).sum())
    return max(0.0, below - rank, rank - upto)


def quantile_rows(opendp: Peers | None, draws: int) -> Iterator[QuantileRow]:
    """Yield a row for each kind of table and each level; rows are added and removed."""
    for values, places in KINDS.items():
        for text in LEVELS:
            level = Fraction(text)
            select = Quantile(
                level=level,
                candidates=range(places),
                scale=2 * max(level, 1 - level),
                relation="add_remove",
            )
            drawn = list(tables(values, draws))
            ours = [rank_error(table, level, select.run(table)) for table in drawn]
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
