"""Windows over released groups: the values of an engine, and intervals that hold the truth."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.aggregates import noisy_totals as group_sums
from discreet.errors import UnsupportedSQL, WrongKind
from discreet.mechanisms import Laplace
from discreet.noise import KeyedEntropy
from discreet.plan.noise_errors import half_width
from discreet.query.expressions import Column, Grouped, Literal, Order, Window
from discreet.query.types import Type
from discreet.release import columns as group_order
from discreet.release.answer import answer
from discreet.release.columns import Frames
from discreet.release.combination import combine, gains
from discreet.release.formulas import Formulas, Vector
from discreet.release.release import Release
from discreet.requests.raw_totals import RawTotals
from tests.plan.clinic import planned

NUMBERS = st.none() | st.integers(-3, 3)
SQL = {
    "ROW_NUMBER": "row_number()",
    "RANK": "rank()",
    "DENSE_RANK": "dense_rank()",
    "COUNT": "count(a0)",
    "SUM": "sum(a0)",
    "MIN": "min(a0)",
    "MAX": "max(a0)",
    "FIRST_VALUE": "first_value(a0)",
    "LAG": "lag(a0, 2)",
    "LEAD": "lead(a0, 1)",
}
ENGINE = duckdb.connect()
SHIFTS = {"LAG": 2, "LEAD": 1}


@pytest.mark.theorem("post-processing")
@given(
    rows=st.lists(NUMBERS, max_size=7),
    name=st.sampled_from(list(SQL)),
    parts=st.booleans(),
    order=st.sampled_from([None, "k", "a0"]),
    descending=st.booleans(),
)
def test_windows_over_groups_are_those_of_an_engine(rows, name, parts, order, descending):
    keys = pa.array(range(len(rows)), pa.int64())
    formulas = Formulas(
        columns={"a0": Vector.read(pa.array(rows, pa.int64()), Type.INTEGER)},
        keys=(Vector.read(keys, Type.INTEGER), Vector.read(_halves(rows), Type.INTEGER)),
        size=len(rows),
    )
    looked = () if name in {"ROW_NUMBER", "RANK", "DENSE_RANK"} else (Column("a0"),)
    looked += (Literal(SHIFTS[name]),) if name in SHIFTS else ()
    by = {"k": Grouped(0), "a0": Column("a0")}
    items = () if order is None else (Order(by[order], descending, not descending),)
    window = Window(name, looked, (Grouped(1),) if parts else (), items)
    found = Frames.of(window, formulas).values(formulas).to_list()
    assert found == _engine(rows, name, parts, order, descending)


def _halves(rows):
    return pa.array([at % 2 for at in range(len(rows))], pa.int64())


def _engine(rows, name, parts, order, descending):
    """Ask DuckDB; where the order leaves a tie that matters, keys decide."""
    nulls = "DESC NULLS LAST" if descending else "ASC NULLS FIRST"
    listed = [] if order is None else [f"{order} {nulls}"]
    peers = name in {"RANK", "DENSE_RANK", "COUNT", "SUM", "MIN", "MAX"}
    if not peers:
        listed.append("k")
    over = ("PARTITION BY h " if parts else "") + (f"ORDER BY {', '.join(listed)}" * bool(listed))
    t = pa.table({"k": range(len(rows)), "a0": pa.array(rows, pa.int64()), "h": _halves(rows)})
    text = f"SELECT {SQL[name]} OVER ({over}) FROM t ORDER BY k"  # noqa: S608 (listed above)
    ENGINE.register("t", t)
    return [row[0] for row in ENGINE.execute(text).fetchall()]


QUESTION = """
SELECT ward, age, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY ward ORDER BY age DESC) AS upto,
  SUM(SUM(stay)) OVER (ORDER BY ward, age) AS stays, COUNT(*) / SUM(COUNT(*)) OVER () AS share,
  LAG(COUNT(*), 1) OVER (ORDER BY ward, age) AS before, AVG(COUNT(*)) OVER () AS mean,
  COUNT(*) OVER () AS number, RANK() OVER (ORDER BY COUNT(*) DESC) AS place
FROM visits WHERE ward IN ('A', 'B') AND age IN (1, 2, 3)
GROUP BY ward, age ORDER BY ward, age"""


def _table(rows=60):
    cells = itertools.cycle(itertools.product(("A", "A", "B"), (1, 2, 3, 3, 2, 3, 3)))
    listed = [
        {"id": at, "ward": ward, "age": age, "stay": at % 8 - 3}
        for at, (ward, age) in zip(range(rows), cells, strict=False)
    ]
    return pa.Table.from_pylist(listed)


def _session(table):
    policy = """
        format = 1
        unit = "id"
        [limits]
        max_rows = 1
        max_groups = 1
        max_epsilon_per_question = 100000
        [tables.visits.columns]
        id.type = "integer"
        ward = {type = "text"}
        age = {type = "integer"}
        stay = {type = "integer", low = -3, high = 4}
    """
    return dp.open(
        {"visits": table}, policy=policy, budget=dp.Budget(epsilon=10**6), test_mode=True
    )


def test_without_noise_an_answer_is_the_engines():
    table = _table()
    release = _session(table).ask(QUESTION, epsilon=5000)
    with duckdb.connect() as engine:
        engine.register("visits", table)
        true = engine.sql(QUESTION).to_arrow_table().to_pylist()
    assert [{name: row[name] for name in true[0]} for row in release.rows()] == true
    for row in release.rows():
        assert row["n_low"] == row["n_high"] == row["n"]
        assert row["upto_low"] == row["upto_high"] == row["upto"]
        assert row["stays_low"] == row["stays_high"] == row["stays"]
        assert row["share_low"] <= row["share"] <= row["share_high"]
        assert row["place_low"] is None
        assert "number_low" not in row


def _plan(text, groups, **price):
    listed = ", ".join(map(str, range(groups)))
    return planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) "  # noqa: S608
        f"age, {text} FROM visits WHERE age IN ({listed}) GROUP BY age",
        **(price or {"epsilon": 1}),
    )


def _raw(plan, counts):
    keys = (pa.array([group[0] for group in plan.request.listed], pa.int64()),)
    (step,) = {getattr(each.estimator, "step", 1) for each in plan.estimates}
    scaled = 3 * np.array(counts) * int(1 / step)
    totals = {measure.name: scaled for measure in plan.request.measures}
    return RawTotals(keys=keys, units=np.array(counts), totals=totals, leaves={})


def _misses(plan, counts, draws, name="r"):
    """Count how often the interval of a running sum misses, in each group."""
    missed = np.zeros(len(counts), int)
    truth = np.cumsum(3 * np.array(counts))
    for draw in range(draws):
        entropy = KeyedEntropy(key=bytes(32), label=f"windows {draw}")
        release = answer(plan, _raw(plan, counts), entropy=entropy)
        low, high = (release[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
        missed += (truth < low) | (truth > high)
    return missed


WINDOWS = ["SUM(COUNT(*)) OVER (ORDER BY age) AS r", "SUM(SUM(stay)) OVER (ORDER BY age) AS r"]
COUNTS = [300 + 7 * at for at in range(6)]
DRAWS = 120
MOST = next(  # the chance of more misses in a group is below 1e-7, and of all of them 1e-6
    most
    for most in range(DRAWS)
    if sum(math.comb(DRAWS, k) * 0.05**k * 0.95 ** (DRAWS - k) for k in range(most + 1)) > 1 - 1e-7
)


@pytest.mark.parametrize(
    ("text", "price"), [(WINDOWS[0], {"epsilon": 1}), (WINDOWS[1], {"rho": 1})], ids=str
)
def test_intervals_of_running_sums_hold_the_truth(text, price):
    """False alarms below 2e-6 for both cases."""
    missed = _misses(_plan(text, 6, **price), COUNTS, DRAWS)
    assert max(missed) <= MOST
    assert sum(missed) >= DRAWS * 6 * 0.02  # and are not much too wide


MANY = [50 + at % 3 for at in range(40)]


@pytest.mark.parametrize(("groups", "price"), [(40, {"epsilon": 1}), (10, {"rho": 1})], ids=str)
def test_intervals_of_a_strategy_hold_the_truth(groups, price, monkeypatch):
    """False alarms below 8e-6 for both cases; a mutant with half the width is caught."""
    plan = _plan(WINDOWS[0], groups, **price)
    assert plan.noises[0].distances.strategy.source.frames
    missed = _misses(plan, MANY[:groups], DRAWS)
    assert max(missed) <= MOST
    assert sum(missed) >= DRAWS * groups * 0.02
    monkeypatch.setattr(group_sums, "half_width", lambda *known: half_width(*known) / 2)
    assert sum(_misses(plan, MANY[:groups], 40)) > 0.15 * 40 * groups


@pytest.mark.parametrize("window", ["", ", COUNT(*) AS n", ", LAG(COUNT(*)) OVER () AS b"])
def test_without_noise_a_strategy_gives_the_running_counts(window):
    plan = _plan("SUM(COUNT(*)) OVER (ORDER BY age DESC) AS r" + window, 40, rho=1)
    (noise,) = plan.noises
    assert noise.distances.strategy.source.frames
    still = replace(plan, noises=(replace(noise, mechanism=Laplace(scale=Fraction(1, 99))),))
    raw, shuffled = _raw(still, MANY), np.random.default_rng(1).permutation(40)
    true = np.cumsum(raw.totals["count"][::-1])[::-1]
    mixed = RawTotals(
        keys=(raw.keys[0].take(pa.array(shuffled)),),
        units=raw.units[shuffled],
        totals={"count": raw.totals["count"][shuffled]},
        leaves={},
    )
    for each in (raw, mixed):
        release = answer(still, each)
        assert release["r"].to_pylist() == release["r_low"].to_pylist() == true.tolist()
        if "n" in release.names:
            assert release["n"].to_pylist() == raw.totals["count"].tolist()


def test_answers_by_a_strategy_are_written_and_not_combined():
    plan, other = (_plan(WINDOWS[0], 40, epsilon=price) for price in (1, 2))
    first, second = (answer(each, _raw(each, MANY)) for each in (plan, other))
    read = Release.read(first.written(), plan)
    assert Release.of(plan, read.parts).rows() == first.rows()
    assert not gains(first.parts, other)
    with pytest.raises(WrongKind, match="not to the same question"):
        combine(first, second)


def test_intervals_of_one_group_do_not_hold_a_running_sum(monkeypatch):
    """A mutant: frames as if they held one group."""
    monkeypatch.setattr(group_order, "_few_bits", lambda size: 1)
    plan = _plan(WINDOWS[1], 6)
    assert max(_misses(plan, COUNTS, DRAWS)) > MOST


def test_running_sums_are_ten_times_more_exact_than_thresholds():
    plan = _plan(WINDOWS[0], 100)
    alone = Laplace(scale=100 * 3).error(confidence=plan.confidence)
    (error,) = plan.predicted
    assert error.half_width * 10 <= alone
    assert "at most" in error.words


REFUSED = {
    "groups of which some may not be shown": [
        "SELECT city, SUM(COUNT(*)) OVER (ORDER BY city) AS r FROM visits GROUP BY city",
        "SELECT ward, SUM(COUNT(*)) OVER () AS r FROM visits GROUP BY ward HAVING COUNT(*) > 3",
    ],
    "a window is used in HAVING": [
        "SELECT ward FROM visits GROUP BY ward HAVING RANK() OVER (ORDER BY COUNT(*)) = 1"
    ],
    "a window is used in a window": [
        "SELECT ward, SUM(SUM(COUNT(*)) OVER ()) OVER () AS r FROM visits GROUP BY ward"
    ],
    "a list of quantiles is used inside an expression": [
        "SELECT ward, COUNT(APPROX_QUANTILES(cost, 4)) OVER () AS r FROM visits GROUP BY ward"
    ],
}


@pytest.mark.parametrize(("words", "texts"), REFUSED.items(), ids=list(REFUSED))
def test_windows_without_a_meaning_are_refused(words, texts):
    for text in texts:
        with pytest.raises(UnsupportedSQL, match=words):
            planned(text)


def test_answers_with_windows_are_written_and_combined():
    plan, other = (_plan(WINDOWS[1], 6, epsilon=price) for price in (1, 2))
    first = answer(plan, _raw(plan, COUNTS))
    assert Release.read(first.written(), plan).rows() == first.rows()
    second = answer(other, _raw(other, COUNTS))
    both = combine(first, second)
    widths = [each["r_high"].to_numpy() - each["r_low"].to_numpy() for each in (second, both)]
    assert (widths[1] < widths[0]).all()


def test_one_digest_for_one_window():
    texts = ["SUM(COUNT(*)) OVER (ORDER BY age) AS r", "sum(count( * )) over (order by AGE ASC) r"]
    assert len({_plan(text, 6).digest for text in texts}) == 1
    assert _plan(texts[0], 6).digest != _plan(texts[0].replace("BY age", "BY age DESC"), 6).digest


def test_a_confidence_that_is_asked_for_is_kept():
    plan = _plan(WINDOWS[1], 6)
    wide = replace(plan, confidence=Fraction(999, 1000))
    first, second = (answer(each, _raw(each, COUNTS)) for each in (plan, wide))
    assert (second["r_high"].to_numpy() - second["r_low"].to_numpy()).min() > (
        first["r_high"].to_numpy() - first["r_low"].to_numpy()
    ).max() / 3
