"""What is said of ledgers is never below what an attacker can do, whatever was recorded in them."""

import itertools
from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting import (
    Box,
    Contribution,
    Group,
    Leaf,
    Parallel,
    Post,
    Repeat,
    Sequential,
    account,
    equals,
)
from discreet.explain import Guesses
from discreet.explain.sources import disclosure_of
from discreet.ledger import Ledger

SLACK = 1e-7  # of the accounted loss, which is an upper bound too
COUNT = Leaf(dp.mechanisms.Laplace(scale=2), replaced=0)
WARD = Box({"ward": equals("A")})
RELATIONS = ("add_remove", "replace", "either")
TREES = {
    "count": COUNT,
    "sum": Leaf(dp.mechanisms.Laplace(scale=8), added=4, replaced=4),
    "gaussian": Leaf(dp.mechanisms.Gaussian(sigma=3)),
    "loss": Leaf(dp.loss.Approximate(epsilon="0.3", delta="1e-5")),
    "parts": Parallel("ward", {"A": COUNT, "B": Leaf(dp.mechanisms.Laplace(scale=3), replaced=0)}),
    "several": Sequential(Repeat(COUNT, 3), Post(Leaf(dp.mechanisms.Laplace(scale=9)))),
    "group": Group(COUNT, distance=3),
}
BUDGETS = {
    "basic": dp.Budget(epsilon=40, delta="0.1"),
    "joint": dp.Budget(epsilon=40, delta="1e-3"),
    "zcdp": dp.Budget(rho=60, delta="0.1"),
}


def opened(folder, **terms):
    return Ledger.open(folder / "some.ledger", **terms)


def told(ledger, **what):
    return ledger.explain(audience="auditor", **what).figures


def right(ledger, **what):
    return Guesses(*disclosure_of(ledger, **what).losses).right()


@pytest.mark.parametrize(("relation", "budget"), [*zip(RELATIONS, BUDGETS, strict=True)])
def test_every_tree_is_told_at_its_accounted_loss_or_above(tmp_path, relation, budget):
    for number, (name, tree) in enumerate(TREES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        unit = dp.row(relation=relation)
        with opened(folder, unit=unit, budget=BUDGETS[budget]) as ledger:
            ledger.charge(tree, key="a", delta="1e-4" if name == "gaussian" else None)
            truth = Guesses(account(tree, unit=unit).loss)
            bounds = Guesses(*disclosure_of(ledger).losses)
            assert bounds.right() >= truth.right() - SLACK, name
            deltas = [loss.delta(epsilon="0.25") for loss in bounds.losses]
            assert min(deltas) >= truth.losses[0].delta(epsilon="0.25") - SLACK, name


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_record_may_be_replaced_by_one_that_the_question_is_not_about(tmp_path, relation):
    """A count of one ward moves where a patient changes the ward, though replaced rows are free."""
    with opened(tmp_path, unit=dp.row(relation=relation), budget=dp.Budget(epsilon=9)) as ledger:
        ledger.start(ledger.charge(COUNT, key="a", question="q", scope=WARD).key)
        seq = ledger.release("a", b"1").receipt.seq
        truth = Guesses(dp.mechanisms.Laplace(scale=2).loss()).right()
        assert right(ledger) >= truth - SLACK
        assert right(ledger, entry=seq) >= truth - SLACK


@pytest.mark.parametrize("charges", [0, 1])
def test_what_a_backup_may_lack_counts_as_released(tmp_path, charges):
    budget = dp.Budget(epsilon=2, delta="1e-6")
    with opened(tmp_path, unit=dp.row(), budget=budget) as ledger:
        for number in range(charges):
            ledger.charge(COUNT, key=str(number))
        ledger.backup(tmp_path / "backup")
        ledger.charge(Leaf(dp.loss.Pure(epsilon="1.4")), key="lost")
    with Ledger.restore(
        tmp_path / "new.ledger", tmp_path / "backup", reason="fire", by="ana", approved_by="ben"
    ) as restored:
        lost = Guesses(dp.loss.Pure(epsilon="1.4")).right()
        figures = told(restored)
        assert figures.one.right >= lost
        assert figures.one == figures.promise  # on which route it was spent is unknown
        assert dp.explain.label_of(restored).content["odds"]["odds"]["best_guess"] >= lost


def test_raised_budgets_and_accounts_are_told_by_what_they_paid(tmp_path):
    with opened(tmp_path, unit=dp.row(), budget=dp.Budget(epsilon=2)) as ledger:
        root = next(iter(ledger.accounts))
        for person in ("ana", "ben"):
            ledger.open_account(f"{root}/{person}", budget=dp.Budget(epsilon=1), by="owner")
        ledger.charge(dp.loss.Pure(epsilon="0.5"), key="a", account=f"{root}/ana")
        ledger.charge(dp.loss.Pure(epsilon="0.75"), key="b", account=f"{root}/ben")
        one, other, both = (
            told(ledger, account=path) for path in (f"{root}/ana", f"{root}/ben", None)
        )
        for figures, epsilon in ((one, "0.5"), (other, "0.75")):
            assert figures.one.right >= Guesses(dp.loss.Pure(epsilon=epsilon)).right() - SLACK
        two = dp.loss.Pure(epsilon="0.5").compose(dp.loss.Pure(epsilon="0.75"))
        worst = Guesses(two, dp.loss.Pure(epsilon="1.25")).right()  # two randomized responses
        assert worst - SLACK <= both.one.right <= worst + SLACK
        assert f"of {root}/ana" in str(ledger.explain(account=f"{root}/ana"))
        ledger.raise_limit(
            root, budget=dp.Budget(epsilon=4), reason="more", by="ana", approved_by="ben"
        )
        raised = told(ledger)
        assert raised.one == both.one
        assert raised.promise.right > both.promise.right


def test_units_of_several_rows_are_told_with_all_of_them(tmp_path):
    unit, contribution = dp.person("patient"), Contribution(rows=4)
    with opened(
        tmp_path, unit=unit, budget=dp.Budget(epsilon=9), contribution=contribution
    ) as ledger:
        ledger.start(ledger.charge(COUNT, key="a", question="q").key)
        seq = ledger.release("a", b"1").receipt.seq
        truth = Guesses(account(COUNT, unit=unit, contribution=contribution).loss).right()
        assert truth > Guesses(COUNT.price(1, 0)).right()
        assert right(ledger) >= truth - SLACK
        assert right(ledger, entry=seq) >= truth - SLACK


def randomized_response_power(epsilon, count, alarm):
    """Return the best catch rate against answers of randomized response, by enumeration."""
    keep = Fraction(epsilon) / (1 + Fraction(epsilon))  # epsilon is given as e**epsilon, exactly
    laws = [
        (keep**ones * (1 - keep) ** (count - ones), (1 - keep) ** ones * keep ** (count - ones))
        for answers in itertools.product((0, 1), repeat=count)
        for ones in (sum(answers),)
    ]
    caught, left = Fraction(0), alarm
    for p, q in sorted(laws, key=lambda pq: -pq[0] / pq[1]):
        share = min(Fraction(1), left / q)
        caught, left = caught + share * p, left - share * q
    apart = sum(max(p - q, Fraction(0)) for p, q in laws)
    return float(1 + apart) / 2, float(caught)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
@pytest.mark.theorem("guessing-odds")
def test_pure_releases_have_the_regions_of_kairouz_oh_and_viswanath(tmp_path, count):
    """The worst releases of epsilon each are randomized responses; their best test is enumerated.

    With epsilon a hair below log 2 the odds of a kept answer are 2 to 1.
    """
    epsilon = Fraction("0.69314718055994530941")
    with opened(tmp_path, unit=dp.row(), budget=dp.Budget(epsilon=20)) as ledger:
        ledger.charge(Repeat(Leaf(dp.loss.Pure(epsilon=epsilon)), count), key="a")
        figures = told(ledger)
        for alarm, caught in figures.one.caught:
            right, best = randomized_response_power(2, count, alarm)
            assert best - 1e-8 <= caught <= best + 1e-4
            assert right - 1e-8 <= figures.one.right <= right + 1e-6
