"""One digest for one request, however it is written."""

# ruff: noqa: S608 (questions of our own)

import pytest

from discreet.plan.policy.policy import read_policy
from discreet.requests.table_schema import Schema
from discreet.units import person
from tests.plan.clinic import TEXT, planned

BASE = (
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE age >= 18 AND sex = 'f' "
    "GROUP BY ward"
)
SAME = [
    (
        "select WARD , count( * ) as N, avg(COST) as M from Visits where AGE >= 18 and SEX = 'f' "
        "group by Ward"
    ),
    (
        "SELECT v.ward, COUNT(*) AS n, AVG(v.cost) AS m FROM visits AS v WHERE 'f' = v.sex "
        "AND 18.0 <= v.age GROUP BY 1"
    ),
    BASE.replace("age >= 18 AND sex = 'f'", "(sex = 'f') AND (age >= 18)") + " -- again",
    BASE + " ORDER BY n DESC LIMIT 2 OFFSET 1",  # of what is released anyway
]
OTHER = [
    BASE.replace("18", "19"),
    BASE.replace("AVG", "SUM"),
    BASE.replace("sex = 'f'", "sex = 'm'"),
    BASE.replace("AS m", "AS k"),
    BASE.replace("GROUP BY ward", "GROUP BY ward, sex").replace("SELECT ward", "SELECT ward, sex"),
]


@pytest.mark.parametrize("text", SAME)
def test_spelling_does_not_matter(text):
    assert planned(text).digest == planned(BASE).digest


DRUGS = "drugs AS d {} visits AS v ON d.person = v.patient"
PAIRS = [
    ("EXISTS (SELECT 1 FROM drugs AS d WHERE d.person = v.patient)", "NOT EXISTS", "EXISTS"),
    ("ward IN (SELECT ward FROM wards WHERE beds > 1)", "NOT IN", "IN"),
    ("stay - age > 1", "age - stay", "stay - age"),
    ("stay < (SELECT MAX(w.stay) FROM visits AS w WHERE w.patient = v.patient)", "MIN", "MAX"),
    ("age BETWEEN 1 AND 9", "BETWEEN 2", "BETWEEN 1"),
    ("CAST(stay AS TEXT) = '1'", "'2'", "'1'"),
]


@pytest.mark.parametrize(("condition", "other", "word"), PAIRS, ids=lambda text: text[:12])
def test_conditions_that_differ_in_a_word_are_different_questions(condition, other, word):
    """Each pair has different answers, and must not share one."""
    text = f"SELECT COUNT(*) AS n FROM visits AS v WHERE {condition}"
    assert planned(text).digest != planned(text.replace(word, other)).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("JOIN", "LEFT JOIN"),
        ("JOIN", "RIGHT JOIN"),
        ("LEFT JOIN", "FULL JOIN"),
    ],
)
def test_joins_of_different_kinds_are_different_questions(one, other):
    texts = [f"SELECT COUNT(*) AS n FROM {DRUGS.format(kind)}" for kind in (one, other)]
    assert planned(texts[0]).digest != planned(texts[1]).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("COUNTIF(age > 5)", "COUNTIF(age > 6)"),
        ("SUM(stay) FILTER (WHERE paid)", "SUM(stay) FILTER (WHERE NOT paid)"),
        (
            "SUM(age, contribution_bounds_per_row => (0, 9))",
            "SUM(age, contribution_bounds_per_row => (0, 8))",
        ),
        ("COUNT(DISTINCT city)", "COUNT(city)"),
        ("PERCENTILE_CONT(age, 0.5)", "PERCENTILE_CONT(age, 0.6)"),
    ],
)
def test_aggregates_that_differ_in_a_part_are_different_questions(one, other):
    digests = [planned(f"SELECT {each} AS x FROM visits").digest for each in (one, other)]
    assert digests[0] != digests[1]


@pytest.mark.parametrize("text", OTHER)
def test_meaning_matters(text):
    assert planned(text).digest != planned(BASE).digest


def test_the_price_matters_and_the_confidence_does_not():
    plans = [
        planned(BASE, epsilon=1),
        planned(BASE, epsilon="1.01"),
        planned(BASE, rho=1),
        planned(BASE, epsilon=1, unit=person("patient", relation="replace")),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)
    assert planned(BASE, epsilon=1, confidence="0.5", size=10).digest == plans[0].digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("high = 100,", "high = 101,"),
        ('["A", "B", "C"]', '["A", "B"]'),
        ("max_rows = 3", "max_rows = 4"),
        ("max_groups = 2", "max_groups = 1"),
    ],
)
def test_declared_facts_that_change_the_answer_matter(old, new):
    policy = read_policy(TEXT.replace(old, new))
    plan = planned(BASE, policy=policy, schema=Schema(policy.tables))
    assert plan.digest != planned(BASE).digest


def test_facts_that_change_nothing_do_not_matter():
    policy = read_policy(TEXT.replace("low = -3", "low = -4"))
    assert planned(BASE, policy=policy, schema=Schema(policy.tables)).digest == planned(BASE).digest


def test_the_order_of_listed_groups_does_not_matter():
    text = "SELECT city, COUNT(*) AS n FROM visits WHERE city IN ({}) GROUP BY city"
    one, other = (planned(text.format(listed), epsilon=1) for listed in ("'x', 'y'", "'y', 'x'"))
    assert one.digest == other.digest


def test_what_is_measured_matters_even_at_the_same_price():
    text = "SELECT COUNT(cost) AS n FROM visits"
    policy = read_policy(TEXT.replace("high = 100, nullable = false", "high = 100"))
    other = planned(text, policy=policy, schema=Schema(policy.tables))
    assert other.tree == planned(text).tree
    assert other.digest != planned(text).digest
