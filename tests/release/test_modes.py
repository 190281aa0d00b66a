"""The most frequent value: its law, how far units move it, its price, and what an answer shows."""

from datetime import date
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.aggregates.mode import ModeChoice, ModePart
from discreet.errors import MissingBounds, UnsupportedSQL, WrongType
from discreet.mechanisms import Exponential
from discreet.plan.pricing.requested_price import estimate
from discreet.release.choices import chosen_leaves
from discreet.release.combination import combinable, combine
from discreet.release.release import Release
from discreet.units import Relation, person
from tests.noise.laws import WrongLaw, check_law, stream
from tests.plan.clinic import planned
from tests.release.clinic import asked, plan_of, tables
from tests.release.test_leaf_choice import TABLES, TINY, sparse_of

FINE = {"epsilon": 4000}


def choice_of(*, leaves, scale=1, rows=1):
    select = Exponential(candidates=leaves, scale=scale)
    return ModeChoice(measure="x", mechanism=select, rows=rows, groups=1, available=None)


def check_counts(choice, counts, law):
    def program(entropy):
        leaves = chosen_leaves(choice, sparse_of([counts]), groups=1, entropy=entropy, sizes=TINY)
        return int(leaves[0])

    check_law(program, lambda leaf: law[leaf], unexplored=Fraction(1, 20), max_runs=2500)


@pytest.mark.theorem("leaf-runs")
@pytest.mark.parametrize("scale", [1, "1/2", 3])
@pytest.mark.parametrize("counts", TABLES)
def test_the_law_is_that_of_the_exponential_mechanism_on_the_counts(counts, scale):
    choice = choice_of(leaves=len(counts), scale=Fraction(scale))
    check_counts(choice, counts, choice.mechanism.reference_pmf(counts))


@pytest.mark.theorem("leaf-runs")
@pytest.mark.parametrize(
    "mutant",
    [
        lambda below, upto, rows: rows - upto,
        lambda below, upto, rows: upto - below,
        lambda below, upto, rows: 2 * (rows - (upto - below)),
    ],
)
def test_mutants_of_the_scores_have_another_law(mutant, monkeypatch):
    choice, counts = choice_of(leaves=3), [2, 0, 1]
    monkeypatch.setattr(ModeChoice, "misses", lambda _, *given: mutant(*given))
    with pytest.raises(WrongLaw):
        check_counts(choice, counts, choice.mechanism.reference_pmf(counts))


@pytest.mark.parametrize("counts", [[0, 0, 0], [2, 2, 2]])
def test_ties_and_empty_groups_are_even(counts):
    law = choice_of(leaves=3).mechanism.reference_pmf(counts)
    assert all(chance.low <= Fraction(1, 3) <= chance.high for chance in law.values())


def test_counts_beyond_64_bits_are_chosen_by():
    counts = [2**61, 2**61 - 1, 2**60]
    choice = choice_of(leaves=3, scale=Fraction(1, 100))
    assert chosen_leaves(choice, sparse_of([counts]), groups=1).tolist() == [0]


# --- how far one unit moves scores ----------------------------------------------------------------


def centered(counts):
    return [count - Fraction(sum(counts), 2) for count in counts]


def step(one, other):
    return max(abs(a - b) for a, b in zip(centered(one), centered(other), strict=True))


@pytest.mark.theorem("mode-scores")
@given(counts=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_rows_move_scores(counts):
    choice = choice_of(leaves=len(counts))
    more = [
        [count + (index == place) for index, count in enumerate(counts)]
        for place in range(len(counts))
    ]
    assert {step(counts, other) for other in more} == {Fraction(1, 2)} == {choice.added}
    assert all(step(one, other) <= 1 for one in more for other in more)


def shapes(leaves, rows):
    """All that a unit of at most so many rows can add."""
    return [shape for shape in product(range(rows + 1), repeat=leaves) if sum(shape) <= rows]


@pytest.mark.theorem("mode-scores")
@pytest.mark.parametrize("available", [1, None])
def test_no_unit_moves_a_chance_by_more_than_is_paid(available):
    """All tables of three leaves, and all units of two rows, added and replaced."""
    scale, rows = Fraction(3, 2), 2
    select = Exponential(candidates=3, scale=scale)
    choice = ModeChoice(measure="x", mechanism=select, rows=rows, groups=1, available=available)
    paid = {side: float(2 * choice.moved(two_sided=side) / scale) for side in (False, True)}
    assert paid == {False: float(rows / scale), True: float(2 * rows / scale)}
    worst = {False: 0.0, True: 0.0}
    for others in product((0, 1, 9), repeat=3):
        laws = {
            unit: select.reference_pmf([a + b for a, b in zip(others, unit, strict=True)])
            for unit in shapes(3, rows)
        }
        nobody = laws[0, 0, 0]
        for one, other in product(laws.values(), repeat=2):
            for leaf in range(3):
                ratio = float(one[leaf].low / other[leaf].high)
                replaced = nobody not in (one, other)
                worst[replaced] = max(worst[replaced], ratio)
    assert exp(paid[False]) * 0.95 < worst[False] <= exp(paid[False])
    assert exp(paid[True]) * 0.9 < worst[True] <= exp(paid[True])


# --- prices and forecasts -------------------------------------------------------------------------


def part_of(**given):
    usual = {"measure": "x", "leaves": 5, "rows": 3, "groups": 2, "available": None}
    return ModePart(**(usual | given))


@pytest.mark.theorem("part-prices")
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
@pytest.mark.parametrize(("groups", "available"), [(1, 1), (1, None), (2, 3), (4, None)])
def test_a_share_is_kept_and_used_up(relation, groups, available):
    part = part_of(groups=groups, available=available)
    twice = 2 if relation.replaces else 1
    (pure,) = part.within_epsilon(Fraction(1, 3), relation)
    assert pure.mechanism.scale == 3 * twice * groups * part.rows
    (fine,) = part.within_rho(Fraction(1, 8), relation)
    reach = twice * part.rows / fine.mechanism.scale
    assert Fraction(124, 1000) < groups * reach**2 / 8 <= Fraction(1, 8)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_whole_price_goes_to_the_value(relation, price):
    unit = person("patient", relation=relation)
    for sql in (
        "SELECT MODE(ward) AS m FROM visits",
        "SELECT ward, MODE(age) AS m FROM visits GROUP BY ward",
    ):
        plan = planned(sql, unit=unit, **price)
        assert len(plan.choices) == 1
        for currency in ("epsilon", "rho"):
            if currency in price:
                asked_for = Fraction(price[currency])
                assert asked_for * Fraction(98, 100) < getattr(plan.price, currency) <= asked_for


def test_the_forecast_is_the_worst_table():
    plan = plan_of("SELECT MODE(stay) AS m FROM visits", epsilon=1)
    (predicted,), (choice,) = plan.predicted, plan.choices
    behind, leaves = int(predicted.half_width), choice.mechanism.candidates
    assert predicted.words == f"{behind} rows behind the most frequent value"
    assert predicted.words in str(plan)

    def missed(rows):
        counts = [rows + 1] + [0] * (leaves - 1)  # all others are as frequent as they may be
        return 1 - choice.mechanism.reference_pmf(counts)[0].low

    assert missed(behind) <= Fraction(1, 20) < missed(behind - 1)


def test_an_error_has_a_price():
    plan = plan_of_error(5)
    assert plan.predicted[0].half_width <= 5
    assert plan.price.epsilon < plan_of_error(2).price.epsilon


def plan_of_error(rows):
    return planned("SELECT MODE(ward) AS m FROM visits", error={"m": rows})


# --- what an answer shows -------------------------------------------------------------------------


def clinic_of(*rows):
    """Return visits of one person each, from rows that name what they differ in."""
    usual = tables()["visits"][0]
    visits = [usual | row | {"patient": index, "visit": index} for index, row in enumerate(rows)]
    return {**tables(), "visits": visits}


FOUND = clinic_of(
    *[{"ward": "B", "sex": "f", "stay": 10, "paid": False, "day": date(2020, 2, 1)}] * 5,
    *[{"ward": "A", "sex": "f", "stay": -3, "paid": True, "day": date(2021, 3, 1)}] * 3,
    *[{"ward": "C", "sex": "m", "stay": 0, "paid": True, "day": date(2021, 3, 1)}] * 2,
    *[{"ward": None, "sex": "m", "stay": None, "paid": None, "day": None}] * 9,
    *[{"ward": "D", "sex": "m", "stay": 11, "paid": None, "day": date(2022, 3, 2)}] * 9,
)


def test_values_of_every_type():
    sql = (
        "SELECT sex, MODE(ward) AS w, MODE(stay) AS s, MODE(paid) AS p, "
        "MODE(day) FILTER (WHERE day IN (DATE '2020-02-01', DATE '2021-03-01')) AS d, "
        "MODE(EXTRACT(MONTH FROM day)) AS m, MODE(RANGE_BUCKET(stay, [0, 5])) AS b, "
        "MODE(stay > 5) AS o FROM visits GROUP BY sex"
    )
    ends = {"s_low": -3, "s_high": 10, "m_low": 1, "m_high": 12, "b_low": 0, "b_high": 2}
    common = {"w": "B", "s": 10, "p": False, "d": date(2020, 2, 1), "m": 2, "b": 2, "o": True}
    other = {"w": "C", "s": 0, "p": True, "d": date(2021, 3, 1), "m": 3, "b": 2, "o": True}
    first, second = asked(sql, found=FOUND, **FINE).rows()
    assert first == {"sex": "f", **common, **ends}
    assert second == {"sex": "m", **other, **ends}  # NULL and what is not declared count nowhere


def test_a_group_without_rows_shows_any_value():
    sql = "SELECT ward, MODE(sex) AS m FROM visits GROUP BY ward"
    shown = [
        {row["ward"]: row["m"] for row in asked(sql, label=f"draw {number}", epsilon=8)}
        for number in range(40)
    ]
    assert {row[None] for row in shown} == {"f", "m"}  # nobody is without a ward
    assert all(None not in row.values() for row in shown)


def test_formulas_conditions_and_orders_use_modes():
    sql = (
        "SELECT sex, LOWER(MODE(ward)) AS w, 2 * MODE(stay) AS s, LENGTH(MODE(ward)) AS l "
        "FROM visits GROUP BY sex HAVING MODE(ward) <> 'A' ORDER BY MODE(ward) DESC"
    )
    rows = asked(sql, found=FOUND, **FINE).rows()
    assert [(row["w"], row["s"], row["s_low"], row["s_high"]) for row in rows] == [
        ("c", 0, -6, 20),
        ("b", 20, -6, 20),
    ]
    assert [(row["l"], row["l_low"]) for row in rows] == [(1, None)] * 2


def test_answers_are_stored_and_combined():
    sql = "SELECT sex, MODE(ward) AS m FROM visits GROUP BY sex"
    rough, fine = (asked(sql, label=str(price), epsilon=price) for price in ("0.01", "4000"))
    again = Release.read(fine.written(), fine.plan)
    assert again.to_arrow().equals(fine.to_arrow())
    assert combinable(rough.plan, fine.plan)
    for both in (combine(rough, fine), combine(fine, rough)):
        assert both["m"].equals(fine["m"])


def test_other_names_are_the_same_question():
    sql = "SELECT sex, {} AS m FROM visits GROUP BY sex"
    plans = [plan_of(sql.format(name), epsilon=1) for name in ("MODE(ward)", "mode(ward)")]
    plans.append(plan_of(sql.format("APPROX_TOP_COUNT(ward, 1)"), epsilon=1))
    assert len({plan.digest for plan in plans}) == 1
    assert plan_of(sql.format("MEDIAN(stay)"), epsilon=1).digest != plans[0].digest


def test_private_groups_are_chosen_beside_it():
    sql = "SELECT city, MODE(ward) AS m FROM visits GROUP BY city"
    rows = asked(sql, epsilon=400, delta="1e-6").rows()
    assert [row["city"] for row in rows] == ["x", "y"]
    assert {row["m"] for row in rows} <= set("ABC")


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ("city", MissingBounds, ["[tables.visits.columns.city]", "categories = [...]", "FILTER"]),
        ("born", MissingBounds, ["no public list of the values of born", "GROUP BY born"]),
        ("UPPER(city)", MissingBounds, ["UPPER(city) IN (...)"]),
        ("cost", WrongType, ["MODE does not take a FLOAT"]),
        ("born * 1000", MissingBounds, ["no public list"]),
    ],
)
def test_values_that_are_not_public_are_refused(value, error, words):
    for sql in ("SELECT MODE({}) AS m FROM visits", "SELECT APPROX_TOP_COUNT({}, 1) FROM visits"):
        with pytest.raises(error) as refused:
            planned(sql.format(value), epsilon=1)
        assert all(word in str(refused.value) for word in words)


def test_bounds_are_not_searched_for():
    """Bounds would not tell which values there are."""
    with pytest.raises(MissingBounds):
        planned("SELECT MODE(born) AS m FROM visits", epsilon=1, bounds=estimate(epsilon="0.1"))
    both = planned(
        "SELECT MODE(ward) AS m, SUM(born) AS s FROM visits",
        epsilon=1,
        bounds=estimate(epsilon="0.1"),
    )
    assert [target.about for target in both.search.targets] == ["born"]
    assert both.predicted[0].words.endswith("behind the most frequent value")


def test_one_stream_draws_one_answer():
    sql = "SELECT sex, MODE(ward) AS m FROM visits GROUP BY sex"
    first, second = (asked(sql, label="again", epsilon=1) for _ in range(2))
    assert first.to_arrow().equals(second.to_arrow())
    counts = np.array([3, 2, 4])
    draws = [
        chosen_leaves(choice_of(leaves=3), sparse_of([counts]), groups=1, entropy=stream("one"))
        for _ in range(2)
    ]
    assert draws[0].tolist() == draws[1].tolist()


def test_a_long_expression_is_not_compared_with_many_values():
    value = "age"
    for number in range(6):
        value = f"({value} + MOD(age, {number + 2}) * 3)"
    listed = ", ".join(map(str, range(0, 3000, 2)))
    with pytest.raises(UnsupportedSQL, match="a long expression has many values"):
        planned(f"SELECT MODE({value}) FILTER (WHERE {value} IN ({listed})) AS m FROM visits")  # noqa: S608
    inner = f"SELECT patient, {value} AS v FROM visits"  # noqa: S608
    planned(f"SELECT MODE(v) FILTER (WHERE v IN ({listed})) AS m FROM ({inner})", epsilon=1)  # noqa: S608
