"""Where an explanation comes from: releases, plans, sessions, budgets, trees and losses.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from discreet import accounting
from discreet.accounting import Budget, Node, Statement
from discreet.errors import WrongKind
from discreet.explain.disclosure import CHANCE, Disclosure
from discreet.explain.ledger_sources import from_entry, from_ledger
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt
from discreet.loss import PrivacyLoss
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import About
from discreet.release import Release
from discreet.release.display import price_of
from discreet.release.odds import losses_of_plans
from discreet.session import Session
from discreet.units import PrivacyUnit, row

_SOMEBODY: Final = PrivacyUnit(name="person")
"""Who is protected if nothing says it: one person, with everything that is theirs."""


def disclosure_of(
    what: object,
    *,
    unit: PrivacyUnit | None = None,
    about: About | None = None,
    account: str | None = None,
    entry: int | None = None,
) -> Disclosure:
    """Return what there is to say about a release, a plan, a ledger, a loss, a budget or a tree.

    Args:
        what: the subject of the explanation.
        unit: the protected unit, if ``what`` does not name it: a loss, a budget or a tree.
        about: the owner's description of the data, if no session has one.
        account: of a ledger, the account that paid.
        entry: of a ledger, the entry that records an answer.
    """
    words = about or About()
    match what:
        case Release():
            disclosure = _from_plans(what.plans, words, receipt=what.receipt, kind="release")
        case Plan():
            disclosure = _from_plans((what,), words, kind="plan")
        case Session():
            return disclosure_of(
                _ledger_of(what), about=about or what.policy.about, account=account, entry=entry
            )
        case LedgerView():
            disclosure = (
                from_ledger(what, words, path=account)
                if entry is None
                else from_entry(what, entry, words)
            )
        case Budget():
            disclosure = _from_budget(what, unit or _SOMEBODY, words)
        case Statement() | Node():
            disclosure = _from_tree(what, unit, words)
        case PrivacyLoss():
            disclosure = _from_loss(what, unit or _SOMEBODY, words)
        case _:
            raise WrongKind(
                what=f"a {type(what).__name__} cannot be explained.",
                why="only what has a privacy loss can be told in odds.",
                do="give a release, a plan, a session, a ledger, a loss, a budget or a tree.",
            )
    return disclosure


def _from_plans(
    plans: tuple[Plan, ...], about: About, *, kind: str, receipt: Receipt | None = None
) -> Disclosure:
    plan = plans[-1]
    return Disclosure(
        kind=kind,
        source="this answer",
        unit=plan.unit,
        losses=losses_of_plans(plans),
        price=" and ".join(map(price_of, plans)),
        chance=max(each.delta or Fraction(0) for each in plans) or CHANCE,
        left="" if plan.budget_preview is None else str(plan.budget_preview),
        theorems=accounting.account(plan.tree, unit=plan.unit).theorems,
        trusted=tuple(dict.fromkeys(str(item) for each in plans for item in each.promises)),
        public=tuple(_public(plan)),
        cut=tuple(dict.fromkeys(str(item) for each in plans for item in each.truncations)),
        accuracy=tuple(_accuracy(plan)),
        trees=tuple(each.tree for each in plans),
        about=about,
        receipt="" if receipt is None else str(receipt),
        releases=len(plans),
    )


def _public(plan: Plan) -> Iterator[str]:
    """Say what an answer shows of a question without noise."""
    names = [key.name for key in plan.request.keys]
    if names and plan.selection is None and plan.request.public is not None:
        yield f"which values of {', '.join(names)} are listed: they come from the policy"
    if plan.unit.relation.size_is_public:
        yield f"how many {plan.unit.name}s there are in the data"


def _accuracy(plan: Plan) -> Iterator[str]:
    for part in plan.predicted:
        yield f"{part.output} {part.words}"


def _from_loss(loss: PrivacyLoss, unit: PrivacyUnit, about: About) -> Disclosure:
    return Disclosure(
        kind="loss",
        source="answers with this loss",
        unit=unit,
        losses=(loss,),
        price=str(loss),
        about=about,
    )


def _from_budget(budget: Budget, unit: PrivacyUnit, about: About) -> Disclosure:
    return Disclosure(
        kind="budget",
        source="everything that this budget pays for",
        unit=unit,
        losses=(budget.guarantee,),
        price=str(budget),
        about=about,
        promise=budget.guarantee,
    )


def _from_tree(what: Node | Statement, unit: PrivacyUnit | None, about: About) -> Disclosure:
    statement = (
        what if isinstance(what, Statement) else accounting.account(what, unit=unit or row())
    )
    return Disclosure(
        kind="tree",
        source="these releases",
        unit=statement.unit,
        losses=(statement.loss,),
        theorems=statement.theorems,
        trees=(statement.tree,),
        about=about,
    )


def _ledger_of(session: Session) -> LedgerView:
    ledger = session.ledger
    if not isinstance(ledger, LedgerView):
        raise WrongKind(
            what="this session has no ledger: it is a rehearsal.",
            why="nothing that is answered in test mode is private, so there is nothing to explain.",
            do="open the session with a budget and a ledger.",
        )
    return ledger
