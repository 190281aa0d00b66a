"""The clinic that is attacked, and what one person moves before noise is added."""

import tempfile
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from discreet import Budget
from discreet.accounting import Leaf
from discreet.engines.engine import HashOrder
from discreet.mechanisms import SumKeys
from discreet.mechanisms.additive import AdditiveNoise
from discreet.plan.pricing.linear_strategy import SimplexTotals
from discreet.requests.raw_totals import RawTotals
from discreet.session import open as opened

LEVEL = Fraction(1, 10**6)
"""The chance that any bound on any promise is too high."""
SHARE = LEVEL / 100
"""The level of one of them: there are fewer than a hundred that rest on answers."""

POLICY = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
[tables.visits.columns]
patient = {type = "integer"}
ward = {type = "text", categories = ["A", "B", "C"]}
city = {type = "text"}
cost = {type = "float", low = 0, high = 100}
age = {type = "integer", low = 0, high = 110}
note = {type = "text"}
day = {type = "date"}
"""
"""Public wards, private cities, bounds for cost and age; notes may hold anything."""

COLUMNS = pa.schema(
    [
        ("patient", pa.int64()),
        ("ward", pa.string()),
        ("city", pa.string()),
        ("cost", pa.float64()),
        ("age", pa.int64()),
        ("note", pa.string()),
        ("day", pa.date32()),
    ]
)

AGGREGATES = (
    "COUNT(*)",
    "COUNT(cost)",
    "COUNT(DISTINCT patient)",
    "COUNT(DISTINCT city)",
    "COUNTIF(age > 40)",
    "SUM(cost)",
    "AVG(cost)",
    "VAR_POP(cost)",
    "STDDEV(cost)",
    "MEDIAN(age)",
    "MAX(age)",
    "APPROX_QUANTILES(age, 4)",
    "MODE(ward)",
)
"""One of every kind of aggregate."""
ONE_AGGREGATE = "SELECT {} AS a FROM visits"

QUESTIONS = (
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM visits GROUP BY ward",
    "SELECT ward, SUM(age) AS s, COUNT(DISTINCT patient) AS p FROM visits GROUP BY ward",
    "SELECT STDDEV(cost) AS d, VAR_POP(age) AS v FROM visits",
    "SELECT MEDIAN(age) AS m, MAX(cost) AS top FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE cost / age > 1 AND CAST(note AS INTEGER) > 0",
    "SELECT COUNT(*) AS n FROM visits WHERE CAST(note AS DATE) > DATE '2020-01-01'",
    "SELECT SUM(LENGTH(note), contribution_bounds_per_row => (0, 9)) AS s FROM visits",
    "SELECT SUM(age * age, contribution_bounds_per_row => (0, 9)) AS s FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE UPPER(note) LIKE '%A%' AND EXTRACT(YEAR FROM day) > 5",
)
"""Questions about everybody, or about public groups: the shape of an answer is known before."""


def row_of(patient, /, **changes):
    """Return one visit."""
    return {
        "patient": patient,
        "ward": "AB"[patient % 2],
        "city": "xyz"[patient % 3],
        "cost": 10.0 + patient % 7,
        "age": 20 + patient % 60,
        "note": "a note",
        "day": date(2025, 1, 1 + patient % 28),
    } | changes


def visits(patients=30, *more):
    """Return a table in which each patient has two visits, and perhaps more rows."""
    rows = [row_of(patient) for patient in range(patients) for _ in range(2)]
    return pa.Table.from_pylist([*rows, *more], schema=COLUMNS)


@contextmanager
def clinic(table, **changes):
    """Open a table with a ledger of its own, which is thrown away."""
    options = {"policy": POLICY, "budget": Budget(epsilon=1000, delta="1/1000"), **changes}
    with (
        tempfile.TemporaryDirectory() as folder,
        opened({"visits": table}, ledger=Path(folder) / "clinic.ledger", **options) as session,
    ):
        yield session


@contextmanager
def rehearsed(table, **changes):
    """Open a table without a ledger, in test mode."""
    options = {"policy": POLICY, **changes}
    with opened({"visits": table}, test_mode=True, **options) as session:
        yield session


class Moved(NamedTuple):
    """How far a measure moved, and how far it may: both squared where noise is Gaussian."""

    measure: str
    found: int
    allowed: Fraction

    @property
    def too_far(self):
        """Whether the noise is too small for it."""
        return self.found > self.allowed

    @property
    def share(self):
        """The part of what is allowed."""
        return float(self.found / self.allowed) if self.allowed else float(self.found > 0)


def totals_of(session, plan, *, salt=0):
    """Compute the totals of a plan, exactly as an answer would."""
    raw = session._engine.run(plan.request, order=HashOrder(salt=salt))
    groups = list(zip(*(key.to_pylist() for key in raw.keys), strict=True)) if raw.keys else [()]
    measures = {"units": raw.units, **raw.totals}
    return {
        name: dict(zip(groups, values.tolist(), strict=True)) for name, values in measures.items()
    }


def _corners(strategy, totals):
    """Return the sums of a strategy, by group and place."""
    groups = list(totals["units"])
    arrays = {
        name: np.array([found.get(group, 0) for group in groups], np.int64)
        for name, found in totals.items()
    }
    raw = RawTotals(keys=(), units=arrays.pop("units"), totals=arrays, leaves={})
    sums = strategy.read(raw, np.arange(len(groups))).tolist()
    size = len(strategy.sums)
    return {(groups[at // size], at % size): each for at, each in enumerate(sums)}


def moves(plan, here, there):
    """Compare two totals with what every release of the plan is priced for."""
    leaves = {node.name: node for node in plan.tree.walk() if isinstance(node, Leaf)}
    measured = {name: (here[name], there[name]) for name in here}
    for noise in plan.noises:
        strategy = noise.distances.strategy
        if strategy is not None and isinstance(strategy.source, SimplexTotals):
            measured[noise.measure] = tuple(_corners(strategy, each) for each in (here, there))
    moved = []
    for name, (one, other) in measured.items():
        leaf = leaves.get(name)
        if leaf is None:
            continue
        groups = {*one, *other}
        steps = [one.get(group, 0) - other.get(group, 0) for group in groups]
        keys = leaf.source if isinstance(leaf.source, SumKeys) else None
        noise = leaf.source if keys is None else keys.noise
        squared = isinstance(noise, AdditiveNoise) and noise.norm == 2
        length = sum(step * step for step in steps) if squared else sum(map(abs, steps))
        claim = leaf.added**2 if squared else leaf.added
        if keys is not None:
            claim = keys.groups * (keys.squared if squared else keys.most)
        moved.append(Moved(name, length, claim))
    return moved
