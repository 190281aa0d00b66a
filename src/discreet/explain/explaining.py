"""Explain a release, a plan, a session, a ledger, a loss, a budget or a tree.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from discreet import accounting
from discreet.accounting import Statement
from discreet.charts import Picture
from discreet.explain.audiences import sections_for, title_of
from discreet.explain.disclosure import Disclosure
from discreet.explain.explanation import Explanation
from discreet.explain.figures import Figures
from discreet.explain.guesses import Guesses
from discreet.explain.pictures.account_bars import account_bars
from discreet.explain.pictures.answer_bars import answer_bars, can_be_drawn
from discreet.explain.pictures.catch_curve import catch_curve
from discreet.explain.pictures.icon_arrays import icon_arrays
from discreet.explain.pictures.price_tree import price_tree
from discreet.explain.pictures.spending import spending
from discreet.explain.sources import disclosure_of
from discreet.ledger.ledger_view import LedgerView
from discreet.plan.plan import Plan
from discreet.plan.policy.policy import About
from discreet.release import Release
from discreet.session import Session
from discreet.units import PrivacyUnit


def explain(  # noqa: PLR0913  the subject, the reader, and missing facts
    what: object,
    *,
    audience: str = "analyst",
    unit: PrivacyUnit | None = None,
    about: About | None = None,
    account: str | None = None,
    entry: int | None = None,
) -> Explanation:
    """Say what something gives away about one unit, in odds.

    Args:
        what: a release, a plan, a session, a ledger, a loss, a budget or a tree.
        audience: "analyst", "subject" (a person in the data), "steward" or "auditor".
        unit: the protected unit, if ``what`` does not name it.
        about: the owner's description of the data, if no session has one.
        account: of a ledger, the account that paid; all of it by default.
        entry: of a ledger, the number of the entry that records an answer; all answers by default.

    >>> from discreet.accounting import Budget
    >>> text = str(explain(Budget(epsilon=1), audience="subject"))
    >>> "at most 74 of 100" in text
    True
    """
    disclosure = disclosure_of(what, unit=unit, about=about, account=account, entry=entry)
    explained = explain_disclosure(disclosure, audience=audience)
    more = tuple(_own_pictures(what, audience, disclosure)) if entry is None else ()
    return replace(explained, pictures=(*explained.pictures, *more))


def _own_pictures(what: object, audience: str, disclosure: Disclosure) -> Iterator[Picture]:
    """Yield what can be drawn of some things alone: answers, prices of parts, a ledger's past."""
    match what:
        case Session():
            yield from _own_pictures(what.ledger, audience, disclosure)
        case LedgerView() if audience == "steward":
            yield from (spending(what, entries=disclosure.entries), account_bars(what))
        case Release() if audience == "analyst" and can_be_drawn(what):
            yield answer_bars(what)
        case Plan() | Release() if audience == "auditor":
            plan = what.plan if isinstance(what, Release) else what
            yield price_tree(accounting.account(plan.tree, unit=plan.unit))
        case Statement() if audience == "auditor":
            yield price_tree(what)


def explain_disclosure(disclosure: Disclosure, *, audience: str) -> Explanation:
    """Say what a disclosure gives away, to an audience.

    >>> from discreet.loss import Pure
    >>> explain_disclosure(disclosure_of(Pure(epsilon=1)), audience="auditor").audience
    'auditor'
    """
    figures = Figures.of(disclosure)
    sections = sections_for(disclosure, figures, audience)
    return Explanation(
        audience=audience,
        title=title_of(disclosure, audience),
        sections=sections,
        figures=figures,
        content={
            "kind": disclosure.kind,
            "unit": {
                "entity": disclosure.entity,
                "columns": list(disclosure.unit.columns),
                "relation": disclosure.relation.value,
                "period": disclosure.about.period,
            },
            "price": disclosure.price,
            "left": disclosure.left or None,
            "figures": figures.as_json(disclosure.relation),
            "theorems": list(disclosure.theorems),
            "receipt": disclosure.receipt or None,
        },
        pictures=tuple(_pictures(disclosure, figures, audience)),
    )


def _pictures(disclosure: Disclosure, figures: Figures, audience: str) -> Iterator[Picture]:
    """Yield both worlds and, for those who answer for the data, what alarms catch."""
    yield icon_arrays(disclosure, figures.one)
    if audience in {"steward", "auditor"}:
        yield catch_curve(Guesses(*disclosure.losses))
