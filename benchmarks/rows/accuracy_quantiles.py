"""Quantiles: values of discreet with and without intervals, and OpenDP's, which has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.rows.accuracy_tables import EPSILONS, AccuracyRow, Bench, Drawn, Floats


@dataclass(frozen=True, slots=True)
class _Quantile:
    """A level of a column, among integers from 0 on; ``most`` rows of a unit count."""

    table: str
    name: str
    level: float
    places: int
    most: int = 1

    def drawn(self, bench: Bench, epsilon: str, *, intervals: bool) -> Drawn:
        """Answer again and again."""
        select = f"PERCENTILE_CONT({self.name}, {self.level})"
        truth = self._truth(self._values(bench))
        return bench.drawn(self.table, select, truth, epsilon=epsilon, intervals=intervals)

    def told(self, bench: Bench, epsilon: str) -> Floats | None:
        """Return the errors of OpenDP."""
        values = self._values(bench)
        told = bench.by_opendp(
            work="quantile draws",
            values=values.astype(int).tolist(),
            level=self.level,
            places=self.places,
            moved=self.most,
            epsilon=float(epsilon),
            draws=bench.draws,
        )
        return None if told is None else np.array(told) - self._truth(values)

    def _values(self, bench: Bench) -> Floats:
        return np.minimum(bench.column(self.table, self.name), self.places - 1)

    def _truth(self, values: Floats) -> float:
        return float(np.quantile(values, self.level, method="inverted_cdf"))


ASKED = (
    _Quantile("R", "earns", 0.5, 2001),
    _Quantile("R", "earns", 0.9, 2001),
    _Quantile("R", "age", 0.9, 101),
    _Quantile("P", "hours", 0.5, 5001, 8),
    _Quantile("P", "hours", 0.9, 5001, 8),
)
LEVELS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Levels of earns; below, rows have no earnings."""


def rows(bench: Bench) -> Iterator[AccuracyRow]:
    """Yield rows for each quantile and price, and one for many levels together."""
    for asked in ASKED:
        for epsilon in EPSILONS:
            other = _rmse(asked.told(bench, epsilon))
            for intervals in (True, False):
                ours = asked.drawn(bench, epsilon, intervals=intervals)
                yield AccuracyRow(
                    question=f"{asked.table} {asked.name} at {asked.level}"
                    f"{'' if intervals else ', intervals=False'}",
                    epsilon=epsilon,
                    ours=ours.rmse,
                    other=other,
                    who="OpenDP",
                    covered=ours.covered if intervals else None,
                    wide=ours.wide if intervals else None,
                )
    few = replace(bench, draws=max(bench.draws // 5, 1))
    each = [_Quantile("R", "earns", level, 2001) for level in LEVELS]
    for epsilon in EPSILONS:
        drawn = [asked.drawn(few, epsilon, intervals=True) for asked in each]
        told = [errors for asked in each if (errors := asked.told(few, epsilon)) is not None]
        ours = _rmse(np.concatenate([one.errors for one in drawn]))
        assert ours is not None  # noqa: S101 (for the type checker)
        yield AccuracyRow(
            question=f"R earns at {len(each)} levels, one at a time",
            epsilon=epsilon,
            ours=ours,
            other=_rmse(np.concatenate(told)) if told else None,
            who="OpenDP",
            covered=float(np.mean([one.covered for one in drawn])),
        )


def _rmse(errors: Floats | None) -> float | None:
    return None if errors is None else float(np.sqrt(np.mean(errors**2)))
