"""Planning as a whole: what is refused, before anything is read; and how long it takes."""

import time
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction

import pytest
from hypothesis import given, settings

from discreet.errors import (
    DiscreetError,
    MissingBounds,
    NotAllowed,
    NotPerUnit,
    UnsupportedSQL,
    WrongKind,
    WrongType,
)
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys, OptimalKeys, SumKeys
from discreet.plan.policy.policy import Limits, Policy
from discreet.planner import plan as plan_question
from discreet.query import table
from discreet.units import Relation, person, row
from tests.plan.clinic import POLICY, SCHEMA, answers, databases, planned, public_rows

COUNT = "SELECT COUNT(*) AS n FROM visits"
CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"


def clause(options, text=COUNT):
    return text.replace("SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options})", 1)


def limited(**limits):
    return Policy(unit=POLICY.unit, tables=POLICY.tables, limits=Limits(**limits))


REFUSED = [
    (COUNT, {"epsilon": 1, "rho": 1}, WrongKind),
    (COUNT, {"epsilon": 1, "error": {"n": 1}}, WrongKind),
    (COUNT, {"epsilon": 0}, DiscreetError),
    (COUNT, {"epsilon": 1, "delta": 1}, DiscreetError),
    (COUNT, {"epsilon": 1, "confidence": 1}, DiscreetError),
    (COUNT, {"epsilon": 1, "size": 0}, DiscreetError),
    (clause("epsilon = 1"), {"epsilon": 2}, WrongKind),
    (clause("noise = GAUSSIAN"), {"epsilon": 1}, WrongKind),
    (CITY, {"epsilon": 1}, UnsupportedSQL),
    (CITY, {"rho": 1}, UnsupportedSQL),
    (
        clause("group_selection_strategy = PUBLIC_GROUPS", CITY),
        {"epsilon": 1, "delta": 1e-9},
        UnsupportedSQL,
    ),
    (clause("privacy_unit_column = visit"), {"epsilon": 1}, UnsupportedSQL),
    (
        clause("epsilon = 0.1").replace("COUNT(*)", "COUNT(*, epsilon => 0.2)"),
        {"delta": 0},
        WrongKind,
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT ward, COUNT(*) AS c FROM visits GROUP BY ward) AS t",
        {"epsilon": 1},
        NotPerUnit,
    ),
]


@pytest.mark.parametrize(("text", "price", "error"), REFUSED)
def test_refusals(text, price, error):
    with pytest.raises(error):
        planned(text, **price)


def test_too_many_public_groups_are_refused():
    keys = "EXTRACT(DAYOFYEAR FROM day), EXTRACT(DAY FROM day), EXTRACT(MONTH FROM day), ward, sex"
    with pytest.raises(UnsupportedSQL) as error:
        planned(f"SELECT COUNT(*) AS n FROM visits GROUP BY {keys}", epsilon=1)  # noqa: S608
    assert "groups" in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (COUNT, "max_rows = 10"),
        ("SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward", "max_groups = 3"),
    ],
)
def test_missing_limits_are_asked_for(text, words):
    with pytest.raises(MissingBounds) as error:
        planned(text, policy=limited(), epsilon=1)
    assert words in error.value.do
    planned(
        "SELECT sex, COUNT(DISTINCT patient) AS n FROM visits GROUP BY sex",
        policy=limited(),
        epsilon=1,
    )
    assert (
        planned(clause("max_rows_per_group = 2"), policy=limited(), epsilon=1)
        .noises[0]
        .distances.high
        == 2
    )


CEILINGS = [
    ({"max_epsilon": Fraction(1)}, {"epsilon": 2}),
    ({"max_rho": Fraction(1, 10)}, {"rho": 1}),
    ({"max_rho": Fraction(1, 10)}, {"epsilon": 2}),
    ({"max_epsilon": Fraction(1)}, {"rho": 1, "delta": 1e-9}),
    ({"max_epsilon": Fraction(1)}, {"rho": "0.01"}),
    ({"delta": Fraction(1, 10**9)}, {"epsilon": 1, "delta": 1e-8}),
    ({"max_epsilon": Fraction(1)}, {"epsilon": 1, "delta": 0.999}),  # nothing would be promised
    ({"max_rho": Fraction(1)}, {"rho": 1, "delta": 0.01}),
]


@pytest.mark.parametrize(("limits", "price"), CEILINGS)
def test_ceilings_hold_except_in_tests(limits, price):
    policy = limited(max_rows=3, max_groups=2, **limits)
    with pytest.raises(NotAllowed):
        planned(COUNT, policy=policy, **price)
    assert planned(COUNT, policy=policy, ceiling=False, **price)


def test_a_price_above_the_ceiling_is_refused_before_anything_else():
    with pytest.raises(NotAllowed):
        planned(
            "SELECT nothing FROM nowhere GROUP BY nothing",
            policy=limited(max_epsilon=Fraction(1)),
            epsilon=2,
        )


def test_within_the_ceiling_all_is_well():
    policy = limited(
        max_rows=3, max_epsilon=Fraction(1), max_rho=Fraction(1, 10), delta=Fraction(1, 10**9)
    )
    assert planned(COUNT, policy=policy, epsilon=1).price.epsilon == 1
    assert planned(COUNT, policy=policy, rho="0.01").price.rho <= Fraction(1, 100)
    assert planned(COUNT, policy=policy, epsilon=1).confidence == Fraction(95, 100)


def test_almost_no_noise_in_tests():
    for text in (COUNT, CITY, "SELECT MEDIAN(age) AS m, AVG(cost) AS k FROM visits"):
        plan = planned(text, epsilon="1e20", delta=1e-9, ceiling=False)
        for noise in plan.noises:
            strategy = noise.distances.strategy
            assert noise.mechanism.scale < Fraction(strategy.unit if strategy else 1, 1000)


@pytest.mark.parametrize("unit", [row(), person("patient", relation=Relation.LOCAL)])
def test_other_units_than_those_of_the_tables_are_refused(unit):
    with pytest.raises(WrongKind):
        planned(COUNT, unit=unit, epsilon=1)


KEYS = [
    ("", SumKeys, Laplace),
    ("noise = GAUSSIAN", SumKeys, Gaussian),
    ("group_selection_strategy = OPTIMAL", OptimalKeys, None),
    ("group_selection_strategy = LAPLACE_THRESHOLD", NoisyKeys, Laplace),
    ("group_selection_strategy = GAUSSIAN_THRESHOLD", NoisyKeys, Gaussian),
    ("min_privacy_units_per_group = 7", SumKeys, Laplace),
]


@pytest.mark.parametrize(("options", "kind", "noise"), KEYS)
def test_how_keys_are_chosen(options, kind, noise):
    plan = planned(clause(options, CITY), epsilon=1, delta=1e-9)
    assert isinstance(plan.selection, kind)
    assert noise is None or isinstance(plan.selection.noise, noise)
    assert plan.selection.fewest == (7 if "min" in options else 1)
    units = planned(
        clause(options, CITY.replace("COUNT(*)", "COUNT(DISTINCT patient)")), epsilon=1, delta=1e-9
    )
    shared = isinstance(units.selection, NoisyKeys)
    assert shared == ("OPTIMAL" not in options)
    assert len(units.noises) == (0 if shared else 1)


def test_public_groups_with_a_least_number_of_units_are_chosen():
    plan = planned(
        clause("min_privacy_units_per_group = 7", CITY.replace("city", "ward")),
        epsilon=1,
        delta=1e-9,
    )
    assert plan.selection.fewest == 7
    assert len(plan.request.public) == 4


def test_epsilons_of_aggregates_are_kept():
    plan = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*, epsilon => 0.1) AS n, "
        "AVG(age, epsilon => 0.4) AS m, SUM(stay) AS s FROM visits",
        delta=0,
    )
    spent = {each.measure: each.distances.added / each.mechanism.scale for each in plan.noises}
    assert spent["count"] == Fraction(1, 10)
    assert spent["sum"] + spent["count_2"] == pytest.approx(Fraction(4, 10), rel=1e-4)
    assert plan.price.epsilon == 1
    alone = planned(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS() COUNT(*, epsilon => 0.1) AS n FROM visits",
        delta=0,
    )
    assert alone.price.epsilon == Fraction(1, 10)


def test_questions_built_in_python_are_planned():
    question = table("visits").group_by("ward").count(name="n").question()
    plan = plan_question(
        question, schema=SCHEMA, policy=POLICY, unit=POLICY.unit, public_rows=public_rows, epsilon=1
    )
    assert plan.layout.outputs[1].name == "n"
    assert "built in Python" in str(plan)


def test_what_stands_above_aggregates_is_kept():
    plan = planned(
        "SELECT sex, COUNT(*) AS n, AVG(cost) / 2 AS h FROM visits GROUP BY sex "
        "HAVING COUNT(*) > 3 ORDER BY h DESC LIMIT 1",
        epsilon=1,
    )
    assert [each.slot for each in plan.estimates] == ["a0", "a1"]
    assert plan.layout.limit == 1
    assert plan.layout.order[0].descending
    assert str(plan.layout.having.arguments[0].name) == "a0"


def test_a_plan_is_a_value():
    plan = planned(COUNT, epsilon=1)
    assert plan == planned(COUNT, epsilon=1)
    assert hash(plan.digest)
    assert len(plan.digest) == 64
    for field in fields(plan):
        with pytest.raises(FrozenInstanceError):
            setattr(plan, field.name, None)


def test_html_is_escaped():
    plan = planned(
        "SELECT ward, COUNT(*) AS `<b>n</b>` FROM visits WHERE ward < 'B' GROUP BY ward",
        epsilon=1,
    )
    shown = plan._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert shown.count("<ul>") == shown.count("</ul>")


def test_planning_again_is_quick():
    texts = [
        COUNT,
        CITY,
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS m, STDDEV(age) AS d FROM visits GROUP BY ward",
    ]
    for text in texts:
        planned(text)
    best = min(_seconds(texts) for _ in range(5))
    assert best / len(texts) < 0.02


def _seconds(texts):
    start = time.process_time()
    for text in texts:
        planned(text)
    return time.process_time() - start


def test_a_person_is_in_one_group_only_if_all_keys_are_shared():
    one = planned("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", epsilon=1)
    both = planned("SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY sex, ward", epsilon=1)
    assert (one.request.groups, both.request.groups) == (1, 2)


@settings(max_examples=10)
@given(tables=databases())
def test_categories_are_enforced_beside_private_keys(tables):
    plan = planned("SELECT ward, city, COUNT(*) AS n FROM visits GROUP BY ward, city")
    totals, _ = answers(plan.request, tables)
    assert {ward for ward, _ in totals["units"]} <= {"A", "B", "C", None}


@pytest.mark.parametrize("having", ["n * 3", "ward", "COUNT(*)", "'yes'"])
def test_what_is_no_condition_cannot_choose_groups(having):
    """Before anything is charged: no answer could ever be computed."""
    with pytest.raises(WrongType, match="condition"):
        planned(f"SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING {having}", epsilon=1)  # noqa: S608
