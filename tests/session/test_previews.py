"""What a plan says that it leaves, and closes, is what asking for it leaves and closes."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting import Budget
from discreet.errors import OverBudget
from discreet.units import Relation

POLICY = """
format = 1
[tables.t.columns.g]
type = "text"
categories = ["a", "b", "c"]
[tables.t.columns.p]
type = "integer"
low = 0
high = 99
"""
TABLE = pa.table({"g": ["a", "b", "c"] * 20, "p": list(range(60))})
COUNT = "SELECT COUNT(*) AS n FROM t"
CLOSES = "closes the route of epsilon: later questions have to fit in rho or mu squared"


def opened(folder, relation, budget=None):
    return dp.open(
        {"t": TABLE},
        unit=dp.row(relation=relation),
        policy=POLICY,
        budget=budget or Budget(epsilon=1, delta="1e-6"),
        ledger=Path(folder) / "t.ledger",
    )


def test_two_records_of_two_scopes_pay_for_both(tmp_path):
    """Each alone leaves the route of epsilon open; a record of one may become one of the other."""
    with opened(tmp_path, Relation.REPLACE) as session:
        session.ask(f"{COUNT} WHERE g = 'b'", rho="0.001")
        plan = session.plan(f"{COUNT} WHERE p < 50", rho="0.002")
        assert plan.budget_preview.left.startswith("epsilon 0 of 1, ")
        assert plan.budget_preview.notes == (CLOSES,)
        session.ask(plan)
        assert session.remaining.spent[0] > session.remaining.budget.limit[0]
        assert session.remaining.details.startswith(plan.budget_preview.left)
        later = session.plan(f"{COUNT} WHERE p < 50", rho="0.001").budget_preview
        assert later.notes == ()  # it was closed before


def test_records_of_two_scopes_pay_apart_where_one_is_added(tmp_path):
    with opened(tmp_path, Relation.ADD_REMOVE) as session:
        session.ask(f"{COUNT} WHERE g = 'b'", rho="0.001")
        plan = session.plan(f"{COUNT} WHERE g = 'a'", rho="0.002")
        assert plan.budget_preview.notes == ()
        session.ask(plan)
        assert session.ledger.left(plan.scope).details.startswith(plan.budget_preview.left)
        assert session.remaining.amounts[0] > 0


def test_the_half_of_delta_is_that_which_is_taken(tmp_path):
    budget = Budget(epsilon=2, delta="1e-5")
    sums = f"SELECT p + LENGTH(g) AS q, {COUNT[7:]} GROUP BY q"  # no public values
    with opened(tmp_path, Relation.ADD_REMOVE, budget) as session:
        for delta, notes in (("5e-7", 0), ("6e-7", 1)):
            plan = session.plan(sums, epsilon="0.1", delta=delta)
            assert len(plan.budget_preview.notes) == notes
            session.ask(plan)
            assert session.remaining.details.startswith(plan.budget_preview.left)


SCOPES = ("", " WHERE g = 'a'", " WHERE g = 'b'", " WHERE p < 50", " WHERE g = 'c' AND p >= 30")
PRICES = ({"epsilon": "0.2"}, {"epsilon": "0.45"}, {"rho": "0.001"}, {"rho": "0.004"})
BUDGETS = (
    Budget(epsilon=1, delta="1e-6"),
    Budget(rho="0.02"),
)
KINDS = ("COUNT(*)", "SUM(p)", "MEDIAN(p)")
ASKED = st.tuples(st.sampled_from(KINDS), st.sampled_from(SCOPES), st.sampled_from(PRICES))


@pytest.mark.theorem("cell-pairs")
@given(
    st.sampled_from([Relation.ADD_REMOVE, Relation.REPLACE]),
    st.sampled_from(BUDGETS),
    st.lists(ASKED, min_size=1, max_size=5),
)
@settings(max_examples=25, deadline=None)
def test_a_plan_says_what_asking_leaves(relation, budget, questions):
    with tempfile.TemporaryDirectory() as folder, opened(folder, relation, budget) as session:
        for kind, scope, price in questions:
            question = f"SELECT {kind} AS n FROM t{scope}"  # noqa: S608  our own words
            plan = session.plan(question, **price, delta="1e-9")
            said = plan.budget_preview
            before = session.ledger.left(plan.scope)
            if said.entry is not None:
                session.ask(plan)
                assert session.ledger.left(plan.scope) == before
                continue
            if not said.fits:
                with pytest.raises(OverBudget):
                    session.ask(plan)
                assert before.details.startswith(said.left)
                continue
            session.ask(plan)
            after = session.ledger.left(plan.scope)
            assert after.details.startswith(said.left)
            if not scope:
                assert after == session.remaining
            routes = [route for route in budget.currency.routes if before.fits_on(route)]
            closed = [budget.components[r[0]] for r in routes if not after.fits_on(r)]
            told = [note.split(":")[0] for note in said.notes if "closes" in note]
            some = closed and len(closed) < len(routes)
            assert told == ([f"closes the route of {' and '.join(closed)}"] if some else [])
