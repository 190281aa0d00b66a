"""What limits may leave out is said where it can happen, and nowhere else."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.documents import PlanDocument
from discreet.plan.statistics.truncation import limits_bind
from discreet.requests.table_schema import Schema
from discreet.units import row
from tests.plan.clinic import POLICY, SCHEMA, planned

ROWS = "At most 3 rows of each patient count; rows beyond that are left out of these numbers."
BY_WARD = (
    "At most 3 rows of each patient and ward count; rows beyond that are left out of these numbers."
)
MEANS = " Whoever has more rows enters sums and means with 3 rows of their own mean."
WARDS = "Each patient counts in at most 2 groups of ward; their others are left out."
COSTS = "cost below 0 counts as 0, and above 100 as 100."
CITIES = "At most 3 values of city of each patient count."
UNNAMED = "Rows whose patient is missing (NULL) are left out of these numbers."
ONE = BY_WARD.replace("3 rows", "1 row").replace("ward count", "ward counts")
BORN = "SELECT COUNT(*) AS n FROM (SELECT patient, born FROM visits GROUP BY patient, born) AS t"
OF_WARDS = (
    "SELECT ward, COUNT(*) AS n FROM (SELECT patient, ward, SUM(cost) AS c FROM visits "
    "GROUP BY ward, patient) AS t GROUP BY ward"
)


def keyed(*key, table="visits"):
    return Schema(
        [replace(each, key=key) if each.name == table else each for each in SCHEMA.tables]
    )


def words(text, **more):
    """Return what limits may cut off."""
    cuts = planned(text, **more).truncations
    return [str(cut) for cut in cuts if cut.kind not in {"unlisted", "unnamed"}]


def unnamed(text, **more):
    return [str(cut) for cut in planned(text, **more).truncations if cut.kind == "unnamed"]


def named(**facts):
    """Return the schema with other facts of the patient."""
    return Schema(
        [
            replace(
                each,
                columns=tuple(
                    replace(column, **facts) if column.name == "patient" else column
                    for column in each.columns
                ),
            )
            for each in SCHEMA.tables
        ]
    )


def test_rows_without_a_unit_are_mentioned_where_there_may_be_some():
    count = "SELECT COUNT(*) AS n FROM visits"
    assert unnamed(count) == [UNNAMED]
    assert unnamed(count + " WHERE patient IS NOT NULL") == []
    assert unnamed(count, schema=named(nullable=False)) == []
    bills = "SELECT COUNT(*) AS n FROM bills"
    assert unnamed(bills, schema=named(nullable=False)) == [UNNAMED]  # a link may lead nowhere
    assert "leaves out rows whose patient is missing (NULL)" in planned(count).details
    assert {"kind": "unnamed", "limit": None, "words": UNNAMED} in PlanDocument.of(
        planned(count)
    ).written()["truncations"]


def test_no_limit_is_blamed_for_rows_without_a_unit():
    people = planned("SELECT COUNT(DISTINCT patient) AS n FROM visits").truncations
    assert [cut.kind for cut in people] == ["unnamed"]
    assert not limits_bind(people)
    assert limits_bind(planned("SELECT COUNT(*) AS n FROM visits").truncations)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT COUNT(*) AS n FROM visits", [ROWS]),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", [BY_WARD, WARDS]),
        ("SELECT AVG(cost) AS m, SUM(cost) AS s FROM visits", [ROWS + MEANS, COSTS]),
        ("SELECT SUM(cost) AS s FROM visits", [ROWS + MEANS, COSTS]),
        ("SELECT MEDIAN(cost) AS m FROM visits", [ROWS, COSTS]),
        ("SELECT MODE(ward) AS m FROM visits", [ROWS]),
        ("SELECT COUNT(DISTINCT patient) AS n FROM visits", []),
        (
            (
                "SELECT sex, COUNT(DISTINCT patient) AS n, COUNT(DISTINCT born) AS b FROM visits "
                "GROUP BY sex"
            ),
            [],
        ),
        ("SELECT COUNT(DISTINCT city) AS n FROM visits", [CITIES]),
        (
            (
                "SELECT SUM(note, contribution_bounds_per_group => (0, 20)) AS s, "
                "AVG(age, contribution_bounds_per_group => (1, 9)) AS a, "
                "COUNT(*, contribution_bounds_per_group => (0, 2)) AS n FROM visits"
            ),
            [
                "Each patient's own sum of note is moved between 0 and 20.",
                "Each patient's own mean of age is moved between 1 and 9.",
                "Each patient's own number of rows is moved between 0 and 2.",
            ],
        ),
        (
            (
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 9, "
                "max_rows_per_group = 1) ward, COUNT(*) AS n FROM visits GROUP BY ward"
            ),
            [ONE],
        ),
        ("SELECT SUM(CASE WHEN paid THEN 1 ELSE 0 END) AS s FROM visits", [ROWS + MEANS]),
        ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient FROM visits) AS t", []),
        (BORN, []),
        (OF_WARDS, [WARDS]),
        (OF_WARDS.replace("ward, ", "", 1).removesuffix(" GROUP BY ward"), [ROWS]),
    ],
)
def test_what_may_be_cut_is_said(text, said):
    assert words(text) == said


def test_where_each_row_is_a_unit_only_values_are_moved():
    unit = row()
    tables = [replace(each, unit=(), link=None) for each in SCHEMA.tables if each.name != "bills"]
    found = words("SELECT AVG(cost) AS m, COUNT(*) AS n FROM visits", unit=unit,
                  schema=Schema(tables), policy=replace(POLICY, unit=unit))  # fmt: skip
    assert found == [COSTS]


@pytest.mark.parametrize(
    ("key", "text", "groups", "rows"),
    [
        (("patient",), "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", 1, True),
        (("patient", "sex"), "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", 1, True),
        (("patient", "ward"), "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", 2, True),
        (("patient", "ward"), "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", 2, False),
        (("visit",), "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", 2, False),
    ],
)
def test_a_unit_of_one_row_is_priced_as_one(key, text, groups, rows):
    plan = planned(text, schema=keyed(*key))
    (noise,) = plan.noises or (None,)
    assert plan.request.groups == groups
    assert any(cut.kind == "rows" for cut in plan.truncations) is not rows
    assert noise is None or noise.distances.high == (1 if rows else 3)


def test_a_table_with_one_row_for_each_unit_needs_no_limit_and_little_noise():
    """The count that was off by 180 at ten rows in four groups is off by three."""
    policy = replace(POLICY, limits=replace(POLICY.limits, max_rows=None, max_groups=None))
    plan = planned(
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        policy=policy, schema=keyed("patient"), epsilon=1,
    )  # fmt: skip
    assert plan.predicted[0].half_width == 3
    assert not limits_bind(plan.truncations)
    honest = replace(POLICY, limits=replace(POLICY.limits, max_rows=10, max_groups=4))
    before = planned("SELECT COUNT(*) AS n FROM visits", policy=honest, epsilon=1)
    after = planned("SELECT COUNT(*) AS n FROM visits", policy=honest, epsilon=1,
                    schema=keyed("patient"))  # fmt: skip
    assert (before.predicted[0].half_width, after.predicted[0].half_width) == (30, 3)


def test_joins_and_unions_know_of_no_key():
    for text in (
        "SELECT COUNT(*) AS n FROM visits v JOIN drugs d ON v.patient = d.person",
        (
            "SELECT COUNT(*) AS n FROM (SELECT patient FROM visits UNION ALL "
            "SELECT person FROM drugs) AS t"
        ),
        "SELECT COUNT(*) AS n FROM bills",
    ):
        plan = planned(text, schema=keyed("patient"))
        assert [cut.kind for cut in plan.truncations] == ["rows", "unnamed"]


def test_sums_have_one_meaning_and_one_price():
    alone = planned("SELECT SUM(stay) AS s FROM visits", epsilon=1)
    (total,) = alone.request.totals
    assert total.rows == 3
    (noise,) = alone.noises
    step = alone.estimates[0].estimator.step
    assert noise.distances.moved(alone.unit.relation) * step == 30
    assert alone.predicted[0].half_width <= 30 * 3 + Fraction(1, 2)


def test_it_is_part_of_the_json_and_of_the_html():
    plan = planned("SELECT AVG(cost) AS m FROM visits")
    found = json.loads(json.dumps(PlanDocument.of(plan).written()))["truncations"]
    assert [each["kind"] for each in found] == ["rows", "bounds", "unnamed"]
    assert found[0]["limit"] == 3
    assert COSTS in plan._repr_html_()
    assert "leaves out rows whose patient is missing (NULL)" in plan._repr_html_()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", "none of the 2 listed values"),
        (
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
            "neither NULL nor one of the 3 listed values",
        ),
        (
            "SELECT DIV(age, 50) AS a, COUNT(*) AS n FROM visits GROUP BY a",
            "neither NULL nor one of the 3 listed values",
        ),
        ("SELECT UPPER(sex) AS u, COUNT(*) AS n FROM visits GROUP BY u", "none of the 2 listed"),
        ("SELECT paid, COUNT(*) AS n FROM visits GROUP BY paid", None),
        ("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", None),
        ("SELECT sex, COUNT(*) AS n FROM visits WHERE sex IN ('f') GROUP BY sex", None),
        ("SELECT COUNT(*) AS n FROM visits", None),
        (
            "SELECT DIV(age, 50) AS a, COUNT(*) FROM visits WHERE age BETWEEN 1 AND 99 GROUP BY a",
            None,
        ),
        (
            "SELECT beds, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY beds",
            None,
        ),
    ],
)
def test_rows_with_other_keys_than_those_declared_are_told(text, said):
    plan = planned(text, epsilon=1, delta="1e-6")
    found = [cut for cut in plan.truncations if cut.kind == "unlisted"]
    assert len(found) == (said is not None)
    for cut in found:
        assert said in cut.words
        assert f"leaves out rows whose {plan.request.keys[0].name} is {said}" in plan.details
        assert not limits_bind([cut])  # the numbers of the groups are whole
