"""Ways out of refusals fit, and the dummy twin comes from the policy alone."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import EngineFailed, NotAllowed
from discreet.plan.policy.policy import read_policy
from discreet.service.ways_out import ways_out, within_policy, without_last_key
from discreet.web import dummy_twin
from discreet.web.budget_pages import (
    account_facts,
    by_purpose,
    purpose_bar,
)
from discreet.web.dummy_twin import answer_about_twin, dry_run, twin_of
from tests.web.served import POLICY, write_visits

QUESTION = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("clinic")
    write_visits(made / "visits.csv", rows=200)
    return made


def opened(folder, name, policy=POLICY, **options):
    return dp.open(folder / "visits.csv", policy=policy, ledger=folder / name, **options)


@pytest.mark.parametrize(
    "budget",
    ['epsilon = 1\ndelta = "1e-9"', "epsilon = 1", 'rho = "0.5"\ndelta = "1e-9"'],
    ids=["both", "pure", "rho"],
)
def test_every_way_out_fits_and_the_raise_is_enough(folder, budget):
    policy = POLICY.replace('epsilon = 1\ndelta = "1e-9"', budget)
    name = f"{abs(hash(budget))}.ledger"
    pays = {"rho": "0.3"} if "rho" in budget else {"epsilon": "0.7"}
    with opened(folder, name, policy) as clinic:
        clinic.ask("SELECT COUNT(*) AS n FROM visits", **pays)

        def planned(question, price):
            return clinic.plan(question, **price)

        plan = planned(QUESTION, pays)
        assert not plan.budget_preview.fits
        found = ways_out(QUESTION, pays, plan, clinic.ledger, account=None, planned=planned)
        assert {each.account for each in found.shortfalls} == {"data"}
        wider, fewer = found.ways
        assert wider.question == QUESTION
        assert fewer.question == "SELECT COUNT(*) AS visits FROM visits"
        for way in found.ways:
            other = planned(way.question, {way.by: way.amount})
            assert other.budget_preview.fits
            assert other.predicted[-1].words in way.words
        higher = dp.Budget(**found.request.budget)
        clinic.ledger.raise_limit(
            found.request.account, budget=higher, reason="more", by="ana", approved_by="stan"
        )
        assert planned(QUESTION, pays).budget_preview.fits
        assert (
            ways_out(QUESTION, pays, plan, clinic.ledger, account=None, planned=planned).ways == ()
        )


def test_the_tightest_account_is_named_and_raised(folder):
    with opened(folder, "accounts.ledger") as owner:
        ledger = owner.ledger
        ledger.open_account("data/flu", by="stan")
        small = dp.Budget(epsilon="0.2", delta="1e-9")
        ledger.open_account("data/flu/ana", budget=small, by="stan")
        clinic = owner.charging(account="data/flu/ana", analyst=None)
        clinic.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.1")

        def planned(question, price):
            return clinic.plan(question, **price)

        price = {"epsilon": "0.5"}
        plan = planned(QUESTION, price)
        found = ways_out(QUESTION, price, plan, ledger, account="data/flu/ana", planned=planned)
        assert {(each.account, each.scope) for each in found.shortfalls} == {
            ("data/flu/ana", "yours")
        }
        assert found.request.account == "data/flu/ana"
        assert Fraction(found.request.budget["epsilon"]) >= Fraction("0.6")

        entries = ledger.proved_entries()
        facts = {each.path: each for each in account_facts(ledger, entries, ["ana"])}
        assert facts["data/flu/ana"].person == "ana"
        assert facts["data/flu/ana"].charges == facts["data"].charges == 1
        assert not facts["data/flu"].limited
        assert list(by_purpose(entries)) == ["flu"]
        owner.ask("SELECT COUNT(*) AS m FROM visits", epsilon="0.01")
        sums = by_purpose(ledger.proved_entries())
        assert list(sums) == ["flu", "without a purpose"]
        assert purpose_bar(sums, "epsilon").description == "flu: 0.1; without a purpose: 0.01"


def test_the_highest_price_of_a_policy_is_a_way_out(folder):
    policy = POLICY.replace("[limits]", "[limits]\nmax_epsilon_per_question = 0.25")
    with opened(folder, "limited.ledger", policy) as clinic:
        with pytest.raises(NotAllowed):
            clinic.plan(QUESTION, epsilon="0.5")

        def planned(question, price):
            return clinic.plan(question, **price)

        limits = read_policy(policy).limits
        (way,) = within_policy(QUESTION, {"epsilon": "0.5"}, limits, planned).ways
        assert (way.by, way.amount) == ("epsilon", "0.25")
        assert within_policy("SELECT nothing", {"epsilon": "0.5"}, limits, planned).ways == ()


@pytest.mark.parametrize(
    ("question", "fewer"),
    [
        ("SELECT a, b, COUNT(*) n FROM t GROUP BY a, b", "SELECT a, COUNT(*) n FROM t GROUP BY a"),
        (
            "select f(x, 1) as y, sum(z) as s from t where z > 0 group by y order by s",
            "select sum(z) as s from t where z > 0 order by s",
        ),
        ("SELECT COUNT(*) FROM (SELECT a FROM t) GROUP BY a", None),
        ("SELECT a FROM t GROUP BY a", None),
        ("SELECT 'GROUP BY' AS g, COUNT(*) AS n FROM t", None),
    ],
)
def test_one_key_less(question, fewer):
    assert without_last_key(question) == fewer


def test_the_twin_follows_from_the_policy_alone(folder):
    policy = read_policy(POLICY)
    twin = twin_of(policy)
    assert twin == twin_of(policy)
    visits = twin["visits"]
    assert visits.num_rows == 3000
    assert set(visits["ward"].to_pylist()) == set(policy.tables[0].column("ward").categories)
    assert 0 <= min(visits["cost"].to_pylist()) <= max(visits["cost"].to_pylist()) <= 900
    asked = {"policy": POLICY, "question": QUESTION, "price": {"epsilon": "100"}}
    (folder / "visits.csv").rename(folder / "gone.csv")
    try:
        found = answer_about_twin(asked)
    finally:
        (folder / "gone.csv").rename(folder / "visits.csv")
    assert [row[0][0] for row in found["rows"]] == sorted(set(visits["ward"].to_pylist()))


def test_a_twin_is_as_large_as_the_public_size():
    sized = """
format = 1
unit = "nr"
[tables.males]
key = ["nr", "year"]
size = {people = 500, rows = 4000}
[tables.males.columns]
nr = {type = "text"}
year = {type = "integer", low = 1980, high = 1987}
ethn = {type = "text", categories = ["black", "hisp", "other"], constant = true}
"""
    rows = twin_of(read_policy(sized))["males"].to_pylist()
    assert len({(row["nr"], row["year"]) for row in rows}) == len(rows) == 4000
    assert len({(row["nr"], row["ethn"]) for row in rows}) == 500


def test_a_dry_run_is_a_process_with_limits(monkeypatch):
    policy = read_policy(POLICY)
    found = dry_run(policy, QUESTION, {"epsilon": "1"})
    assert len(found["rows"]) == 3
    with pytest.raises(EngineFailed, match="nothing"):
        dry_run(policy, "SELECT nothing FROM visits", {"epsilon": "1"})
    monkeypatch.setattr("discreet.web.dummy_twin._SECONDS", 0.01)
    with pytest.raises(EngineFailed, match="stopped"):
        dry_run(policy, QUESTION, {"epsilon": "1"})


def test_two_dry_runs_go_on_at_once_and_a_third_is_told(monkeypatch):
    monkeypatch.setattr(dummy_twin, "_SECONDS", 0)
    policy = read_policy(POLICY)
    both = dummy_twin._AT_ONCE
    with both, both, pytest.raises(EngineFailed, match="other dry runs"):
        dry_run(policy, QUESTION, {"epsilon": "1"})
    assert dummy_twin._AT_ONCE._value == 2
