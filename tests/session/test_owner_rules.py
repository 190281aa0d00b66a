"""The owner's rules: small groups, long answers, approved questions, periods; and batches."""

import json
from datetime import date

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli.app import app
from discreet.errors import BadPolicy, InputError, NotAllowed, OverBudget
from discreet.plan.policy.policy import read_policy

VISITS = pa.table(
    {
        "patient": [number // 2 for number in range(2000)],
        "month": ["2026-01", "2026-02"] * 1000,
        "ward": ["A" if number < 1900 else "B" for number in range(2000)],
        "zip": [number % 40 for number in range(2000)],
        "day": [date(2026, 1, 1 + number % 28) for number in range(2000)],
        "cost": [float(number % 100) for number in range(2000)],
    }
)
HEAD = 'format = 1\nunit = "patient"\n'
LIMITS = "[limits]\nmax_groups = 1\nmax_rows = 2\n"
TABLES = """
[tables.visits]
size = { people = 1000, rows = 2000 }
[tables.visits.columns]
month = { type = "text", categories = ["2026-01", "2026-02", "2026-03"] }
ward = { type = "text", categories = ["A", "B", "C"] }
cost = { type = "float", low = 0, high = 100, nullable = false }
"""
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
PEOPLE = "SELECT ward, COUNT(DISTINCT patient) AS n FROM visits GROUP BY ward"
TEMPLATE = (
    "SELECT ward, COUNT(*) AS n FROM visits "
    "WHERE month = :month AND day BETWEEN :low AND :high AND cost >= :cost GROUP BY ward"
)

MONTH = "SELECT COUNT(*) AS n FROM visits WHERE month = '{}'"
RELEASED = (
    "WITH w AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) ward, COUNT(*) AS n "
    "FROM visits GROUP BY ward) SELECT COUNT(*) AS n FROM visits JOIN w USING (ward)"
)


def opened(folder, rules="", top="", budget="[budget]\nepsilon = 40\n", table=VISITS):
    policy = HEAD + top + budget + LIMITS + rules + TABLES
    assert read_policy(read_policy(policy).written()) == read_policy(policy)
    return dp.open({"visits": table}, policy=policy, ledger=folder / "visits.ledger")


def test_groups_of_fewer_people_than_the_rule_says_are_not_shown(tmp_path):
    """Ward A has 950 people, B 50 and C none; noise of scale 0.2 passes 100 with chance e^-200."""
    with opened(tmp_path, "min_people = 100\n") as clinic:
        assert clinic.ask(BY_WARD, epsilon=8).to_arrow()["ward"].to_pylist() == ["A"]
        # a count that is asked for decides for free, others are measured for a share of the price
        assert len(clinic.plan(PEOPLE, epsilon=4).noises) == 1
        joined = PEOPLE.replace("DISTINCT patient", "DISTINCT v.patient").replace(
            "visits", "visits v"
        )
        assert clinic.ask(joined, epsilon=4).to_arrow()["ward"].to_pylist() == ["A"]
        alone = "SELECT AVG(cost) AS cost FROM visits WHERE ward = 'B'"
        assert clinic.ask(alone, epsilon=4).to_arrow()["cost"].to_pylist() == []
        assert "fewer than 100 people" in str(clinic.plan(BY_WARD, epsilon=1))
        for bought in (
            {"limits": dp.estimate_limits(epsilon=1)},
            {"share_cut": dp.share_cut(epsilon=1)},
        ):
            with pytest.raises(NotAllowed, match="min_people"):
                clinic.ask(BY_WARD, epsilon=1, **bought)
        with pytest.raises(NotAllowed, match="min_people"):
            clinic.profile("visits", epsilon=1)


def test_each_row_or_several_columns_can_be_the_unit_of_the_rule(tmp_path):
    for name, unit in (("row", '"row"'), ("two", '["patient", "zip"]')):
        policy = f"format = 1\nunit = {unit}\n[budget]\nepsilon = 40\n{LIMITS}min_people = 150\n"
        with dp.open({"visits": VISITS}, policy=policy + TABLES, ledger=tmp_path / name) as clinic:
            answer = clinic.ask(BY_WARD, epsilon=16, confirm=True)
            assert answer.to_arrow()["ward"].to_pylist() == ["A"]


def test_an_answer_never_has_more_rows_than_the_rule_says(tmp_path):
    with opened(tmp_path, "max_answer_rows = 3\n") as clinic:
        assert clinic.plan(BY_WARD, epsilon=1)
        by_zip = "SELECT zip, COUNT(*) AS n FROM visits GROUP BY zip"
        two = BY_WARD.replace("ward", "ward, month")
        levels = BY_WARD.replace("BY ward", "BY ROLLUP (ward)")  # three wards, and the total
        for refused in (by_zip, f"{by_zip} LIMIT 4", two, levels):
            with pytest.raises(NotAllowed, match=r"(?s)the policy allows 3.*LIMIT 3"):
                clinic.plan(refused, epsilon=1, delta="1e-9")
        assert clinic.plan(f"{by_zip} LIMIT 3", epsilon=1, delta="1e-9")


def test_a_question_is_answered_only_if_a_template_has_it(tmp_path):
    listed = {"wards": TEMPLATE, "everybody": "SELECT COUNT(*) AS n FROM visits"}
    rules = "[approved]\n" + "".join(f'{name} = "{text}"\n' for name, text in listed.items())
    values = {"month": "2026-01", "low": date(2026, 1, 2), "high": date(2026, 1, 9), "cost": 3.5}
    with opened(tmp_path, rules) as clinic:
        assert clinic.plan(TEMPLATE, params=values, epsilon=1)
        assert clinic.plan(
            "select WARD, count(*) n from visits v where -1 <= cost and v.day >= DATE '2026-01-01' "
            "and day <= DATE '2026-01-03' AND '2026-02' = month group by 1",
            epsilon=1,
        )
        assert clinic.table("visits").count(name="n").plan(epsilon=1)
        assert clinic.plan(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS n FROM visits"
        )
        for refused in (
            BY_WARD,
            TEMPLATE.replace(":month", "ward"),
            TEMPLATE.replace(":month", "'2026-01' AND ward = 'A'"),
            RELEASED,
        ):
            left = {name: value for name, value in values.items() if f":{name}" in refused}
            with pytest.raises(NotAllowed, match="approved"):
                clinic.ask(refused, params=left or None, epsilon=1)
        for bought in (
            {"limits": dp.estimate_limits(epsilon=1)},
            {"share_cut": dp.share_cut(epsilon=1)},
        ):
            with pytest.raises(NotAllowed, match=r"\[approved\]"):
                clinic.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1, **bought)
        with pytest.raises(NotAllowed, match=r"\[approved\]"):
            clinic.profile("visits", epsilon=1)
        assert clinic.remaining.share == 1


def test_a_parameter_that_stands_twice_has_one_value(tmp_path):
    rules = '[approved]\nsame = "SELECT COUNT(*) AS n FROM visits WHERE zip = :at OR cost = :at"\n'
    asked = "SELECT COUNT(*) AS n FROM visits WHERE cost = {} OR zip = {}"
    with opened(tmp_path, rules) as clinic:
        assert clinic.plan(asked.format(5, 5), epsilon=1)
        with pytest.raises(NotAllowed, match="approved"):
            clinic.plan(asked.format(5, 6), epsilon=1)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[limits]\nmin_people = 0", "limits.min_people"),
        ("[limits]\nmax_answer_rows = 1.5", "limits.max_answer_rows"),
        ('[approved]\nn = "SELECT COUNT("', "approved.n"),
        ('[approved]\nn = "SELECT COUNT(*) AS n FROM visits LIMIT :n"', "approved.n"),
        ("[approved]\nn = 3", "approved.n"),
        ("[budget]\nepsilon = 1\nper = 3", "budget.per"),
        ('[budget]\nepsilon = 1\nper = "Patient"', "budget.per"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(rules, words):
    with pytest.raises(BadPolicy, match=words):
        read_policy(HEAD + rules)


def test_each_month_of_a_person_has_a_budget_of_its_own(tmp_path):
    with opened(tmp_path, budget='[budget]\nepsilon = 1\nper = "month"\n') as clinic:
        clinic.ask(MONTH.format("2026-01"), epsilon="0.75")
        clinic.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.125")  # about all months
        with pytest.raises(OverBudget):
            clinic.ask(MONTH.format("2026-01"), epsilon="0.5")
        left = {month: float(left.epsilon) for month, left in clinic.left_by_period().items()}
        assert left == {"2026-01": 0.125, "2026-02": 0.875, "2026-03": 0.875}
        clinic.ask(MONTH.format("2026-02"), epsilon="0.875")
    with opened(tmp_path, budget='[budget]\nepsilon = 1\nper = "month"\n') as clinic:
        assert clinic.left_by_period()["2026-02"].share == 0


def test_a_budget_without_periods_has_none(tmp_path):
    with opened(tmp_path) as clinic, pytest.raises(InputError, match="no periods"):
        clinic.left_by_period()


def relative(batch, sizes):
    return [
        float(plan.predicted[0].half_width) / size
        for plan, size in zip(batch.plans, sizes, strict=True)
    ]


@pytest.mark.parametrize("price", [{"epsilon": 2}, {"rho": "0.1", "delta": "1e-9"}], ids=str)
def test_a_batch_costs_its_price_and_balances_relative_errors(tmp_path, price):
    """A ward has about a third of the 2000 rows, and a month a third."""
    questions = [BY_WARD, "SELECT COUNT(*) AS n FROM visits"]
    budget = "[budget]\nrho = 1\n" if "rho" in price else "[budget]\nepsilon = 4\n"
    with opened(tmp_path, budget=budget) as clinic:
        batch = clinic.plan(questions, **price)
        assert float(batch.total) == pytest.approx(float(price[batch.currency]), rel=1e-3)
        assert (
            batch.total
            <= dp.Budget(**{batch.currency: price[batch.currency]}).arguments[batch.currency]
        )
        first, second = relative(batch, (2000 / 3, 2000))
        assert first == pytest.approx(second, rel=0.15)  # half-widths are whole numbers
        before = clinic.remaining.share
        by_ward, everybody = clinic.ask(batch)
        assert [len(by_ward), len(everybody)] == [3, 1]
        assert float(before - clinic.remaining.share) == pytest.approx(
            float(batch.total / (1 if "rho" in price else 4)), rel=1e-3
        )
        assert all(release.replayed for release in clinic.ask(batch))


def test_questions_about_different_people_have_the_whole_price_each(tmp_path):
    with opened(tmp_path, budget='[budget]\nepsilon = 1\nper = "month"\n') as clinic:
        months = [MONTH.format(f"2026-0{at}") for at in (1, 2, 3)]
        batch = clinic.plan(months, epsilon=1)
        assert [float(plan.price.epsilon) for plan in batch.plans] == pytest.approx(
            [1, 1, 1], rel=1e-3
        )
        assert batch.fits
        assert float(batch.total) == pytest.approx(1, rel=1e-3)
        mixed = clinic.plan([*months, "SELECT COUNT(*) AS n FROM visits"], epsilon=1)
        assert 0.999 < mixed.total <= 1
        assert mixed.fits


def test_a_batch_that_does_not_fit_is_refused_whole(tmp_path):
    with opened(tmp_path, budget="[budget]\nepsilon = 1\n") as clinic:
        questions = [BY_WARD, "SELECT COUNT(*) AS n FROM visits"]
        batch = clinic.plan(questions, epsilon=2)
        assert batch.fits is False
        with pytest.raises(OverBudget, match="nothing was spent"):
            clinic.ask(batch)
        assert clinic.remaining.share == 1
        for wrong in ({"error": {"n": 5}}, {"share": "1%"}, {"epsilon": 1, "rho": 1}, {}):
            with pytest.raises(InputError, match="one price"):
                clinic.plan(questions, **wrong)
        with pytest.raises(InputError, match="1 to 100"):
            clinic.plan([], epsilon=1)


def test_the_command_line_plans_several_questions_and_follows_the_rules(tmp_path):
    pyarrow.csv.write_csv(VISITS, tmp_path / "visits.csv")
    policy = tmp_path / "discreet.toml"
    session = '[session]\ndata = { visits = "visits.csv" }\nledger = "visits.ledger"\n'
    top = f"{HEAD}{session}[budget]\nepsilon = 4\n{LIMITS}max_answer_rows = 3\n"
    policy.write_text(top + TABLES)
    asked = ["plan", BY_WARD, "SELECT COUNT(*) AS n FROM visits", "--policy", str(policy)]
    batch = CliRunner().invoke(app, [*asked, "--epsilon", "2", "--json"])
    assert batch.exit_code == 0
    found = json.loads(batch.stdout)
    assert found["epsilon"] == pytest.approx(2, rel=1e-3)
    assert [len(found["plans"]), found["balanced"]] == [2, True]
    by_day = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"
    refused = CliRunner().invoke(app, ["plan", by_day, "--policy", str(policy), "--epsilon", "1"])
    assert refused.exit_code != 0
    assert "the policy allows 3" in refused.stderr
