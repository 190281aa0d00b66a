"""What is unknown after a restore counts on every route; budgets and accounts are recognized."""

import pytest

from discreet.accounting import Box, Budget, Leaf, equals
from discreet.errors import OverBudget
from discreet.ledger import Ledger
from discreet.ledger.verify import verify
from discreet.loss import Pure, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import row
from tests.ledger.chains import Chain

PEOPLE = {"reason": "the disk is gone", "by": "ana", "approved_by": "ben"}
RHO_ALONE = Leaf(Gaussian(variance=15))


def kept(epsilon, delta="1e-6"):
    return Budget(epsilon=epsilon, delta=delta)


def restored(tmp_path, *charges, unit=None):
    """Return a ledger that was restored from a backup with some charges."""
    budget = kept(1)
    with Ledger.open(tmp_path / "old", unit=unit or row(), budget=budget) as ledger:
        for number, tree in enumerate(charges):
            ledger.charge(tree, key=f"known {number}")
        ledger.backup(tmp_path / "backup")
    return Ledger.restore(tmp_path / "new", tmp_path / "backup", **PEOPLE)


# --- restored ledgers -----------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_raise_opens_no_route_that_unknown_charges_may_have_closed(tmp_path, relation):
    first = Leaf(Laplace(scale=1 if relation == "add_remove" else 2))
    with restored(tmp_path, first, unit=row(relation=relation)) as ledger:
        assert not any(ledger.left().amounts)
        ledger.raise_limit("data", budget=kept(2), **PEOPLE)
        with pytest.raises(OverBudget):  # the old one has an epsilon of 1, and a large rho
            ledger.charge(RHO_ALONE, key="g")
        with pytest.raises(OverBudget):
            ledger.charge(Leaf(Laplace(scale="0.9")), key="h")
        assert ledger.left().how_many(RHO_ALONE) == 0
        assert "on every route" in ledger.left().details
        assert ledger.verify().ok
    with Ledger.open(tmp_path / "new") as ledger:
        for tree in (RHO_ALONE, Leaf(Laplace(scale="0.9"))):
            with pytest.raises(OverBudget):
                ledger.charge(tree, key="i")


def test_what_fits_on_every_route_is_granted_after_a_raise(tmp_path):
    with restored(tmp_path) as ledger:
        ledger.raise_limit("data", budget=kept(2), **PEOPLE)
        loss = ledger.left().loss
        assert loss.epsilon(delta=0) > 0.3
        ledger.charge(Leaf(loss), key="both")
        assert 0 <= ledger.left().amounts[-2] < 10**21
        with pytest.raises(OverBudget):
            ledger.charge(Leaf(Pure(epsilon="0.05")), key="more")
        assert ledger.verify().ok


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("scope", [None, Box({"ward": equals("A")})])
def test_the_auditor_asks_for_every_route(scope, relation):
    """A chain with a restore entry after which a raise opened a route."""
    chain = Chain(kept(1), unit=row(relation=relation))
    chain.charge("k", Pure(epsilon=1 if relation == "add_remove" else "0.5"))
    chain.restore(spent=True)
    chain.raise_to(kept(2).counted_like(kept(1)))
    assert verify(chain.rows()).ok
    small = chain.copy()
    small.charge("s", Pure(epsilon="0.05"), scope=scope)
    assert verify(small.rows()).ok
    chain.charge("g", ZeroConcentrated(rho="0.01"), scope=scope)
    assert [(problem.seq, problem.kind) for problem in verify(chain.rows()).problems] == [
        (5, "sum")
    ]


# --- filters --------------------------------------------------------------------------------------
