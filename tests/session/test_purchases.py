"""Whatever one call buys is refused as a whole, before anything of it is paid for."""

import pytest

import discreet as dp
from discreet.errors import DiscreetError, MissingBounds, NotAllowed, OverBudget, WrongKind
from discreet.session.answer_pipeline import AnswerPipeline
from tests.session.clinic import COUNT, visits
from tests.session.test_crashes import kinds

POLICY = """
format = 1
unit = "patient"
[limits]
max_rows = 4
max_groups = 3
{more}
[tables.visits.columns]
ward = {{type = "text", categories = ["A", "B", "C"]}}
cost = {{type = "float"}}
"""
WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
MEAN = "SELECT AVG(cost) AS m FROM visits"
AT_MOST_TWO = "max_epsilon_per_question = 2"


@pytest.fixture
def clinic(tmp_path):
    def opened(more="", budget=100):
        return dp.open(
            {"visits": visits()},
            policy=POLICY.format(more=more),
            budget=dp.Budget(epsilon=budget),
            ledger=tmp_path / "l",
        )

    return opened


def limits(epsilon):
    return {"limits": dp.estimate_limits(epsilon=epsilon)}


def share(epsilon):
    return {"share_cut": dp.share_cut(epsilon=epsilon)}


@pytest.mark.parametrize(
    ("question", "price", "more", "error"),
    [
        (COUNT, {"epsilon": 50, **limits(1)}, "", NotAllowed),
        (COUNT, {"epsilon": 5, **limits(1)}, AT_MOST_TWO, NotAllowed),
        (MEAN, {"epsilon": 1, **limits(1)}, "", MissingBounds),
        (COUNT, {"epsilon": 9, **limits(1)}, "", OverBudget),
        (COUNT, {"rho": 1, **limits(1)}, "", WrongKind),  # a budget in epsilon, and no delta
        (COUNT, {"epsilon": 1, **share(50)}, "", NotAllowed),
        (COUNT, {"epsilon": 1, **limits(1), **share(50)}, "", NotAllowed),
        (COUNT, {"epsilon": 1, **limits(1), **share(7)}, "", OverBudget),
        (COUNT, {"epsilon": 1, **limits(1), **share(3)}, AT_MOST_TWO, NotAllowed),
        ("SELECT COUNT(DISTINCT patient) AS n FROM visits", {"epsilon": 1, **limits(1), **share(1)}, "", WrongKind),  # noqa: E501
        (COUNT, {"epsilon": 1, **limits(1), "share_cut": 1}, "", WrongKind),
        # what one call buys, in however many parts
        (WARDS, {"epsilon": 1, **limits("2.6")}, AT_MOST_TWO, NotAllowed),
        (WARDS, {"epsilon": 1, **limits("1.5")}, AT_MOST_TWO, NotAllowed),
        (COUNT, {"epsilon": "1.5", **share(1)}, AT_MOST_TWO, NotAllowed),
        (WARDS, {"epsilon": 1, **limits("9.5")}, "", NotAllowed),
        (COUNT, {"epsilon": 6, **share(5)}, "", NotAllowed),
        (COUNT, {"epsilon": 4, **limits(4), **share(4)}, "", NotAllowed),
    ],
)  # fmt: skip
def test_nothing_is_spent_on_what_is_refused(clinic, question, price, more, error):
    budget = 8 if error is OverBudget else 100
    with clinic(more, budget) as session:
        with pytest.raises(error):
            session.ask(question, **price)
        assert "charge" not in kinds(session)


@pytest.mark.parametrize(
    ("question", "price", "more", "words"),
    [
        (WARDS, {"epsilon": 1, **limits(1)}, "", "They cost epsilon 0.5.* and epsilon 0.5"),
        (COUNT, {"epsilon": 1, **limits(11)}, "", "They cost epsilon 11"),
        (WARDS, {"epsilon": 1, **limits("2.6")}, AT_MOST_TWO, r"costs epsilon 2\.6"),
        (COUNT, {"epsilon": 3, **limits(1)}, AT_MOST_TWO, "costs epsilon 3"),
        (MEAN, {"epsilon": 1, **limits(1)}, "", "no public bounds"),
    ],
)
def test_a_plan_spends_nothing(clinic, question, price, more, words):
    with clinic(more) as session:
        with pytest.raises(DiscreetError, match=f"(?s){words}"):
            session.plan(question, **price)
        assert "charge" not in kinds(session)


def test_limits_on_record_are_planned_with(clinic):
    with clinic() as session:
        told = session.ask(WARDS, epsilon=1, **limits(1))
        before = kinds(session)
        plan = session.plan(WARDS, epsilon=1, **limits(1))
        assert plan.found_limits == told.plan.found_limits
        assert session.plan(WARDS, epsilon=2, **limits(1)).found_limits.limits.max_groups <= 3
        assert kinds(session) == before


def test_what_is_confirmed_or_named_is_bought(clinic):
    with clinic() as session:
        session.ask(WARDS, epsilon=12, confirm=True, **limits(12), **share(12))
        assert kinds(session).count("charge") == 4
        again = session.ask(WARDS, epsilon=12, **limits(12), **share(12))  # on record
        assert again.replayed
        assert kinds(session).count("charge") == 4


def test_a_policy_that_names_a_price_confirms_the_sum(clinic):
    with clinic("max_epsilon_per_question = 50") as session:
        session.ask(WARDS, epsilon=1, **limits(19))
        assert kinds(session).count("charge") == 3


def test_the_whole_budget_can_be_spent_and_told_again(clinic):
    price = {"epsilon": 1, **limits(1), **share(1)}
    with clinic(budget=3) as session:
        first = session.ask(WARDS, **price)
        assert session.remaining.amounts[0] == 0
        again = session.ask(WARDS, **price)
        assert again.replayed
        assert again.share == first.share


@pytest.mark.parametrize("price", [limits(1), share(1)])
def test_what_was_paid_before_a_crash_is_not_paid_again(clinic, monkeypatch, price):
    with monkeypatch.context() as crash:
        crash.setattr(AnswerPipeline, "_close_on_failure", lambda *_: 1 / 0)
        with clinic(budget=2) as session, pytest.raises(ZeroDivisionError):
            session.ask(COUNT, epsilon=1, **price)
    with clinic(budget=2) as session:
        assert kinds(session).count("charge") == 1
        session.ask(COUNT, epsilon=1, **price)
        assert session.remaining.amounts[0] == 0


@pytest.mark.parametrize("price", [limits(5), share(5)])
def test_a_price_is_named_as_it_was_given(clinic, price):
    with clinic(AT_MOST_TWO) as session, pytest.raises(NotAllowed, match="costs epsilon 5;"):
        session.ask(WARDS, epsilon=1, **price)
