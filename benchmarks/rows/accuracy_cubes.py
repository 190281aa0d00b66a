"""Tables of several levels, and a profile of many columns: errors of an entry, and of a median.

Rows are units, and rho is 1/2, at which noise on one table has a deviation of 1.  OpenDP and Tumult
release a table after the other: with the best shares of rho for each, the error of an entry is the
sum of the roots of their sizes over the root of the sum.  A profile is compared with a question for
each median, at a hundredth of epsilon.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

import discreet as dp
from benchmarks.rows.accuracy_tables import AccuracyRow, Bench

ADULT: Final = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
CUBES: Final = {
    "Adult's sizes, all of 1 column": (ADULT, (1,)),
    "Adult's sizes, all of 2 columns": (ADULT, (2,)),
    "cube of 10 x 8 x 2": ((10, 8, 2), (0, 1, 2, 3)),
    "cube of 50 x 12 x 4": ((50, 12, 4), (0, 1, 2, 3)),
    "cube of 100 x 20 x 5 x 2": ((100, 20, 5, 2), (0, 1, 2, 3, 4)),
}
SIZE: Final = 2000
COLUMNS, ROWS = 100, 20_000


def rows(bench: Bench) -> Iterator[AccuracyRow]:
    """Yield a row for each set of tables, and one for a profile."""
    for name, (sizes, ways) in CUBES.items():
        small = math.prod(sizes) < 5000
        yield _cube(name, sizes, ways, max(1, bench.draws // (4 if small else 40)))
    yield _profile(max(1, bench.draws // 40))


def _cube(name: str, sizes: tuple[int, ...], ways: tuple[int, ...], draws: int) -> AccuracyRow:
    generator = np.random.default_rng(1)
    names = [f"c{at}" for at in range(len(sizes))]
    frame = pd.DataFrame({at: generator.integers(n, size=SIZE) for at, n in zip(names, sizes)})  # noqa: B905
    lines = [
        f'{at} = {{type = "integer", low = 0, high = {n - 1}, nullable = false}}'
        for at, n in zip(names, sizes, strict=True)
    ]
    policy = "\n".join(['format = 1\nunit = "row"\n[tables.t.columns]', *lines])
    sets = [some for way in ways for some in itertools.combinations(names, way)]
    cells = [math.prod(sizes[names.index(at)] for at in some) for some in sets]
    question = (
        f"SELECT {', '.join(names)}, COUNT(*) AS count FROM t GROUP BY CUBE({', '.join(names)})"  # noqa: S608
    )
    truth = {
        some: np.histogramdd(
            frame[list(some)].to_numpy(),
            bins=[np.arange(sizes[names.index(at)] + 1) for at in some],
        )[0].ravel()
        if some
        else np.array([SIZE], float)
        for some in sets
    }
    errors, held = [], []
    for _ in range(draws):
        with dp.open({"t": pa.table(frame)}, policy=policy, test_mode=True) as session:
            asked = (
                session.marginals("t", *names, ways=ways[0], rho="0.5")
                if len(ways) == 1
                else session.ask(question, rho="0.5")
            )
        tables = asked.tables()
        for some, right in truth.items():
            table = tables[some]
            found, low, high = (
                table[each].to_numpy() for each in ("count", "count_low", "count_high")
            )
            errors.append(found - right)
            held.append((low <= right) & (right <= high))
    apart = sum(map(math.sqrt, cells)) / math.sqrt(sum(cells))
    return AccuracyRow(
        question=name,
        epsilon="rho 1/2",
        ours=float(np.sqrt(np.mean(np.concatenate(errors) ** 2))),
        other=apart,
        who="OpenDP, Tumult: separate tables",
        law=True,
        covered=float(np.mean(np.concatenate(held))),
    )


def _profile(draws: int) -> AccuracyRow:
    """Compare medians of a profile with questions for each: errors of ranks, in percentiles."""
    generator = np.random.default_rng(2)
    data = {f"c{at}": generator.gamma(1 + at % 9, 10.0 ** (at % 5), ROWS) for at in range(COLUMNS)}
    lines = [
        f'{name} = {{type = "float", low = 0, high = {10.0 ** (at % 5) * 100}, nullable = false}}'
        for at, name in enumerate(data)
    ]
    policy = "\n".join(['format = 1\nunit = "row"\n[tables.t.columns]', *lines])
    few = list(data)[::10]
    ours, apart = [], []
    for _ in range(draws):
        with dp.open({"t": pa.table(data)}, policy=policy, test_mode=True) as session:
            found = session.profile("t", epsilon=1, delta="1e-6")
            ours += [_percentile(values, found[name].median) for name, values in data.items()]
            for name in few:
                text = f"SELECT MEDIAN({name}) AS m FROM t"  # noqa: S608
                median = session.ask(text, epsilon="0.01")["m"][0].as_py()
                apart.append(_percentile(data[name], median))
    return AccuracyRow(
        question="profile of 100 columns: percentiles of medians",
        epsilon="1",
        ours=float(np.sqrt(np.mean(np.square(ours)))),
        other=float(np.sqrt(np.mean(np.square(apart)))),
        who="a question for each, 1/100",
    )


def _percentile(values: np.ndarray, median: float) -> float:
    return 100 * float(np.mean(values < median)) - 50
