"""Explain a release, a plan, a session, a ledger, a loss, a budget or a tree.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from discreet.explain.audiences import sections_for, title_of
from discreet.explain.disclosure import Disclosure
from discreet.explain.explanation import Explanation
from discreet.explain.figures import Figures
from discreet.explain.guesses import Guesses
from discreet.explain.pictures.account_bars import account_bars
from discreet.explain.pictures.catch_curve import catch_curve
from discreet.explain.pictures.icon_arrays import icon_arrays
from discreet.explain.pictures.spending import spending
from discreet.explain.sources import disclosure_of
from discreet.ledger.ledger_view import LedgerView
from discreet.plan.policy.about import About
from discreet.session import Session
from discreet.units import PrivacyUnit


def explain(  # noqa: PLR0913  what is explained, to whom, and what it does not say itself
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
        unit: who is protected, where ``what`` does not say it.
        about: what the owner says of the data, where no session knows it.
        account: of a ledger, the account that paid; all of it by default.
        entry: of a ledger, the number of the entry that records an answer; all answers by default.

    >>> from discreet.accounting import Budget
    >>> text = str(explain(Budget(epsilon=1), audience="subject"))
    >>> "at most 74 of 100" in text
    True
    """
    explained = explain_disclosure(
        disclosure_of(what, unit=unit, about=about, account=account, entry=entry),
        audience=audience,
    )
    ledger = what.ledger if isinstance(what, Session) else what
    if audience == "steward" and entry is None and isinstance(ledger, LedgerView):
        more = (spending(ledger), account_bars(ledger))
        return replace(explained, pictures=(*explained.pictures, *more))
    return explained


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


def _pictures(disclosure: Disclosure, figures: Figures, audience: str) -> Iterator[str]:
    """Yield both worlds and, for those who answer for the data, what alarms catch."""
    yield icon_arrays(disclosure, figures.one)
    if audience in {"steward", "auditor"}:
        yield catch_curve(Guesses(*disclosure.losses))
