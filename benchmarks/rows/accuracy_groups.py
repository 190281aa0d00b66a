"""Groups that are chosen privately: errors of their counts and sums, and from how many units on.

People have eight rows in each of four groups.  PipelineDP (Google) divides epsilon equally among
the choice of groups, a count and a sum around the middle of the bounds; OpenDP has no choice apart,
and shows a group if its noisy count of rows is high enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.rows.accuracy_tables import AccuracyRow, Bench

DELTA: Final = Fraction(1, 10**9)
EPSILONS: Final = ("0.5", "1", "4")
ROWS, GROUPS, HIGH = 8, 4, 2000
PEOPLE, SHOPS = 6000, 12
POLICY: Final = f"""
format = 1
unit = "person"
[limits]
max_rows = {ROWS}
max_groups = {GROUPS}
[tables.t.columns]
person = {{type = "integer", nullable = false}}
x = {{type = "integer", low = 0, high = {HIGH}, nullable = false}}
"""
QUESTIONS: Final = {
    "persons": "COUNT(DISTINCT person) AS n",
    "COUNT(*)": "COUNT(*) AS n",
    "COUNT, SUM, AVG": "COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a",
}


def rows(bench: Bench) -> Iterator[AccuracyRow]:
    """Yield what is measured and where groups begin, for each question and price."""
    data = _people()
    for name, select in QUESTIONS.items():
        for text in EPSILONS:
            yield from _asked(data, name, select, text, max(10, bench.draws // 5))


def _people() -> pa.Table:
    person = np.repeat(np.arange(PEOPLE), GROUPS * ROWS)
    turn = np.tile(np.repeat(np.arange(GROUPS), ROWS), PEOPLE)
    x = np.minimum(np.random.default_rng(1).gamma(2.0, 250.0, person.size), HIGH)
    shop = (person + turn * 3) % SHOPS
    return pa.table({"person": person, "shop": shop, "x": x.astype(np.int64)})


def _asked(data: pa.Table, name: str, select: str, text: str, draws: int) -> Iterator[AccuracyRow]:
    frame = data.to_pandas()
    by = frame.groupby("shop")
    truth = {
        "n": by["person"].nunique() if name == "persons" else by.size(),
        "s": by["x"].sum(),
        "a": by["x"].mean(),
    }
    question = f"SELECT shop, {select} FROM t GROUP BY shop"  # noqa: S608  (ours)
    found: dict[str, list[tuple[float, bool]]] = {}
    for _ in range(draws):
        with dp.open({"t": data}, policy=POLICY, test_mode=True) as session:
            plan = session.plan(question, epsilon=text, delta=DELTA)
            answer = session.ask(plan).to_arrow(unclipped=True).to_pylist()
        for row in answer:
            for output in truth.keys() & row.keys():
                right = float(truth[output][row["shop"]])
                held = row[f"{output}_low"] <= right <= row[f"{output}_high"]
                found.setdefault(output, []).append((row[f"{output}_unclipped"] - right, held))
    known = _laws(name, float(text), frame)
    for output, pairs in found.items():
        errors = np.array([error for error, _ in pairs])
        for who, other in known[output].items():
            yield AccuracyRow(
                question=f"private groups, {name}: {output}",
                epsilon=text,
                ours=float(np.sqrt(np.mean(errors**2))),
                other=other,
                who=who,
                law=True,
                covered=float(np.mean([held for _, held in pairs])),
            )
    assert plan.selection is not None  # noqa: S101  (groups are private)
    for who, other in known["from"].items():
        yield AccuracyRow(
            question=f"private groups, {name}: half are shown from",
            epsilon=text,
            ours=float(plan.selection.smallest(Fraction(1, 2))),
            other=other,
            who=who,
            law=True,
        )


def _laws(name: str, epsilon: float, frame: object) -> dict[str, dict[str, float]]:
    """Return the errors of others, and the units of which half of their groups are shown."""
    root, scale = math.sqrt(2), GROUPS * (1 if name == "persons" else ROWS) / epsilon
    parts = 3 if "SUM" in name else 2
    google = "PipelineDP"
    mean = float(frame["x"].mean()) - HIGH / 2  # type: ignore[index]
    size = GROUPS * ROWS * PEOPLE / SHOPS
    count = parts * scale * root
    total = count * HIGH / 2
    begins = dp.mechanisms.OptimalKeys(
        epsilon=Fraction(epsilon) / parts / GROUPS,
        delta=DELTA / GROUPS,
        groups=GROUPS,
        relation="add_remove",
    ).smallest(Fraction(1, 2))
    found = {
        "n": {google: count},
        "s": {google: math.hypot(total, HIGH / 2 * count)},
        "a": {google: math.hypot(total, mean * count) / size},
        "from": {google: float(begins)},
    }
    if parts == 2:
        tail = math.log(GROUPS / (2 * float(DELTA)))
        label = "OpenDP" if name == "persons" else "OpenDP, rows"
        found["n"][label] = scale * root
        found["from"][label] = scale * tail + (1 if name == "persons" else ROWS)
    return found
