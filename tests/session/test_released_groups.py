"""Questions about groups that WITH releases: two charges, or none."""

import json

import pyarrow as pa
import pytest

import discreet as dp
from discreet.documents import ReleaseDocument
from discreet.errors import DiscreetError, NotAllowed, OverBudget, UnsupportedSQL, WrongKind
from discreet.query.sql.parse import read
from discreet.session import answer_pipeline

POLICY = """
format = 1
unit = "id"
[budget]
epsilon = 8
delta = "1e-5"
[limits]
max_rows = 3
max_groups = 3
[tables.visits.columns]
cost = {type = "float", low = 0, high = 50}
"""
COUNT = 3000
VISITS = pa.table(
    {
        "id": [number % 1000 for number in range(COUNT)],
        "city": [[*"aabbcde", None][number * number % 8] for number in range(COUNT)],
        "cost": [float(number % 50) for number in range(COUNT)],
        "beds": [number % 5 for number in range(COUNT)],
    }
)
KEYS = (
    "WITH k AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-7) city "
    "FROM visits GROUP BY city) "
)
INNER = KEYS.removeprefix("WITH k AS (").removesuffix(") ")
FORMS = (
    "SELECT city, AVG(cost) AS m FROM visits WHERE city IN (SELECT city FROM k) GROUP BY city",
    "SELECT city, AVG(cost) AS m FROM visits JOIN k USING (city) GROUP BY city",
    "SELECT k.city, AVG(cost) AS m FROM visits AS v JOIN k ON v.city = k.city GROUP BY k.city",
    "SELECT x.city, AVG(cost) AS m FROM k AS x JOIN visits v ON x.city = v.city GROUP BY x.city",
)


@pytest.fixture
def opened(tmp_path):
    with dp.open({"visits": VISITS}, policy=POLICY, ledger=tmp_path / "ledger.db") as session:
        yield session


def charges(session):
    return [each for each in session.ledger.entries() if each.get("kind") == "charge"]


@pytest.mark.theorem("released-groups")
@pytest.mark.parametrize("form", FORMS)
def test_the_outer_question_is_the_one_with_the_released_values_written_down(form, opened):
    answer = opened.ask(KEYS + form, epsilon=1)
    inner = opened.ask(INNER)
    assert inner.replayed
    released = [value for value in inner["city"].to_pylist() if value is not None]
    assert answer["city"].to_pylist() == released
    assert released
    listed = ", ".join(f"'{value}'" for value in released)
    plain = f"SELECT city, AVG(cost) AS m FROM visits WHERE city IN ({listed}) GROUP BY city"  # noqa: S608
    again = opened.ask(plain, epsilon=1)
    assert again.replayed
    assert again.rows() == answer.rows()
    assert len(charges(opened)) == 2


def test_both_are_paid_for_once_and_said(opened):
    text = KEYS + FORMS[0]
    answer = opened.ask(text, epsilon=1)
    left = opened.remaining
    again = opened.ask(text, epsilon=1)
    assert again.replayed
    assert again.rows() == answer.rows()
    assert opened.remaining == left
    said = "k, for epsilon 1 at delta 1e-07"
    assert f"The groups were released apart, by {said}" in answer.details
    assert f"The groups were released apart, by {said}" in answer._repr_html_()
    assert said in ReleaseDocument.of(answer, None).released_by[0]
    assert json.dumps(ReleaseDocument.of(answer, None).written())
    plan = opened.plan(text, epsilon=1)
    assert f"released apart, by {said}" in plan.details
    assert opened.ask(plan).rows() == answer.rows()


def test_nothing_is_spent_unless_both_can_be_paid(opened):
    full = opened.remaining
    for options, error in (
        ({"epsilon": "7.5"}, OverBudget),
        ({"error": {"m": 5}}, WrongKind),
        ({"epsilon": 1, "limits": dp.limits(max_rows=1)}, WrongKind),
        ({"epsilon": "9.5", "delta": 0}, DiscreetError),
    ):
        with pytest.raises(error):
            opened.ask(KEYS + FORMS[0], **options)
    with pytest.raises(DiscreetError):  # there are no bounds on beds
        opened.ask(KEYS + FORMS[0].replace("cost", "beds"), epsilon=1)
    with pytest.raises(WrongKind, match="not answered yet") as caught:
        opened.plan(KEYS + FORMS[0], epsilon=1)
    assert "epsilon 1 at delta 1e-07" in caught.value.why
    assert opened.remaining == full
    assert charges(opened) == []


def test_a_crash_between_both_loses_nothing(opened, monkeypatch):
    text = KEYS + FORMS[0]
    whole = answer_pipeline.AnswerPipeline._draw
    drawn = []

    def crash(self, plan):
        if drawn:
            raise KeyboardInterrupt
        drawn.append(plan)
        return whole(self, plan)

    with monkeypatch.context() as patch:
        patch.setattr(answer_pipeline.AnswerPipeline, "_draw", crash)
        with pytest.raises(KeyboardInterrupt):
            opened.ask(text, epsilon=1)
    left = opened.remaining
    assert len(charges(opened)) == 2  # the second is paid for, and not yet drawn
    answer = opened.ask(text, epsilon=1)
    assert opened.remaining == left
    assert len(charges(opened)) == 2
    assert answer["city"].to_pylist() == [
        value for value in opened.ask(INNER)["city"].to_pylist() if value is not None
    ]


def test_where_nothing_is_released_nothing_more_is_spent(opened):
    none = KEYS.replace("GROUP BY city", "WHERE id = 3 GROUP BY city")
    with pytest.raises(NotAllowed, match="released no group"):
        opened.ask(none + FORMS[0], epsilon=1)
    assert len(charges(opened)) == 1


@pytest.mark.parametrize(
    "outer",
    [
        "SELECT city FROM k",
        "SELECT k.n, COUNT(*) AS m FROM visits JOIN k USING (city) GROUP BY k.n",
        "SELECT COUNT(*) AS n FROM visits v LEFT JOIN k ON v.city = k.city",
        "SELECT COUNT(*) AS n FROM visits v, k WHERE v.city = k.city",
        "SELECT COUNT(*) AS n FROM visits WHERE city IN (SELECT city FROM k WHERE n > 3)",
        "SELECT COUNT(*) AS n FROM visits WHERE beds IN (SELECT n FROM k)",
        "SELECT COUNT(*) AS n FROM visits WHERE EXISTS (SELECT 1 FROM k)",
    ],
)
def test_only_groups_are_used(outer, opened):
    keys = KEYS.replace("1e-7) city", "1e-7) city, COUNT(*) AS n")
    with pytest.raises(DiscreetError):
        opened.ask(keys + outer, epsilon=1)
    assert charges(opened) == []


def test_what_nothing_uses_is_not_bought(opened):
    opened.ask(f"{KEYS} SELECT COUNT(*) AS n FROM visits", epsilon=1)  # noqa: S608
    assert len(charges(opened)) == 1


def test_one_of_them_cannot_rest_on_another():
    second = INNER.replace("FROM visits", "FROM k")
    with pytest.raises(UnsupportedSQL, match="another question of WITH"):
        read(f"{KEYS}, l AS ({second}) {FORMS[0].replace('FROM k', 'FROM l')}")


def test_everywhere_but_at_the_top_the_clause_is_refused():
    with pytest.raises(UnsupportedSQL, match="is used in a subquery"):
        read(f"SELECT COUNT(*) AS n FROM ({INNER}) AS k")  # noqa: S608
