"""Buying limits, and the share that they cut: questions of their own, beside the one that is asked.

Trust: kernel.  Each purchase is a plan of this session, charged and recorded before data is read; a
later question uses what was released, and nothing else.  All are refused before anything is spent
if they may not be bought together (:mod:`discreet.session.purchase_checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import WrongKind
from discreet.exact import decimal
from discreet.plan.bounds_search import FALSE_ALARM
from discreet.plan.plan import Plan
from discreet.plan.pricing.requested_price import estimate
from discreet.plan.statistics.limit_choice import (
    CUT,
    KEPT,
    ROWS,
    UNITS,
    BinnedSpread,
    FoundLimits,
    LimitsPrice,
    QuestionLimits,
    SharePrice,
    proposed,
    share_question,
    spread_questions,
)
from discreet.release.display import price_of
from discreet.release.release import CutShare, Release

if TYPE_CHECKING:  # handed in
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.query.question import Question
    from discreet.session.inquiry import PriceOptions

CUTS: Final = frozenset({"rows", "groups"})
"""The kinds of limits that leave out rows."""
_SEARCH: Final = Fraction(1, 4)
"""The part of the price of a share that goes to the bounds of what is cut."""

Planner = Callable[["Question", Any], Plan]


def check_limits(limits: object) -> QuestionLimits | LimitsPrice:
    """Return limits, or the price of some; refuse what is neither."""
    if isinstance(limits, QuestionLimits | LimitsPrice):
        return limits
    raise WrongKind(
        what=f"a {type(limits).__name__} is no limit.",
        why="limits are given, or bought.",
        do="write limits=dp.limits(max_rows=5), or limits=dp.estimate_limits(epsilon=0.1).",
    )


def share_refused(what: str) -> WrongKind:
    """Return the error for a share that is to be bought beside anything but an answer."""
    return WrongKind(
        what=f"a share is to be bought for a question that is {what}.",
        why="it stands next to an answer, and has a charge of its own.",
        do="give share_cut=dp.share_cut(epsilon=0.1) to ask.",
    )


def plan_spreads(bound: BoundQuestion, wanted: LimitsPrice, planner: Planner) -> dict[str, Plan]:
    """Plan how it is found out how rows and groups of units are spread; a price is for all."""
    if not bound.rows.unit:
        raise WrongKind(
            what="limits are to be found where each row is a unit.",
            why="a row counts once, in one group: there is nothing to limit.",
            do="leave out limits=dp.estimate_limits(...).",
        )
    questions = spread_questions(bound)
    each = {"epsilon": wanted.epsilon / len(questions)}
    return {name: planner(question, each) for name, question in questions.items()}


def stand_in(bound: BoundQuestion) -> QuestionLimits:
    """Return the smallest limits, for a question whose own are still to be bought."""
    return QuestionLimits(max_rows=1, max_groups=1 if bound.keys else None)


def not_bought(spreads: Iterable[Plan], draft: Plan) -> WrongKind:
    """Return the error for limits that are still to be bought, where nothing may be spent."""
    costs = " and ".join(map(price_of, spreads))
    return WrongKind(
        what="the limits of this question are still to be bought.",
        why=f"planning spends nothing.  They cost {costs}; the question itself costs "
        f"{price_of(draft)}.",
        do="ask, which buys the limits and answers within them; or plan with limits of your own, "
        "such as limits=dp.limits(max_rows=5).",
    )


def choose_limits(
    bound: BoundQuestion,
    wanted: LimitsPrice,
    epsilon: Fraction,
    found: Mapping[str, Release],
    ceilings: QuestionLimits,
) -> FoundLimits:
    """Return the limits that spreads propose for an answer at about this epsilon."""
    spreads = {name: _spread(name, release) for name, release in found.items()}
    rows = spreads.pop(ROWS)
    groups = next(iter(spreads.values()), None)
    values = [key.values for key in bound.keys]
    available: int | None = 1
    for known in values:
        available = None if known is None or available is None else available * len(known)
    limits = proposed(rows, groups, epsilon=epsilon, available=available, ceilings=ceilings)
    return FoundLimits(limits=limits, rows=rows, groups=groups, epsilon=wanted.epsilon)


def rough_epsilon(question: Question, price: PriceOptions) -> Fraction:
    """Return about which epsilon an answer will have; a rho stands for the root of twice of it."""
    clause = question.clause
    for given in (price.get("epsilon"), None if clause is None else clause.epsilon):
        if given is not None:
            return decimal(given, name="epsilon")
    for given in (price.get("rho"), None if clause is None else clause.rho):
        if given is not None:
            return Fraction(float(2 * decimal(given, name="rho")) ** 0.5)
    raise WrongKind(
        what="limits are to be found for an answer without a price.",
        why="the best limits depend on the noise: they make noise and what is cut smallest.",
        do="give epsilon, such as ask(..., epsilon=0.5, limits=dp.estimate_limits(epsilon=0.1)).",
    )


def _spread(name: str, release: Release) -> BinnedSpread:
    """Read the units of each bin, without those that the noise alone may have made."""
    (noise,) = release.plan.noises
    least = noise.mechanism.error(confidence=1 - FALSE_ALARM, coordinates=len(release))
    found = {row[name]: row[UNITS] for row in release.rows() if row[name] is not None}
    return BinnedSpread.of(found, int(least))


def check_share(wanted: object) -> None:
    """Refuse what says nothing about the price of a share."""
    if wanted is not None and not isinstance(wanted, SharePrice):
        raise WrongKind(
            what=f"a {type(wanted).__name__} does not say what the share that was cut may cost.",
            why="an estimate of it is bought, beside the answer.",
            do="write share_cut=dp.share_cut(epsilon=0.1).",
        )


def plan_share(
    plan: Plan,
    wanted: SharePrice,
    bind: Callable[[Question], BoundQuestion],
    planner: Planner,
    kinds: AbstractSet[str] = CUTS,
) -> Plan:
    """Plan the estimate of the share of rows that the limits of a plan leave out.

    One of these kinds of limits has to be there.  Limits on groups that are still to be bought may
    turn out to cut nothing.
    """
    cuts = {cut.kind: cut.limit for cut in plan.truncations}
    if not kinds & cuts.keys():
        verb = "may leave out" if CUTS & cuts.keys() else "leave out"
        raise WrongKind(
            what=f"the limits of this question {verb} no row.",
            why="there is no share to be estimated; nothing was spent.",
            do="ask without share_cut.",
        )
    bound = bind(plan.question)
    question = share_question(bound, rows=cuts.get("rows") or 1, groups=cuts.get("groups"))
    price = {
        "epsilon": (1 - _SEARCH) * wanted.epsilon,
        "bounds": estimate(epsilon=_SEARCH * wanted.epsilon),
        "confidence": 1 - (1 - plan.confidence) / 2,  # of two sums
    }
    return planner(question, price)


def cut_share(answer: Release, wanted: SharePrice, confidence: Fraction) -> CutShare:
    """Divide the rows that are cut by all rows; the ends are those of both sums together.

    A sum without an end, as where no bounds were seen, says nothing in that direction.
    """
    (row,) = answer.rows()

    def part(cut: str, kept: str, unknown: float = 0.0) -> float:
        if row[cut] is None or row[kept] is None:
            return unknown
        off, on = max(0.0, row[cut]), max(0.0, row[kept])
        return off / (off + on) if off + on > 0 else 0.0

    return CutShare(
        share=part(CUT, KEPT),
        low=part(f"{CUT}_low", f"{KEPT}_high"),
        high=part(f"{CUT}_high", f"{KEPT}_low", 1.0),
        epsilon=wanted.epsilon,
        confidence=confidence,
    )
