"""Questions about public tables alone, values of them, and floats as keys, through a session."""

import math

import pyarrow as pa
import pytest

import discreet.session as sessions
from discreet.errors import NotPerUnit, QuestionError, UnknownName
from discreet.query.relations import Distinct, Project, Scan
from discreet.query.types import Type
from discreet.session.public_tables import PublicTableReader

POLICY = """
format = 1
unit = "id"
[limits]
max_rows = 5
max_groups = 3
delta_per_question = "0.01"
[tables.people.columns]
id = {type = "integer"}
dose = {type = "float", categories = [0.5, 1, "1.5"]}
weight = {type = "float", low = 0, high = 3}
amount = {type = "float"}
[tables.shops]
public = true
key = ["shop"]
"""
SHOPS = pa.table({"shop": [1, 2, 3], "city": ["a", "a", "b"], "rent": [10.5, 20.0, None]})


def people(doses, amounts=None):
    size = len(doses)
    return pa.table(
        {
            "id": pa.array(range(size), pa.int64()),
            "dose": pa.array(doses, pa.float64()),
            "weight": pa.array([0.25 * (number % 9) for number in range(size)], pa.float64()),
            "amount": pa.array(amounts or doses, pa.float64()),
        }
    )


@pytest.fixture
def asked():
    """Open sessions on different people and the same shops."""
    opened = []

    def ask(sql, rows=None, **price):
        tables = {"people": rows or people([0.5, 1.0]), "shops": SHOPS}
        session = sessions.open(tables, policy=POLICY, test_mode=True)
        opened.append(session)
        plan = session.plan(sql, **({"epsilon": 10**6} | price))
        return plan, session.ask(plan)

    yield ask
    for session in opened:
        session.close()


@pytest.mark.parametrize("tables", [("people",), ("people", "shops")])
def test_a_question_without_a_table_is_answered_for_nothing(tables):
    everything = {"people": people([0.5, 1.0]), "shops": SHOPS}
    policy = POLICY if len(tables) > 1 else POLICY[: POLICY.index("[tables.shops]")]
    given = {name: everything[name] for name in tables}
    with sessions.open(given, policy=policy, test_mode=True) as session:
        plan = session.plan("SELECT 1 AS one, 'x' || 'y' AS text LIMIT 1", epsilon=1)
        assert plan.exact
        assert plan.price.epsilon == 0
        assert session.ask(plan).rows() == [{"one": 1, "text": "xy"}]


@pytest.mark.parametrize("text", ["SELECT ward", "SELECT COUNT(*)", "SELECT 1 WHERE 1 = 0"])
def test_other_questions_need_a_table(asked, text):
    with pytest.raises(QuestionError, match="FROM is missing"):
        asked(text)


EXACT = {
    "SELECT city, COUNT(*) AS n, SUM(rent) AS r, AVG(rent) AS m FROM shops GROUP BY city": [
        {"city": "a", "n": 2, "r": 30.5, "m": 15.25},
        {"city": "b", "n": 1, "r": None, "m": None},
    ],
    "SELECT COUNT(DISTINCT city) AS c, MAX(rent) AS r FROM shops WHERE shop > 9": [
        {"c": 0, "r": None}
    ],
    "SELECT COUNT(*) AS n FROM shops GROUP BY city ORDER BY n": [{"n": 1}, {"n": 2}],
    "SELECT city FROM shops GROUP BY city HAVING SUM(rent) > (SELECT AVG(rent) FROM shops)": [
        {"city": "a"}
    ],
    "SELECT city AS c, rent FROM shops ORDER BY rent DESC, c": [
        {"c": "a", "rent": 20.0},
        {"c": "a", "rent": 10.5},
        {"c": "b", "rent": None},
    ],
    "SELECT city FROM shops ORDER BY shop DESC LIMIT 2": [{"city": "b"}, {"city": "a"}],
    "SELECT s.city, 2 AS two FROM shops AS s JOIN shops AS t ON s.city = t.city": [
        {"city": "a", "two": 2},
        {"city": "a", "two": 2},
        {"city": "a", "two": 2},
        {"city": "a", "two": 2},
        {"city": "b", "two": 2},
    ],
    "SELECT shop FROM shops WHERE rent = (SELECT MAX(rent) FROM shops)": [{"shop": 2}],
    "SELECT DISTINCT rent FROM shops ORDER BY rent DESC LIMIT 2": [{"rent": 20.0}, {"rent": 10.5}],
}


@pytest.mark.theorem("public-listing")
@pytest.mark.parametrize("sql", EXACT)
def test_public_tables_answer_exactly_whoever_else_is_there(sql, asked):
    plan, release = asked(sql, epsilon=1)
    other, again = asked(sql, people([]), epsilon=1)
    assert release.rows() == again.rows() == EXACT[sql]
    assert plan.exact
    assert plan.price.epsilon == plan.price.rho == 0
    assert plan.digest == other.digest
    assert not plan.request.measures
    assert "public tables alone" in str(plan)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM people",
        "SELECT city FROM shops WHERE shop IN (SELECT id FROM people)",
        "SELECT city FROM shops, people WHERE shop = id",
        "SELECT shop FROM shops WHERE rent > (SELECT MAX(dose) FROM people)",
        "SELECT shop FROM (SELECT id AS shop FROM people) AS p",
        "WITH p AS (SELECT id FROM people) SELECT id FROM p UNION ALL SELECT shop FROM shops",
        "SELECT * FROM shops",
    ],
)
def test_rows_of_people_are_nobodys_to_see(sql, asked):
    with pytest.raises(QuestionError):
        asked(sql)


def test_the_reader_of_public_tables_refuses_others_whatever_is_planned(asked):
    """A plan that took a private table for a public one would get no rows of it."""
    plan, _ = asked("SELECT COUNT(*) AS n FROM people", epsilon=1)
    scan = Scan("people", (("id", Type.INTEGER),))
    with sessions.open(
        {"people": people([1.0]), "shops": SHOPS}, policy=POLICY, test_mode=True
    ) as session:
        reader = PublicTableReader(session._engine, session.schema)
        for relation in (scan, Distinct(Project(scan, ())), plan.request.relation):
            with pytest.raises(NotPerUnit):
                reader(relation)


def test_options_have_no_effect_on_what_is_public(asked):
    options = "epsilon = 1, min_privacy_units_per_group = 3, privacy_unit_column = shop"
    clause = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({options})"
    sql = f"SELECT {clause} city, COUNT(*) AS n FROM shops GROUP BY city"  # noqa: S608
    _, release = asked(sql, epsilon=None)
    assert release.rows() == [{"city": "a", "n": 2}, {"city": "b", "n": 1}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MEDIAN(rent) FROM shops",
        "SELECT SUM(rent, contribution_bounds_per_row => (0, 1)) FROM shops",
    ],
)
def test_what_is_not_plain_is_refused_with_a_way_out(sql, asked):
    with pytest.raises(QuestionError) as caught:
        asked(sql)
    assert caught.value.do


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE dose > (SELECT AVG(dose) FROM people)",
        "SELECT COUNT(*) FROM people GROUP BY dose HAVING COUNT(*) > (SELECT COUNT(*) FROM people)",
        "SELECT COUNT(*) FROM shops WHERE rent > (SELECT AVG(amount) FROM people WHERE id = shop)",
        "SELECT COUNT(*) FROM shops HAVING COUNT(*) > (SELECT MAX(id) FROM people)",
    ],
)
def test_values_of_several_people_are_refused(sql, asked):
    with pytest.raises(NotPerUnit) as caught:
        asked(sql)
    assert "people" in caught.value.what or "private" in caught.value.what


def test_listed_floats_are_public_groups(asked):
    rows = people([0.5, 0.5, 1.0, 0.7, None])
    plan, release = asked("SELECT dose, COUNT(*) AS n FROM people GROUP BY dose", rows)
    assert plan.request.listed == ((0.5,), (1.0,), (1.5,))
    assert [(row["dose"], row["n"]) for row in release] == [(0.5, 2), (1.0, 1), (1.5, 0)]
    _, release = asked("SELECT SUM(dose) AS s FROM people WHERE dose <> 0.7", rows)
    assert release.rows()[0]["s"] == pytest.approx(2, abs=0.01)  # bounds are those of the list
    listed = "SELECT amount, COUNT(*) AS n FROM people WHERE amount IN (0.7, 2) GROUP BY amount"
    assert [(row["amount"], row["n"]) for row in asked(listed, rows)[1]] == [(0.7, 1), (2.0, 0)]
    halves = "SELECT ROUND(weight * 2) / 2 AS h, COUNT(*) AS n FROM people GROUP BY 1"
    plan, release = asked(halves, rows)
    assert [key for (key,) in plan.request.listed] == [0, 0.5, 1, 1.5, 2, 2.5, 3, None]
    assert sum(row["n"] for row in release) == 5


def test_other_floats_are_private_groups_with_one_zero_and_a_warning(asked):
    amounts = [-0.0, 0.0, -0.0, 0.1 + 0.2, 0.3] * 4 + [math.inf, math.nan]
    plan, release = asked(
        "SELECT amount, COUNT(*) AS n FROM people GROUP BY amount ORDER BY amount",
        people([0.5] * len(amounts), amounts),
    )
    assert plan.selection is not None
    assert "each distinct value of amount" in plan.warnings[0]
    shown = [(row["amount"], row["n"]) for row in release]
    assert [each for each in shown if each[0] is not None] == [(0.0, 12), (0.3, 4), (0.1 + 0.2, 4)]
    assert all(math.copysign(1, value) == 1 for value, _ in shown if value is not None)


def test_draws_of_groups_of_floats_are_combined_by_these_floats():
    rows = people([0.5] * 30 + [1.0] * 20)
    for key in ("dose", "amount"):
        sql = f"SELECT {key}, COUNT(*) AS n FROM people GROUP BY {key} HAVING n > 9"  # noqa: S608
        with sessions.open(
            {"people": rows, "shops": SHOPS}, policy=POLICY, test_mode=True
        ) as session:
            first = session.ask(sql, epsilon=100)
            both = session.remeasure(first, epsilon=90)
            assert both[key].to_pylist() == first[key].to_pylist() == [0.5, 1.0]


def test_a_path_in_a_question_is_the_declared_one():
    policy = POLICY.replace(
        "[tables.people.columns]", '[tables.people]\npath = "db.hr.people"\n[tables.people.columns]'
    )
    with sessions.open(
        {"people": people([0.5]), "shops": SHOPS}, policy=policy, test_mode=True
    ) as session:
        for path in ("people", "hr.People", "db.hr.people", "shops", "other.shops"):
            assert session.plan(f"SELECT COUNT(*) AS n FROM {path}", epsilon=1)  # noqa: S608
        for path in ("clinic.people", "db.people", "x.db.hr.people"):
            with pytest.raises(UnknownName, match=r"db\.hr\.people"):
                session.plan(f"SELECT COUNT(*) AS n FROM {path}", epsilon=1)  # noqa: S608


SAME = [
    (
        (
            "SELECT d, n, n / SUM(n) OVER () AS share FROM (SELECT dose AS d, COUNT(*) AS n "
            "FROM people GROUP BY 1) ORDER BY n DESC LIMIT 2"
        ),
        (
            "SELECT dose AS d, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share "
            "FROM people GROUP BY dose ORDER BY n DESC LIMIT 2"
        ),
    ),
    (
        (
            "WITH g AS (SELECT dose, AVG(weight) AS w FROM people GROUP BY dose "
            "HAVING COUNT(*) > 1), h AS (SELECT *, w * 2 AS twice FROM g) "
            "SELECT h.dose, twice FROM h WHERE w < 2"
        ),
        (
            "SELECT dose, AVG(weight) * 2 AS twice FROM people GROUP BY dose "
            "HAVING COUNT(*) > 1 AND AVG(weight) < 2"
        ),
    ),
]


@pytest.mark.parametrize(("nested", "flat"), SAME)
def test_a_select_of_groups_is_the_question_of_these_groups(nested, flat, asked):
    rows = people([0.5] * 9 + [1.0] * 4 + [1.5] * 2)
    plan, release = asked(nested, rows)
    other, again = asked(flat, rows)
    assert plan.digest == other.digest
    assert release.names == again.names


def test_a_name_with_two_meanings_is_refused(asked):
    with pytest.raises(QuestionError, match="another one of the answer"):
        asked("SELECT 1 - dose AS dose FROM (SELECT dose FROM people GROUP BY dose) WHERE dose > 1")


def test_pairs_of_public_rows_are_counted_before_they_are_compared():
    """Planning is free, so an EXISTS may not compare more pairs than a join may (T1)."""
    numbers = pa.table({"n": range(20_000)})
    tables = {"people": people([0.5]), "one": numbers, "other": numbers}
    rules = POLICY + "[tables.one]\npublic = true\n[tables.other]\npublic = true\n"
    text = "SELECT COUNT(*) AS n FROM one WHERE {}EXISTS (SELECT 1 FROM other WHERE {})"
    with sessions.open(tables, policy=rules, test_mode=True) as session:
        for word in ("", "NOT "):
            for on in ("other.n <> one.n", "other.n > one.n AND other.n % 7 = one.n"):
                with pytest.raises(QuestionError, match="than planning reads"):
                    session.plan(text.format(word, on), epsilon=1)
        assert session.ask(text.format("", "other.n = one.n + 1"), epsilon=1).rows() == [
            {"n": 19_999}
        ]
