"""Profiles of tables: what one unit moves, what it costs, how exact it is, and how it is shown."""

import itertools
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.engine import HashOrder
from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.extend import Facts, Program
from discreet.profile.columns import Scale
from discreet.profile.tree import measured_distribution
from discreet.query.types import Type
from discreet.units import Relation
from tests.reference.engine import Reference

POLICY = """
format = 1
unit = "person"
[limits]
max_rows = {rows}
max_groups = {groups}
[tables.visits.columns.ward]
type = "text"
categories = ["A", "B"]
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
"""
TYPES = {
    "person": Type.INTEGER,
    "ward": Type.TEXT,
    "age": Type.INTEGER,
    "cost": Type.FLOAT,
    "town": Type.TEXT,
    "day": Type.DATE,
    "ill": Type.BOOLEAN,
}
ARROW = pa.schema(
    [
        ("person", pa.int64()),
        ("ward", pa.string()),
        ("age", pa.int64()),
        ("cost", pa.float64()),
        ("town", pa.string()),
        ("day", pa.date32()),
        ("ill", pa.bool_()),
    ]
)
DAY = date(2024, 2, 29)


def visits(patients=400):
    """Two visits of every person."""
    return [
        {
            "person": who,
            "ward": "AB"[who % 2] if who % 5 else None,
            "age": who % 80,
            "cost": 2.5 * (who % 3) - 1,
            "town": ("Ulm", "Bonn", "Ulm", f"hamlet {who}")[who % 4],
            "day": DAY + timedelta(days=who % 30),
            "ill": who % 4 == 0,
        }
        for who in range(patients)
        for _ in range(2)
    ]


def opened(rows=None, *, limits=(2, 2), **more):
    policy = POLICY.format(rows=limits[0], groups=limits[1])
    more = more or {"test_mode": True}
    return dp.open({"visits": pa.Table.from_pylist(rows or visits(), ARROW)}, policy=policy, **more)


def people():
    """What each of three people may have: one row, many equal ones, or all kinds of rows."""
    plain = {"ward": "A", "age": 7, "cost": 0.5, "town": "Ulm", "day": DAY, "ill": True}
    odd = {"ward": "C", "age": -9, "cost": -1e300, "town": None, "day": date.max, "ill": None}
    kinds = [plain, odd, plain | {"cost": None, "town": "Bonn"}, odd | {"age": 10**17}]
    kinds += [plain | {"ward": None, "age": None, "day": None, "town": "Wien", "cost": 3e9}]
    return [[plain], [plain] * 5, kinds]


@pytest.mark.theorem("profile-levels")
@pytest.mark.parametrize("limits", [(1, 1), (2, 1), (3, 2), (5, 5)])
def test_one_person_moves_every_sum_by_no_more_than_is_priced(limits):
    """All subsets of three people, and all tables with one person more, by brute force."""
    with opened(limits=limits) as session:
        plan = session.plan_profile(epsilon=1, delta="1e-6")
    draw = plan.program.draw
    found = {}
    for who in itertools.product([False, True], repeat=3):
        rows = [{"person": n} | row for n in range(3) if who[n] for row in people()[n]]
        engine = Reference({"visits": rows}, {"visits": TYPES})
        found[who] = [
            engine.run(read, order=HashOrder(salt=1, portable=True)) for read in plan.program.reads
        ]
    attained = 0
    for fewer, more in itertools.permutations(found, 2):
        if sum(more) != sum(fewer) + 1 or any(a > b for a, b in zip(fewer, more, strict=True)):
            continue
        one, other = found[fewer][0], found[more][0]
        for name in one.totals:
            gained = int(other.totals[name][0]) - int(one.totals[name][0])
            assert 0 <= gained <= (1 if name == "people" else draw.rows), name
        for place, column in enumerate(draw.columns):
            counts = {}
            for sign, raw in ((1, other), (-1, one)):
                _, leaves, rows = raw.leaves[f"leaves {place}"]
                for leaf, count in zip(leaves.tolist(), rows.tolist(), strict=True):
                    assert 0 <= leaf < column.size
                    counts[leaf] = counts.get(leaf, 0) + sign * count
            assert min(counts.values()) >= 0
            assert sum(counts.values()) <= draw.rows
            attained = max(attained, sum(counts.values()))
        for before, after in zip(found[fewer][1:], found[more][1:], strict=True):
            known = dict(zip(before.keys[0].to_pylist(), before.totals["rows"], strict=True))
            named = zip(after.keys[0].to_pylist(), after.totals["rows"], strict=True)
            moved = [int(count) - int(known.get(town, 0)) for town, count in named]
            assert sum(1 for each in moved if each) <= draw.schedule.keys.groups
            assert all(0 <= each <= draw.schedule.keys.most for each in moved)
    assert attained == draw.rows


@pytest.mark.theorem("profile-levels")
def test_levels_move_by_one_person_whatever_noise_has_chosen():
    """The same noise on neighbors chooses the same nodes, and each level moves by r at most."""
    generator = np.random.default_rng(5)
    for _ in range(40):
        codes, counts = generator.integers(0, 4**5, 30), generator.integers(0, 9, 30)
        drawn = generator.normal(0, 6, (5, 400)).round().astype(np.int64)
        mine = generator.integers(0, 4**5, 3)
        first = vectors(codes, [*counts, *np.zeros(len(mine), int)], mine, drawn, [])
        second = vectors(codes, [*counts, *np.ones(len(mine), int)], mine, drawn, first)
        for one, other in zip(first, second, strict=True):
            assert 0 <= (other - one).min() <= np.abs(other - one).sum() <= 3


def vectors(codes, counts, mine, noise, replayed):
    """Return what is measured at each level; what was answered before is answered again."""
    seen = []

    def measure(values):
        seen.append(values)
        answered = (replayed or seen)[len(seen) - 1]
        assert values.size == answered.size <= 193
        return answered + noise[len(seen) - 1][: answered.size]

    measured_distribution(
        np.concatenate([codes, mine]),
        np.array(counts),
        4,
        levels=5,
        rows=(150.0, 9.0),
        deviation=6.0,
        measure=measure,
    )
    return seen


def test_a_hundred_medians_at_epsilon_one():
    """At least 80 of 100 medians lie within 5 percentiles of 20,000 rows.

    The forecast of each rank is below 5 percentiles at confidence 0.95: more than 20 of 100 miss
    with a chance below 1e-6, even if each misses with one in 20.
    """
    generator, n = np.random.default_rng(3), 20_000
    shapes = [
        lambda: generator.lognormal(3, 2, n),
        lambda: generator.integers(1900, 2020, n),
        lambda: generator.normal(0, 1, n),
        lambda: generator.poisson(2, n),
        lambda: -generator.pareto(1, n) * 1e4,
        lambda: (generator.random(n) < 0.4) * generator.exponential(1000, n),
        lambda: generator.integers(0, 10**9, n),
        lambda: generator.choice([1.5, 2.5, 9.75], n),
        lambda: generator.beta(0.5, 0.5, n),
        lambda: generator.integers(0, 2, n),
    ]
    values = {f"c{i}": shapes[i % 10]() for i in range(100)}
    with dp.open(
        {"wide": pa.table(values)}, unit=dp.row(), policy="format = 1", test_mode=True
    ) as session:
        plan = session.plan_profile(epsilon=1, delta="1e-9", size=n)
        assert max(line.rows for line in plan.forecast) < 0.05 * n
        assert 0.99 < plan.price.epsilon <= 1
        assert plan.price.delta <= 1e-9
        found = session.profile(plan)
    missed = 0
    for name, column in values.items():
        below, upto = (column < found[name].median).mean(), (column <= found[name].median).mean()
        missed += not below - 0.05 <= 0.5 <= upto + 0.05
    assert missed <= 20


def test_numbers_that_noise_has_made_are_not_printed():
    policy = (
        'format = 1\n[tables.t.columns.kind]\ntype = "text"\nnullable = false\n'
        'categories = ["much", "none", "few"]\n'
        '[tables.t.columns.age]\ntype = "integer"\nnullable = false\nlow = 0\nhigh = 99'
    )
    kinds = {"kind": ["much"] * 3000 + ["few"] * 5, "age": [at % 99 for at in range(3005)]}
    with dp.open({"t": pa.table(kinds)}, unit=dp.row(), policy=policy, test_mode=True) as session:
        for turn in range(20):
            found = session.profile(epsilon=f"0.0{turn + 10}", delta="1e-9")
            assert found["age"].null_share == 0
            rows = dict(found["kind"].top)
            assert {"few", "none"} <= rows.keys()  # in the data of the profile, as they are
            for name in ("few", "none"):
                assert (f"{name} " in found["kind"].sentence()) == (
                    rows[name] >= found["kind"].error
                )


@pytest.mark.parametrize("unit", ["person", "row"])
def test_everything_is_right_without_noise(unit):
    if unit == "row":
        table = pa.Table.from_pylist(visits(), ARROW)
        session = dp.open({"visits": table}, unit=dp.row(), policy="format = 1", test_mode=True)
    else:
        session = opened(limits=(2, 1))
    with session:
        found = session.profile(epsilon=10**6, delta="1e-6", confirm=True)
    assert found.rows == 800
    assert found.people == (400 if unit == "person" else None)
    assert found["age"].median in {39, 40}
    assert [triple[0] for triple in found["cost"].quartiles] == [-1.0, 1.5, 4.0]
    assert found["cost"].distinct == 3
    assert found["day"].median in {"2024-03-14", "2024-03-15"}
    assert found["ward"].null_share == pytest.approx(0.2, abs=0.001)
    assert found["ill"].top == ((False, 600), (True, 200))
    assert found["town"].top[0] == ("Ulm", 400)
    assert sum(found["age"].bars[1]) == pytest.approx(800, abs=2)
    with pytest.raises(DiscreetError, match="no column"):
        found["doctor"]


def test_timestamps_and_wide_numbers_without_bounds():
    start = datetime(2023, 5, 1, 12)  # noqa: DTZ001  (columns have no time zone)
    table = {
        "at": [start + timedelta(hours=n) for n in range(1001)],
        "big": [(n - 500) * 10**15 for n in range(1001)],
    }
    with dp.open({"t": pa.table(table)}, unit=dp.row(), test_mode=True) as session:
        found = session.profile(rho=10**6, confirm=True)
    assert found["at"].median == "2023-05-22T00:00:00"
    assert abs(found["big"].median) <= 10**15
    codes = np.arange(4**9)
    for kind in (Type.INTEGER, Type.FLOAT):
        scale = Scale.of(Facts(type=kind))
        edges = np.array([scale.edge(int(code)) for code in codes[::97]], np.int64)
        inside = (edges[1:] > edges[:-1]) & (edges[1:] < scale.leaves)
        assert (scale.codes(edges[1:][inside]) == codes[::97][1:][inside]).all()


def test_a_profile_is_paid_once_and_shown_in_every_way(tmp_path):
    budget = dp.Budget(epsilon=3, delta="1e-6")
    with opened(ledger=tmp_path / "a.ledger", budget=budget) as session:
        plan = session.plan_profile("visits", epsilon=1, size=800)
        assert "quartiles ±" in str(plan)
        assert session.remaining.share == 1
        first, again = session.profile(plan), session.profile("visits", epsilon=1)
        assert again.replayed
        assert first.to_dict()["columns"] == again.to_dict()["columns"]
        assert session.plan_profile("visits", epsilon=1).budget_preview.entry is not None
        assert "already paid" in str(again)
        page = first.html()
        assert page.count("<svg") == 6
        assert "TEST MODE" not in page
        frame = first.to_pandas()
        assert list(frame["column"]) == ["ward", "age", "cost", "town", "day", "ill"]
        assert frame["median_time"].notna().sum() == 1
        assert str(first).count("\n") == 9


@pytest.mark.parametrize("relation", list(Relation)[:2])
def test_prices_of_all_kinds_are_kept(relation):
    table = pa.Table.from_pylist(visits(), ARROW)
    unit = dp.person("person", relation=relation)
    policy = POLICY.replace('unit = "person"\n', "").format(rows=2, groups=2)
    with dp.open({"visits": table}, unit=unit, policy=policy, test_mode=True) as session:
        pure = session.plan_profile(epsilon=2)
        assert pure.price.epsilon == 2
        assert not pure.price.delta
        assert "takes a delta" in str(pure)
        rho = session.plan_profile(rho="0.1")
        assert 0.098 < rho.price.rho <= 0.1
        both = session.plan_profile(epsilon=1, delta="1e-6")
        assert 0.98 < both.price.epsilon <= 1
        assert session.profile(pure)["town"].top is None


def test_a_forged_profile_is_refused():
    """Draws with the requests of others, which bound a person less, and with cheaper noise."""
    plans = {}
    for limits in ((1, 1), (2, 1), (2, 2)):
        with opened(limits=limits) as session:
            plans[limits] = session.plan_profile(epsilon=1, delta="1e-6")
            plans[*limits, "pure"] = session.plan_profile(epsilon=1)
            rows = session.program_rows(plans[limits].program.question)
    known, cheap = plans[2, 2].program.draw, plans[1, 1].schedule
    keys = replace(plans[2, 2].schedule, keys=cheap.keys)
    for draw, reads in (
        (plans[1, 1, "pure"].program.draw, plans[2, 2, "pure"].program.reads),
        (plans[2, 1].program.draw, plans[2, 2].program.reads),
        (known, plans[2, 1].program.reads),
        (replace(known, schedule=cheap), plans[2, 2].program.reads),
        (replace(known, schedule=keys), plans[2, 2].program.reads),
        (replace(known, schedule=replace(cheap, keys=None)), plans[2, 2].program.reads),
    ):
        with pytest.raises(OutOfRange, match="other bounds"):
            Program.of(rows, unit=draw.unit, reads=reads, delta=None, draw=draw)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 1, "columns": ["doctor"]}, "columns must be names"),
        ({"epsilon": 1, "columns": "age"}, "columns must be names"),
        ({"epsilon": 1, "columns": []}, "1 to 1000 columns"),
        ({"epsilon": 1, "table": "wards"}, "no table wards"),
        ({}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_spent(given, words):
    with opened() as session, pytest.raises(DiscreetError, match=words):
        session.plan_profile(**given)


def test_a_plan_has_its_price():
    with opened() as session:
        plan = session.plan_profile(epsilon=1)
        with pytest.raises(WrongKind, match="has its price"):
            session.profile(plan, epsilon=1)


def test_bounds_with_more_integers_than_fit_are_no_bounds():
    low, high = Fraction(-(2**62)), Fraction(2**62)
    wide = Scale.of(Facts(type=Type.INTEGER, low=low, high=high))
    assert not wide.declared
    assert wide.leaves < 2**63
