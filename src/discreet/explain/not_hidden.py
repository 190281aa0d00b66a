"""What differential privacy does not hide, stated with every number.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.explain.disclosure import Disclosure

GROUP_FACTS = (
    "Facts about groups: a study can still show that smoking harms smokers, and so say something "
    "about every smoker, in the data or not."
)
IN_PLANS = (
    "Which groups the policy names, what its limits leave out, and which promises of the owner "
    "are trusted: a ledger does not keep these; the plan of each question lists them."
)


def not_hidden(disclosure: Disclosure) -> Iterator[str]:
    """Yield the facts that are visible in spite of the noise, and the trusted parties.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.loss import Pure
    >>> next(not_hidden(disclosure_of(Pure(epsilon=1)))) == GROUP_FACTS
    True
    """
    yield GROUP_FACTS
    for fact in disclosure.public:
        yield f"Public: {fact}."
    for fact in disclosure.about.unprotected:
        yield f"Published elsewhere without noise, as the owner says: {fact}."
    raw = disclosure.about.raw_access
    if raw:
        yield f"The exact data: {', '.join(raw)} can see it."
    else:
        yield "The exact data: anyone who holds it can see it; the owner does not say who that is."
    for promise in disclosure.trusted:
        yield f"Trusted, not checked by noise: {promise}."
    for words in disclosure.cut:
        yield f"Limits: {words}"
    if disclosure.receipt and not (disclosure.public or disclosure.trusted or disclosure.cut):
        yield IN_PLANS
    yield "How long an answer took, and what people tell about themselves elsewhere."
