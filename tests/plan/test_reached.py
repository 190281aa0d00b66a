"""Products of public values too large to be listed: what is asked of them, and what is refused."""

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.aggregates.noisy_totals import Noisy, NoisyTotal, Run
from discreet.aggregates.sum import Sum
from discreet.errors import OutOfRange, UnsupportedSQL, WrongKind
from discreet.mechanisms import Laplace
from discreet.plan.policy.policy import read_policy
from discreet.plan.pricing.requested_price import BoundsPrice
from discreet.plan.statistics import having_threshold as reached
from discreet.plan.statistics import partition_selection as groups
from discreet.plan.statistics.having_threshold import least_total
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.release.formulas import Formulas, vector
from discreet.requests.engine_request import EngineRequest, KeyColumn
from discreet.requests.table_schema import Product, Schema
from discreet.units import person
from tests.plan.clinic import PEOPLE, answers, databases, planned, without
from tests.plan.test_neighbors import check

LISTS = (("A", "B", None), (False, True), (3, 1, 2))
LARGE = """
format = 1
unit = "patient"
[limits]
max_groups = 2
max_rows = 3
[tables.visits.columns]
patient = {type = "integer"}
a = {type = "integer", categories = MANY, nullable = false}
b = {type = "integer", categories = MANY, nullable = false}
cost = {type = "float", low = 0, high = 100, nullable = false}
size = {type = "float", low = 3, high = 1000, nullable = false}
age = {type = "integer", low = 0, high = 110}
note = {type = "float"}
"""
POLICY = read_policy(LARGE.replace("MANY", str(list(range(7000)))))
ALL = 7000**2
FOUND = BoundsPrice(epsilon=Fraction(1, 2))


def large(having, *, outputs="COUNT(*) AS n, SUM(cost) AS s", options="", **price):
    """Plan a question about 49 million groups."""
    clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) " if options else ""
    sql = f"SELECT {clause}a, b, {outputs} FROM visits GROUP BY a, b {having}"  # noqa: S608
    price = price or {"epsilon": 1}
    return planned(sql, policy=POLICY, schema=Schema(POLICY.tables), unit=POLICY.unit, **price)


def test_a_product_numbers_its_groups():
    product, listed = Product(LISTS), list(itertools.product(*LISTS))
    assert len(product) == len(listed)
    assert [product.item(at) for at in range(len(product))] == listed
    assert [product.index(group) for group in listed] == list(range(len(listed)))
    assert all(group in product for group in listed)
    others = [("C", True, 1), (None, None, 1), ("A", True), "ABC", ("A", True, 1, 1)]
    assert not any(group in product for group in others)
    assert repr(product) == "Product(3 x 2 x 3 groups)"
    with pytest.raises(TypeError):
        iter(product)


def test_a_huge_product_takes_no_room():
    product = Product((tuple(range(1 << 16)),) * 3)
    assert len(product) == 1 << 48
    assert product.item(product.index((7, 65535, 1))) == (7, 65535, 1)


def lowered(product, kind=Type.TEXT):
    keys = (KeyColumn("ward", Column("ward"), kind),)
    visits = Scan("visits", (("patient", Type.INTEGER), ("ward", kind)))
    unit = (Column("patient"),)
    return EngineRequest(
        relation=visits, unit=unit, keys=keys, groups=1, public=product, measures=()
    )


def test_what_an_engine_is_told_of_a_product():
    found = lowered(Product((("A", "B"),)))
    assert found.listed is None
    assert len(found.product) == 2
    assert found.chooses
    assert lowered((("A",),)).product is None
    assert lowered((("A",),)).listed == (("A",),)
    with pytest.raises(WrongKind):
        lowered(Product((("A", 1),)))
    with pytest.raises(WrongKind):
        lowered(Product((("A",), ("B",))))
    with pytest.raises(OutOfRange):
        lowered(Product((("A", "A"),)))


@pytest.mark.theorem("zero-groups")
def test_a_threshold_on_a_count_makes_a_large_product_possible():
    plan = large("HAVING n >= 90 AND AVG(cost) > 3 ORDER BY n LIMIT 7", outputs="COUNT(*) AS n")
    assert plan.having_threshold.measure == "count"
    assert plan.having_threshold.zeros.threshold == 90
    assert plan.having_threshold.zeros.groups == len(plan.request.product) == ALL
    (noise,) = (each for each in plan.noises if each.measure == "count")
    assert plan.having_threshold.zeros.noise == noise.mechanism


@pytest.mark.parametrize(
    ("having", "measure", "threshold"),
    [
        ("HAVING COUNT(*) > 90", "count", 91),
        ("HAVING 90 <= COUNT(*)", "count", 90),
        ("HAVING 90 < n", "count", 91),
        ("HAVING n >= 90.5", "count", 91),
        ("HAVING n BETWEEN 90 AND 95", "count", 90),
        ("HAVING n >= 90 AND n >= 95", "count", 95),
        ("HAVING n >= 5 AND SUM(age) > 40000", "sum", 40001),
        ("HAVING SUM(age) > 4000 AND n >= 500", "count", 500),
        ("HAVING COUNT(DISTINCT patient) >= 50", "units", 50),
        ("HAVING COUNT(DISTINCT age) >= 300", "distinct", 300),
        ("HAVING SUM(age) >= 30000", "sum", 30000),
    ],
)
def test_conditions_that_name_what_is_to_be_reached(having, measure, threshold):
    found = large(having, epsilon=4).having_threshold
    assert found.measure.partition("_")[0] == measure
    least = found.zeros.threshold * found.step  # the least that is shown as the threshold
    assert math.floor(least + Fraction(1, 2)) == threshold
    assert math.floor(least - found.step + Fraction(1, 2)) == threshold - 1


@pytest.mark.parametrize(
    "having",
    [
        "HAVING AVG(cost) > 5",
        "HAVING n <= 90",
        "HAVING n >= 90 OR s > 10",
        "HAVING NOT n < 90",
        "HAVING n >= 0",
        "HAVING n >= -5",
        "HAVING n = 90",
        "HAVING n * 2 >= 90",
        "HAVING b >= 90",
        "HAVING s >= n",
        "HAVING n >= NULL",
    ],
)
def test_conditions_that_do_not_are_refused(having):
    with pytest.raises(UnsupportedSQL, match="does not say which positive count or sum") as caught:
        large(having)
    assert "HAVING COUNT(*) >= 100" in caught.value.do


def test_without_a_condition_many_groups_are_refused():
    with pytest.raises(UnsupportedSQL, match="more than 1000000") as caught:
        large("")
    assert "HAVING COUNT(*) >= 100" in caught.value.do


def test_more_than_two_to_the_62_groups_are_refused(monkeypatch):
    monkeypatch.setattr(groups, "MOST_GROUPS", 10**7)
    with pytest.raises(UnsupportedSQL, match="there are 49000000 groups"):
        large("HAVING n >= 90")


@pytest.mark.parametrize(
    "outputs", ["COUNT(*) AS n", "COUNT(DISTINCT patient) AS n", "SUM(age) AS n", "SUM(cost) AS n"]
)
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}])
def test_too_low_a_threshold_is_refused_with_one_that_would_do(monkeypatch, outputs, price):
    monkeypatch.setattr(reached, "MOST_EMPTY", 1000)
    with pytest.raises(UnsupportedSQL, match="empty groups would be shown") as caught:
        large("HAVING n >= 1", outputs=outputs, **price)
    wanted = caught.value.do.removeprefix("require ").partition(" or more")[0]
    plan = large(f"HAVING {wanted}", outputs=outputs, **price)
    assert 300 < plan.having_threshold.zeros.expected().high <= 1000
    name, _, number = wanted.rpartition(" >= ")
    lower = float(number) - 1.01 * max(1.0, float(plan.having_threshold.step))
    with pytest.raises(UnsupportedSQL, match="empty groups would be shown"):
        large(f"HAVING {name} >= {lower - 2:.3f}", outputs=outputs, **price)


def test_a_sum_of_centered_values_shows_nothing_by_itself():
    """It holds the noise of a count besides its own."""
    plan = large("HAVING n >= 100")
    (total,) = (each.estimator for each in plan.estimates if isinstance(each.estimator, Sum))
    assert total.count == "count"
    with pytest.raises(UnsupportedSQL, match="does not say"):
        large("HAVING s >= 90000")


@pytest.mark.parametrize("having", ["HAVING n >= 200", "HAVING s >= 1e9"])
def test_bounds_must_be_known(having):
    """They decide about the noise: an answer could break off because of what was found."""
    with pytest.raises(UnsupportedSQL, match="are to be found"):
        large(having, outputs="COUNT(*) AS n, SUM(note) AS s", epsilon=1, bounds=FOUND)


def test_groups_of_a_least_number_of_people_need_no_threshold():
    options = "min_privacy_units_per_group = 4, epsilon = 1, delta = 1e-9"
    plan = large("", options=options, epsilon=1, delta="1e-9")
    assert plan.having_threshold is None
    assert plan.selection.fewest == 4
    assert len(plan.request.product) > 10**6


SMALL = (
    "SELECT ward, sex, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY ward, sex HAVING n >= 400"
)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": 1, "delta": "1e-9"}])
def test_the_price_is_that_of_listed_groups(monkeypatch, price):
    listed = planned(SMALL, **price)
    monkeypatch.setattr(groups, "_MOST", 3)
    drawn = planned(SMALL, **price)
    assert listed.having_threshold is None
    assert drawn.having_threshold.zeros.groups == len(listed.request.public) == 8
    assert drawn.tree == listed.tree
    assert (drawn.price, drawn.noises) == (listed.price, listed.noises)
    assert (drawn.estimates, drawn.layout) == (listed.estimates, listed.layout)
    assert drawn.digest != listed.digest


def test_listed_groups_stay_as_they_are():
    plan = planned(SMALL)
    assert plan.request.product is None
    assert plan.request.listed == tuple(itertools.product(("A", "B", "C", None), "fm"))


def test_the_text_says_how_many_empty_groups_noise_shows():
    lines = str(large("HAVING COUNT(*) >= 90")).splitlines()
    (line,) = (each for each in lines if "public groups" in each)
    assert "has 49000000 public groups of a, b, and shows those with COUNT(*) >= 90: " in line
    assert line.endswith("of them empty, by noise alone")
    assert "fewer than 0.001 of them" in str(large("HAVING COUNT(*) >= 900"))


def test_the_order_of_values_does_not_change_the_digest(monkeypatch):
    monkeypatch.setattr(groups, "_MOST", 3)
    sql = "SELECT city, COUNT(*) AS n FROM visits WHERE city IN ({}) GROUP BY city HAVING n >= 400"
    digests = {
        planned(sql.format(", ".join(map(repr, cities)))).digest
        for cities in itertools.permutations("abcd")
    }
    assert len(digests) == 1
    assert planned(sql.format("'a', 'b', 'c', 'e'")).digest not in digests


NUMBERS = st.integers(1, 10**12) | st.fractions(Fraction(1, 1000), 10**9, max_denominator=10**4)
STEPS = st.sampled_from(
    [Fraction(1), Fraction(1, 3), Fraction(100, 2**20), Fraction(7, 2), Fraction(1, 2**40)]
)


@given(
    number=NUMBERS,
    step=STEPS,
    sign=st.sampled_from([">=", ">"]),
    kind=st.sampled_from([Type.INTEGER, Type.FLOAT]),
)
def test_no_total_below_the_threshold_meets_the_condition(number, step, sign, kind):
    """What is computed from released numbers is what decides; the threshold stays close to it."""
    literal = Literal(number)
    least = least_total(sign, literal, kind=kind, step=step)
    slack = 3 + int(1 / step) + least // 2**39
    assume(least + slack < 2**63)
    totals = np.array(sorted({least - slack, least - 2, least - 1, least + slack}), np.int64)
    noisy = Noisy(
        size=totals.size,
        keys=(),
        totals={"sum": NoisyTotal((Run(values=totals, mechanism=Laplace(scale=1)),))},
        chosen=(),
    )
    total = Sum(measure="sum", step=step)
    values = vector(kind, total.value(kind, noisy))
    formulas = Formulas(columns={"a0": values}, keys=(), size=totals.size)
    met = formulas.where_true(Call(sign, (Column("a0"), literal)))
    assert not met[totals < least].any()
    assert met[-1]


def test_a_number_that_no_total_reaches():
    huge = Literal(2**63 - 1)
    assert least_total(">", huge, kind=Type.INTEGER, step=Fraction(1)) == 2**63 - 1
    assert least_total(">", huge, kind=Type.FLOAT, step=Fraction(1, 2**40)) == 2**63 - 1


DRAWN = [
    (
        "SELECT ward, sex, COUNT(*) AS n, SUM(age) AS s, MEDIAN(age) AS m FROM visits "
        "GROUP BY ward, sex HAVING n >= 400"
    ),
    (
        "SELECT ward, paid, COUNT(DISTINCT patient) AS p, COUNT(DISTINCT city) AS c, "
        "AVG(cost) AS m FROM visits GROUP BY ward, paid HAVING p >= 90"
    ),
]


@pytest.mark.theorem("bounded-contribution")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("sql", DRAWN)
@settings(max_examples=20)
@given(tables=databases(), salt=st.integers(0, 9))
def test_one_unit_moves_touched_groups_as_the_plan_says(sql, relation, tables, salt):
    with mock.patch.object(groups, "_MOST", 3):
        plan = planned(sql, unit=person("patient", relation=relation), epsilon=1)
    assert plan.request.product is not None
    whole = answers(plan.request, tables, salt)
    rests = [answers(plan.request, without(tables, who), salt) for who in PEOPLE]
    if relation == "replace":
        check(plan, rests[0], rests[1], replaced=True)
    else:
        for rest in rests:
            check(plan, whole, rest, replaced=False)
