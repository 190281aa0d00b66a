"""A question planned by the rules of an earlier version has the digest that it had then."""

import pytest

from discreet.plan.planning_rules import PlanningRules, earlier_rules
from discreet.plan.policy.policy import read_policy
from discreet.requests.table_schema import Schema
from tests.plan.clinic import TEXT, planned

ROWS = read_policy(TEXT[: TEXT.index("[tables.drugs]")].replace('"patient"', '"row"', 1))
UNITS = {
    "person": {},
    "row": {"unit": ROWS.unit, "policy": ROWS, "schema": Schema(ROWS.tables)},
}
PRICES = {"epsilon": "0.5", "rho": "0.01"}
APART = (
    "SELECT SUM(cost) FILTER (WHERE ward = 'A') AS a, SUM(cost) FILTER (WHERE ward = 'B') AS b "
    "FROM visits"
)
CASES = (
    "SELECT SUM(CASE WHEN ward = 'A' THEN cost END) AS a, "
    "SUM(CASE WHEN ward = 'B' THEN age ELSE 0 END) AS b FROM visits"
)
MEANS = (
    "SELECT sex, AVG(stay) FILTER (WHERE age < 50) AS a, AVG(stay) FILTER (WHERE age >= 50) AS b "
    "FROM visits GROUP BY sex"
)
MIXED = (
    "SELECT COUNT(*) FILTER (WHERE ward = 'A') AS n, SUM(cost) FILTER (WHERE ward = 'B') AS b, "
    "COUNT(*) AS m FROM visits"
)
THEN = (  # as the last version that bought every sum by itself has planned them
    (
        APART,
        "epsilon",
        "person",
        "77dafd2732ff5c89b6f57a7c1a59d39a08be01420d3d5c433625d18de5d169a5",
    ),
    (APART, "epsilon", "row", "8a7d5cf42fbc04bdee552f6757c53cbae3a419e36eee7e8e2968d6cf806c40a8"),
    (APART, "rho", "person", "8b9fd3361eced286b6218c2c9a986d75fbc71631ad69d595cdf0f6a1f2775205"),
    (APART, "rho", "row", "25b7cceb378660a5db800809b92b1a9944eddcc15faaed7a188569a2b91c5b14"),
    (
        CASES,
        "epsilon",
        "person",
        "cc4ad72e7345af3ed9f55ba8fccb7bab32fe361ec2ab74d3270712f55b9226e0",
    ),
    (CASES, "epsilon", "row", "cc3a51e2339c22478b309a0df4b16a34375caf218b37465501f7dd5249bd7253"),
    (CASES, "rho", "person", "9aa62e3fccd1f132321ce10b42f6a9a0a549d9018d910a261eda81470e1fc608"),
    (CASES, "rho", "row", "b1e0027842bbd79816b6dca3472e3ea84d867a6d6ed3699e632fe7435e318bf0"),
    (
        MEANS,
        "epsilon",
        "person",
        "91bc2bacbe08c5ffd0a65c6ed2fde8c62e8b0a5dbb417220764e7a04cdb04fd6",
    ),
    (MEANS, "epsilon", "row", "395960dd9afb90695f4270935f6ef9ed83e9908bebc8980e636e89dbeea83896"),
    (MEANS, "rho", "person", "9e252e072a283813c649ea9376b532467652bcbc28d66a8a9a89b21e2b3f8c8f"),
    (MEANS, "rho", "row", "7619ac48b1e0c9610939a909aa66f0db1bcf7001c547a97820994e4c00aaa45d"),
    (
        MIXED,
        "epsilon",
        "person",
        "52d05ef75485ad2157e128c126a832c9aabb1c61f2e4bd5213c7dc8619e955de",
    ),
    (MIXED, "epsilon", "row", "491c3f0be7380b780f617d6a5bc51b86c93c36909533e4ede954bbe5522ab46d"),
    (MIXED, "rho", "person", "36e5d7602be9f9fcbb379ba1da08490673856af9596405a1b62d14f52a807007"),
    (MIXED, "rho", "row", "f402651a72f7b44b5c5387812fb08cb00231958af6447d290d4f9b4f224e63a8"),
)


@pytest.mark.parametrize(("question", "price", "unit", "digest"), THEN)
def test_sums_that_were_bought_apart_have_the_digests_of_that_version(
    question, price, unit, digest
):
    options = {price: PRICES[price], **UNITS[unit]}
    before = planned(question, earlier=PlanningRules.SUMS_APART, **options)
    assert before.digest == digest
    assert before.earlier is PlanningRules.SUMS_APART
    assert not before.had_earlier
    now = planned(question, **options)
    if now.digest != digest:  # then it is looked for
        assert now.had_earlier
        assert PlanningRules.SUMS_APART in earlier_rules(now.noises)


def test_conditional_sums_have_had_three_plans():
    for unit in UNITS.values():
        plans = {
            rules: planned(APART, epsilon="0.5", earlier=rules, **unit) for rules in PlanningRules
        }
        now = plans[PlanningRules.TODAY]
        assert earlier_rules(now.noises) == (PlanningRules.SUMS_APART, PlanningRules.CLAMPED_SUMS)
        assert now.digest not in {plans[rules].digest for rules in earlier_rules(now.noises)}
    assert len({plan.digest for plan in plans.values()}) == 2  # a row was never clamped as a whole


WARDS = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 9) "
    "COUNT(DISTINCT ward) AS n FROM visits"
)
TOGETHER = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 9) sex, "
    "COUNT(DISTINCT ward) AS n, SUM(stay) AS s, AVG(cost) AS m FROM visits GROUP BY sex"
)
UNLISTED = (  # as the last version has planned them that counted as many values as rows
    (WARDS, "epsilon", "08875c7036b786eb187833522ad5df17aad035210eec944454a825bf905715a1"),
    (WARDS, "rho", "a7419df56fff146946e7d0cc3ccd28f1d2a84a3a36287d0e6f347c32b3606c12"),
    (TOGETHER, "epsilon", "4a344b641ace244b0b800f6ebd9ae26788e96965ed9691f44df4279a718e601c"),
    (TOGETHER, "rho", "8f0c2218a98001f63fa772d9131b358efc4f1cb5b929dae06574c96fed992367"),
)


@pytest.mark.parametrize(("question", "price", "digest"), UNLISTED)
def test_values_that_are_listed_were_counted_as_often_as_rows(question, price, digest):
    options = {price: PRICES[price]}
    now = planned(question, **options)
    assert now.had_earlier
    assert earlier_rules(now.noises, counts_values=True)[0] is PlanningRules.VALUES_UNLISTED
    before = planned(question, earlier=PlanningRules.VALUES_UNLISTED, **options)
    assert before.digest == digest != now.digest
    assert not before.had_earlier


def test_what_was_stored_before_there_were_several_rules_is_by_the_first():
    text = "SELECT SUM(stay) AS s FROM visits"
    first = planned(text, epsilon="0.5", earlier=PlanningRules.CLAMPED_SUMS)
    assert planned(text, epsilon="0.5", earlier=True).digest == first.digest
    assert planned(text, epsilon="0.5").digest != first.digest
