"""The rules of a session: from the policy, from the call, or from both if they agree."""

import pytest

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import BadPolicy, NotAllowed, WrongKind
from discreet.plan.policy.policy import Policy
from discreet.session.opening_arguments import budget_of, check_analyst, policy_of, unit_of
from discreet.units import person, row

TEXT = 'format = 1\nunit = "patient"\n[budget]\nepsilon = "2"\n[who]\nanalysts = ["ana"]\n'


def test_a_policy_is_a_path_a_text_or_a_value(tmp_path):
    path = tmp_path / "clinic.toml"
    path.write_text(TEXT)
    assert policy_of(path) == policy_of(str(path)) == policy_of(TEXT)
    assert policy_of(policy_of(TEXT)) == policy_of(TEXT)
    assert policy_of(None) == Policy()


def test_a_policy_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadPolicy):
        policy_of(tmp_path / "nothing.toml")
    with pytest.raises(WrongKind):
        policy_of(7)


def test_the_unit_comes_from_either_place_or_from_both_alike():
    rules = policy_of(TEXT)
    assert unit_of(None, rules) == unit_of(person("patient"), rules) == person("patient")
    assert unit_of(row(), Policy()) == row()


@pytest.mark.parametrize(
    "unit", [row(), person("doctor"), person("patient", relation="replace")], ids=str
)
def test_two_units_are_refused(unit):
    with pytest.raises(BadPolicy):
        unit_of(unit, policy_of(TEXT))


def test_no_unit_is_refused():
    with pytest.raises(BadPolicy):
        unit_of(None, Policy())
    with pytest.raises(WrongKind):
        unit_of("patient", Policy())


def test_the_budget_comes_from_either_place_or_from_both_alike():
    rules = policy_of(TEXT)
    assert budget_of(None, rules) == budget_of(Budget(epsilon=2), rules) == Budget(epsilon=2)
    assert budget_of(None, Policy()) is None
    with pytest.raises(BadPolicy):
        budget_of(Budget(epsilon=3), rules)
    with pytest.raises(WrongKind):
        budget_of(2, Policy())


def test_only_listed_people_may_ask():
    rules = policy_of(TEXT)
    check_analyst("ana", rules)
    check_analyst("bo", Policy())
    with pytest.raises(NotAllowed):
        check_analyst(None, rules)
    with pytest.raises(NotAllowed) as caught:
        check_analyst("bo", rules)
    assert "ana" not in str(caught.value).replace("analyst", "")
    with pytest.raises(WrongKind):
        check_analyst(7, Policy())


def test_a_policy_that_names_its_data_and_ledger_is_enough(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text("ward\nA\nB\nA\n")
    (tmp_path / "policy.toml").write_text(
        'format = 1\nunit = "row"\n[budget]\nepsilon = 1\n[session]\ndata = "visits.csv"\n'
        'ledger = "visits.ledger"\n[tables.visits.columns]\n'
        'ward = { type = "text", categories = ["A", "B"] }\n'
    )
    monkeypatch.chdir(tmp_path.parent)
    question = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    with dp.open(policy=tmp_path / "policy.toml") as session:
        assert not session.ask(question, epsilon=0.5, confirm=True).replayed
    with dp.open(policy=str(tmp_path / "policy.toml")) as session:
        assert session.ask(question, epsilon=0.5, confirm=True).replayed
    with pytest.raises(WrongKind, match="no data is named"):
        dp.open(policy='format = 1\nunit = "row"\n')
