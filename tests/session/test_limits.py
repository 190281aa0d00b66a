"""Limits speak, and can be bought: small twins of data sets on which answers were silently cut.

Chance enters through noise alone.  Comparisons hold with a chance of at least 1 - 1e-6 each.
"""

import json
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dp
import discreet.session as sessions
from discreet.errors import BadPolicy, NotAllowed, OverBudget, WrongKind
from discreet.plan.policy.policy import read_policy
from discreet.plan.statistics import limit_choice
from discreet.release import answer as bounds_found
from discreet.session import purchases
from tests.cli.test_commands import answered as command
from tests.cli.test_commands import run
from tests.session.test_crashes import kinds

POLICY = """
format = 1
unit = "id"
[budget]
epsilon = "100"
[limits]
max_rows = {rows}
max_groups = {groups}
ceilings = []
confidence = "0.9999999"
max_epsilon_per_question = "50"
[tables.{table}.columns]
id = {{type = "integer"}}
{columns}
"""
SURE = {"epsilon": 20, "confirm": True}


@pytest.fixture(autouse=True)
def _no_false_alarms(monkeypatch):
    """Let bins stand out by mistake as rarely as any other test here may fail."""
    monkeypatch.setattr(bounds_found, "FALSE_ALARM", Fraction(1, 10**9))
    monkeypatch.setattr(purchases, "FALSE_ALARM", Fraction(1, 10**9))


def nafld(people=400):
    """Many tests for each patient: a few have ten times as many as others."""
    who = [at for at in range(people) for _ in range(2 + at % 40 + 90 * (at % 50 == 0))]
    columns = 'test = {type = "text", categories = ["a", "b", "c"]}'
    tests = pa.array(["abc"[at % 3] for at in range(len(who))])
    return pa.table({"id": who, "test": tests}), columns


def movielens(people=300):
    """Whoever rates much rates lower."""
    rows = [(at, 5 - (at % 10) // 3) for at in range(people) for _ in range(3 * (1 + at % 10))]
    who, ratings = zip(*rows, strict=True)
    table = pa.table({"id": list(who), "rating": [float(each) for each in ratings]})
    return table, 'rating = {type = "float", low = 0.5, high = 5, nullable = false}'


def flights(planes=200):
    """Delays lie far outside the bounds that somebody thought of."""
    rows = [(at, float((at * number) % 97 - 20)) for at in range(planes) for number in range(30)]
    who, delays = zip(*rows, strict=True)
    table = pa.table({"id": list(who), "delay": list(delays)})
    return table, 'delay = {type = "float", low = -30, high = 60, nullable = false}'


def opened(folder, name, made, *, rows=4, groups=2, budget=None):
    table, columns = made
    policy = POLICY.format(table=name, rows=rows, groups=groups, columns=columns)
    if budget is not None:
        policy = policy.replace('"100"', f'"{budget}"')
    return sessions.open({name: table}, policy=policy, ledger=folder / f"{name}.ledger")


def counts(table, *keys):
    return Counter(zip(*(table.column(key).to_pylist() for key in ("id", *keys)), strict=True))


def test_a_count_says_that_rows_are_left_out_and_which_share(tmp_path):
    table, _ = made = nafld()
    numbers = counts(table)
    kept = sum(min(4, number) for number in numbers.values())
    with opened(tmp_path, "tests", made) as session:
        share = dp.share_cut(epsilon=20)
        answer = session.ask("SELECT COUNT(*) AS n FROM tests", **SURE, share_cut=share)
        assert abs(answer["n"][0].as_py() - kept) <= 5
        text, html = answer.details, answer._repr_html_()
        for words in (
            "intervals for the noise alone",
            "At most 4 rows of each id count; rows beyond that are left out of these numbers.",
            "Limits leave out about ",
        ):
            assert words in text
            assert words in html
        assert "limits may have cut it" in repr(answer)
        true = 1 - kept / table.num_rows
        assert answer.share.low <= true <= answer.share.high
        assert answer.share.high - answer.share.low < 0.1
        assert kinds(session).count("charge") == 2
        again = session.ask("SELECT COUNT(*) AS n FROM tests", **SURE, share_cut=share)
        assert again.replayed
        assert again.share == answer.share
        assert kinds(session).count("charge") == 2


def test_a_share_that_noise_hides_is_unknown_and_not_an_error(tmp_path):
    """Of three people with few rows nothing stands out of the noise: any share is possible."""
    few = pa.table({"id": [1, 2, 3] * 5, "test": ["a"] * 15}), nafld(1)[1]
    with opened(tmp_path, "tests", few) as session:
        share = dp.share_cut(epsilon="0.5")
        answer = session.ask("SELECT COUNT(*) AS n FROM tests", epsilon="0.5", share_cut=share)
    assert (answer.share.low, answer.share.high) == (0, 1)


def test_bought_limits_bring_the_count_near_the_truth(tmp_path):
    table, _ = made = nafld()
    with opened(tmp_path, "tests", made) as session:
        wanted = {"epsilon": 5, "limits": dp.estimate_limits(epsilon=5)}
        first = session.ask("SELECT COUNT(*) AS n FROM tests", **wanted)
        plan = first.plan
        assert kinds(session).count("charge") == 2  # the spread of rows, and the answer
        most = plan.found_limits.limits.max_rows
        numbers = counts(table).values()
        assert max(numbers) / 2 <= most <= 1.3 * max(numbers)
        assert plan.found_limits.rows.quantile(Fraction(1, 2)) in range(19, 26)
        assert f"max_rows = {most}" in plan.details
        answer = session.ask(plan)
        assert answer.replayed
        assert session.ask("SELECT COUNT(*) AS n FROM tests", **wanted).replayed
        assert kinds(session).count("charge") == 2  # the answer alone: the limits are on record
        cut = sum(max(0, number - most) for number in numbers)
        low, high = answer["n_low"][0].as_py(), answer["n_high"][0].as_py()
        assert low <= table.num_rows - cut <= high
        assert table.num_rows - answer["n"][0].as_py() < 0.02 * table.num_rows


def test_groups_are_bought_beside_rows(tmp_path):
    with opened(tmp_path, "tests", nafld()) as session:
        question = "SELECT test, COUNT(*) AS n FROM tests GROUP BY test"
        answer = session.ask(
            question, epsilon=5, limits=dp.estimate_limits(epsilon=10), confirm=True
        )
        plan = answer.plan
        assert plan.found_limits.limits.max_groups == 3
        assert kinds(session).count("charge") == 3
        spent = session.remaining.spent[0]
        assert Fraction(spent, 10**24) == 15
        assert not any(cut.kind == "groups" for cut in plan.truncations)
        given = session.plan(question, epsilon=5, limits=dp.limits(max_rows=2, max_groups=1))
        found = {cut.kind: cut.limit for cut in given.truncations}
        assert found == {"rows": 2, "groups": 1, "unlisted": None, "unnamed": None}


def test_a_mean_says_whose_rows_it_is_of(tmp_path):
    table, _ = made = movielens()
    ratings = dict(zip(table["id"].to_pylist(), table["rating"].to_pylist(), strict=True))
    numbers = {who: number for (who,), number in counts(table).items()}
    weights = {who: min(4, number) for who, number in numbers.items()}
    bounded = sum(ratings[who] * weights[who] for who in ratings) / sum(weights.values())
    with opened(tmp_path, "ratings", made) as session:
        answer = session.ask("SELECT AVG(rating) AS m FROM ratings", **SURE)
        assert abs(answer["m"][0].as_py() - bounded) < 0.02
        plain = sum(table["rating"].to_pylist()) / table.num_rows
        assert abs(bounded - plain) > 0.1  # what the reader has to be told
        words = "Whoever has more rows enters sums and means with 4 rows of their own mean."
        assert words in answer.details
        all_rows = session.ask("SELECT AVG(rating) AS m FROM ratings", **SURE, limits=dp.limits(max_rows=30))  # fmt: skip  # noqa: E501
        assert abs(all_rows["m"][0].as_py() - plain) < 0.05
        both = session.ask("SELECT SUM(rating) AS s, COUNT(*) AS n FROM ratings", **SURE)
        alone = session.ask("SELECT SUM(rating) AS s FROM ratings", **SURE)
        true = sum(ratings[who] * weights[who] for who in ratings)
        for told in (both, alone):
            assert abs(told["s"][0].as_py() - true) < 60


def test_bounds_on_values_are_said(tmp_path):
    with opened(tmp_path, "flights", flights(), rows=30) as session:
        answer = session.ask("SELECT AVG(delay) AS d FROM flights", **SURE)
        assert "delay below -30 counts as -30, and above 60 as 60." in answer.details


def test_both_prices_have_to_fit_before_either_is_spent(tmp_path):
    with opened(tmp_path, "tests", nafld(), budget=2) as session:
        with pytest.raises(OverBudget):
            session.ask("SELECT COUNT(*) AS n FROM tests", epsilon=1, share_cut=dp.share_cut(epsilon="1.5"))  # fmt: skip  # noqa: E501
        assert "charge" not in kinds(session)
        session.ask("SELECT COUNT(*) AS n FROM tests", epsilon=1)
        session.ask("SELECT COUNT(*) AS n FROM tests", epsilon=1, share_cut=dp.share_cut(epsilon=1))
        assert session.remaining.amounts[0] == 0


def test_both_spreads_have_to_fit_before_either_is_bought(tmp_path):
    with opened(tmp_path, "tests", nafld(), budget=2) as session:
        question = "SELECT test, COUNT(*) AS n FROM tests GROUP BY test"
        with pytest.raises(OverBudget):
            session.ask(question, epsilon=1, limits=dp.estimate_limits(epsilon=3))
        assert "charge" not in kinds(session)


@pytest.mark.parametrize(
    ("call", "options"),
    [
        ("plan", {"share_cut": dp.share_cut(epsilon=1)}),
        ("remeasure", {"share_cut": dp.share_cut(epsilon=1)}),
        ("remeasure", {"limits": dp.limits(max_rows=1)}),
        ("ask", {"limits": 5}),
        ("ask", {"share_cut": 0.1}),
        ("ask", {"limits": dp.estimate_limits(epsilon=1), "error": {"n": 5}, "epsilon": None}),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_spent(tmp_path, call, options):
    with opened(tmp_path, "tests", nafld(20)) as session:
        with pytest.raises(WrongKind):
            getattr(session, call)("SELECT COUNT(*) AS n FROM tests", **{"epsilon": 1, **options})
        assert "charge" not in kinds(session)


@pytest.mark.parametrize("kind", [limit_choice.LimitsPrice, limit_choice.SharePrice])
@pytest.mark.parametrize("epsilon", [0, -1, "0", None, float("nan"), float("inf"), "much", []])
def test_a_price_made_by_hand_is_checked_too(kind, epsilon):
    with pytest.raises(dp.DiscreetError):
        kind(epsilon=epsilon)


@pytest.mark.parametrize("most", [0, -1, 2.5, "3", True])
def test_limits_made_by_hand_are_checked_too(most):
    with pytest.raises(dp.DiscreetError):
        limit_choice.QuestionLimits(max_rows=most)
    with pytest.raises(dp.DiscreetError):
        limit_choice.QuestionLimits(max_groups=most)


def test_there_is_nothing_to_buy_where_nothing_is_cut(tmp_path):
    with opened(tmp_path, "tests", nafld(20)) as session:
        with pytest.raises(WrongKind, match="leave out no row"):
            session.ask("SELECT COUNT(DISTINCT id) AS n FROM tests", epsilon=1, share_cut=dp.share_cut(epsilon=1))  # fmt: skip  # noqa: E501
        assert "charge" not in kinds(session)


def test_a_key_that_is_none_costs_accuracy_alone(tmp_path):
    """The declaration is wrong for every person but one; none counts for more than one row."""
    policy = POLICY.format(table="people", rows=9, groups=9, columns="")
    policy = policy.replace("[tables.people.columns]", '[tables.people]\nkey = ["id"]\n[tables.people.columns]')  # fmt: skip  # noqa: E501
    rows = pa.table({"id": [at for at in range(100) for _ in range(1 + 5 * (at > 0))]})
    with sessions.open({"people": rows}, policy=policy, ledger=tmp_path / "l") as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM people", **SURE)
        assert abs(answer["n"][0].as_py() - 100) <= 1
        assert [cut.kind for cut in answer.plan.truncations] == ["unnamed"]
        plan = session.plan("SELECT COUNT(*) AS n FROM people", epsilon=1, confidence="0.95")
        assert plan.predicted[0].half_width == 3


def test_a_table_may_have_limits_of_its_own():
    text = POLICY.format(table="people", rows=9, groups=9, columns="")
    own = text.replace("[tables.people.columns]", "[tables.people]\nmax_rows = 2\n[tables.people.columns]")  # fmt: skip  # noqa: E501
    assert read_policy(read_policy(own).written()) == read_policy(own)
    people = pa.table({"id": [1, 1, 1, 2]})
    with sessions.open({"people": people, "others": people}, policy=own, test_mode=True) as session:
        found = {
            name: session.plan(f"SELECT COUNT(*) AS n FROM {name}", epsilon=1).truncations[0].limit  # noqa: S608
            for name in ("people", "others")
        }
        assert found == {"people": 2, "others": 9}
        joined = "SELECT COUNT(*) AS n FROM people p JOIN others o ON p.id = o.id"
        assert session.plan(joined, epsilon=1).truncations[0].limit == 9
    with pytest.raises(BadPolicy):
        read_policy(own.replace("max_rows = 2", "max_rows = 2\npublic = true"))


def test_the_command_line_says_and_buys_the_same(tmp_path):
    table, _ = nafld(60)
    pyarrow.csv.write_csv(table, tmp_path / "tests.csv")
    command(tmp_path, "init", "tests.csv", "--unit=id", "--type=id=integer", "--categories=test=a,b,c", "--epsilon=50", "--max-rows=4", "--max-groups=3", "--yes")  # fmt: skip  # noqa: E501
    policy = tmp_path / "policy.toml"
    policy.write_text(policy.read_text().replace("[limits]", "[limits]\nceilings = []"))
    count = "SELECT COUNT(*) AS n FROM tests"
    told = command(tmp_path, "ask", count, "--epsilon=5", "--share-cut-epsilon=10", "--confirm")
    assert "95 % intervals for the noise" in told.stdout
    assert "rows of one id beyond 4" in told.stdout
    assert "Limits leave out about " in told.stdout
    found = json.loads(
        command(tmp_path, "ask", count, "--epsilon=5", "--share-cut-epsilon=10", "--json").stdout
    )
    assert found["replayed"]
    assert found["intervals"] == "noise alone"
    assert found["truncations"][0]["limit"] == 4
    assert 0 < found["share_cut"]["low"] < found["share_cut"]["high"] < 1
    bought = json.loads(
        command(
            tmp_path, "ask", count, "--epsilon=5", "--limits-epsilon=10", "--confirm", "--json"
        ).stdout
    )
    assert bought["limits"]["max_rows"] > 30
    given = json.loads(
        command(tmp_path, "plan", count, "--epsilon=5", "--max-rows=7", "--json").stdout
    )
    assert given["truncations"][0]["limit"] == 7
    for wrong in (["--max-rows=7", "--limits-epsilon=1"], ["--limits-epsilon=1", "--dry-run"]):
        assert run(tmp_path, "ask", count, "--epsilon=5", *wrong).exit_code != 0


def test_an_owner_may_look_and_is_told_what_that_means(tmp_path):
    table, _ = nafld(100)
    pyarrow.csv.write_csv(table, tmp_path / "tests.csv")
    people = pa.table({"id": list(range(50)), "age": [at % 9 for at in range(50)]})
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    common = ("--unit=id", "--type=id=integer", "--yes", "--owner", "--accept-proposals")
    command(tmp_path, "init", "tests.csv", *common, "--categories=test=a,b,c", "--policy=t.toml")  # fmt: skip  # noqa: E501
    numbers = sorted(counts(table).values())
    policy = read_policy(tmp_path / "t.toml")
    assert policy.limits.max_rows == numbers[98]  # what 99 of 100 people do not exceed
    assert policy.limits.max_groups == 3
    assert policy.tables[0].key == ()
    text = (tmp_path / "t.toml").read_text()
    assert "NOT PRIVATE" in text
    assert "accepted for the owner as they were, with --accept-proposals" in text
    command(tmp_path, "init", "people.csv", *common, "--policy=p.toml")
    assert read_policy(tmp_path / "p.toml").tables[0].key == ("id",)


@pytest.mark.parametrize("options", ["max_rows_per_group = 5", "max_groups_contributed = 3"])
def test_a_question_cannot_raise_what_the_policy_gives(tmp_path, options):
    clause = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, {options})"
    question = f"{clause} COUNT(*) AS n FROM tests"
    table, columns = nafld(20)
    policy = POLICY.format(table="tests", rows=4, groups=2, columns=columns)
    strict = policy.replace("ceilings = []", "")
    with sessions.open({"tests": table}, policy=strict, ledger=tmp_path / "a") as session:
        with pytest.raises(NotAllowed, match="is asked for"):
            session.ask(question)
        with pytest.raises(NotAllowed, match="max_rows is 4 in the policy"):
            session.plan(CLAUSELESS, epsilon=1, limits=dp.limits(max_rows=5))
        assert "charge" not in kinds(session)
        assert session.plan(CLAUSELESS, epsilon=1, limits=dp.limits(max_rows=3)).truncations
    with sessions.open({"tests": table}, policy=policy, ledger=tmp_path / "b") as session:
        assert session.plan(question).price.epsilon == 1


CLAUSELESS = "SELECT COUNT(*) AS n FROM tests"
