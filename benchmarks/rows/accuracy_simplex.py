"""Counts, sums and means of one question, which share noise; others by the laws of their noise.

Drawn are real answers, each in a session of its own.
The best of the others divides epsilon between a count and a sum around the middle of the bounds, as
Tumult and Google (PipelineDP) do, and scales both to all rows of a person in all of their groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

import discreet as dp

EPSILONS: Final = ("0.1", "1", "4")
HIGH: Final = 2000
POLICY: Final = """
format = 1
unit = "person"
[limits]
max_rows = {rows}
max_groups = {groups}
[tables.t.columns]
person = {{type = "integer", nullable = false}}
x = {{type = "integer", low = 0, high = 2000, nullable = false}}
y = {{type = "integer", low = 0, high = 100, nullable = true}}
g = {{type = "integer", categories = [0, 1, 2, 3, 4, 5, 6, 7], nullable = false}}
"""
SEVERAL: Final = "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY g"
QUESTIONS: Final = {
    "AVG": "SELECT AVG(x) AS a FROM t",
    "COUNT, SUM, AVG": "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t",
    "COUNT, SUM, AVG of 8 groups": SEVERAL,
    "COUNT(*), AVG with NULL": "SELECT COUNT(*) AS n, AVG(y) AS a FROM t",
    "VAR_POP": "SELECT VAR_POP(x) AS v FROM t",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplexRow:
    """Our root mean square error and the best of others, at one price, and how intervals hold."""

    question: str
    epsilon: str
    ours: float
    other: float | None
    who: str
    law: bool = True
    covered: float | None = None
    wide: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the error of the other is ours."""
        return None if self.other is None else self.other / self.ours


def table(rows: int, groups: int, people: int = 545) -> pa.Table:
    """Return people with so many rows in each of so many groups."""
    rng = np.random.default_rng(1)
    size = people * rows * groups
    each = np.arange(size)
    y = np.where(rng.random(size) < 0.3, None, rng.integers(0, 101, size))  # type: ignore[call-overload]
    return pa.table(
        {
            "person": each // (rows * groups),
            "x": np.minimum(rng.gamma(2.0, 250.0, size), HIGH).astype(np.int64),
            "y": pa.array(y.tolist(), pa.int64()),
            "g": (each // (rows * groups) + each // rows) % 8,
        }
    )


def rows(bench: Any = None) -> Iterator[SimplexRow]:
    """Yield a row for each output, limit and price; ``bench`` says how many draws are made."""
    draws = getattr(bench, "draws", 200)
    for most, groups in ((1, 1), (8, 4)):
        data = table(most, groups)
        for name, question in QUESTIONS.items():
            if (groups > 1) == ("8 groups" in name):
                for epsilon in EPSILONS:
                    yield from _drawn(data, most, groups, name, question, epsilon, draws)


def _drawn(  # noqa: PLR0913, PLR0917  a cell of the table
    data: pa.Table, most: int, groups: int, name: str, question: str, epsilon: str, draws: int
) -> Iterator[SimplexRow]:
    policy = POLICY.format(rows=most, groups=groups)
    found = []
    for _ in range(draws):
        with dp.open({"t": data}, policy=policy, test_mode=True) as session:
            found.append(
                session.ask(question, epsilon=epsilon).to_arrow(unclipped=True).to_pydict()
            )
    truth = _truths(data, groups > 1)
    outputs = [each for each in ("n", "s", "a", "v") if each in found[0]]
    exact = {output: np.array(truth[output, name]) for output in outputs}
    for output in outputs:
        drawn = [np.array(each[f"{output}_unclipped"], float) for each in found]
        ends = [
            [np.array([_end(one, way) for one in each[f"{output}_{side}"]]) for each in found]
            for side, way in (("low", -1), ("high", 1))
        ]
        errors = np.concatenate([each - exact[output] for each in drawn])
        low, high = (np.concatenate(each) for each in ends)
        right = np.tile(exact[output], draws)
        reach = float(np.quantile(np.abs(errors), 0.95))
        yield SimplexRow(
            question=f"{name} ({output}), {most} rows, {groups} groups",
            epsilon=epsilon,
            ours=float(np.sqrt(np.mean(errors**2))),
            other=_law(data, name, output, most * groups / float(epsilon)),
            who="Tumult, Google",
            covered=float(np.mean((low <= right) & (right <= high))),
            wide=float(np.mean(high - low)) / 2 / reach,
        )


def _end(value: float | None, way: int) -> float:
    return way * math.inf if value is None else float(value)


def _truths(data: pa.Table, grouped: bool) -> dict[tuple[str, str], list[float]]:  # noqa: FBT001
    """Return the outputs without noise, by group."""
    frame = data.to_pandas()
    parts = [part for _, part in frame.groupby("g")] if grouped else [frame]
    found: dict[tuple[str, str], list[float]] = {}
    for name in QUESTIONS:
        column = "y" if "NULL" in name else "x"
        found["n", name] = [float(len(part)) for part in parts]
        found["s", name] = [float(part[column].sum()) for part in parts]
        found["a", name] = [float(part[column].mean()) for part in parts]
        found["v", name] = [float(part[column].var(ddof=0)) for part in parts]
    return found


def _law(data: pa.Table, name: str, output: str, scale: float) -> float | None:
    """Return the error of the best of the others, for people of one row at epsilon 1 / scale."""
    frame = data.to_pandas()
    column, high = ("y", 100) if "NULL" in name else ("x", HIGH)
    size = frame.groupby("g").size().mean() if "8 groups" in name else frame[column].count()
    mean, half, root = float(frame[column].mean()), high / 2, math.sqrt(2)
    count, total = 2 * scale * root, 2 * scale * half * root
    if output == "v":
        variance = float(frame[column].var())
        off = mean - half
        moments = (half**2, 2 * off * half, variance - off**2)
        return math.hypot(*(each * 3 * scale * root for each in moments)) / size
    if "NULL" in name:  # COUNT(*), and a mean with a count of its own
        count, total = 3 * scale * root, 3 * scale * half * root
    if output == "n":
        return count
    if output == "s":
        return math.hypot(total, half * count)
    return math.hypot(total, (mean - half) * count) / size


if __name__ == "__main__":
    for row in rows():
        shown = (row.ours, row.ratio or 0.0, row.covered or 0.0, row.wide or 0.0)
        print(row.question, row.epsilon, *(f"{each:.4g}" for each in shown), sep="  ")
