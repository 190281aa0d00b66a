"""Buying limits, and the share that they cut: questions of their own, beside the one that is asked.

Trust: kernel.  Each purchase is a plan of this session, charged and recorded before data is read; a
later question uses what was released, and nothing else.  Both are refused before anything is spent
if they do not fit into the budget together.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet.errors import OverBudget, WrongKind
from discreet.exact import decimal
from discreet.plan.bounds_search.bounds_search import FALSE_ALARM
from discreet.plan.plan import Plan
from discreet.plan.pricing.requested_price import estimate
from discreet.plan.statistics.limit_choice import (
    BinnedSpread,
    FoundLimits,
    LimitsPrice,
    QuestionLimits,
    SharePrice,
    proposed,
)
from discreet.plan.statistics.limit_questions import (
    CUT,
    KEPT,
    ROWS,
    UNITS,
    share_question,
    spread_questions,
)
from discreet.release.release import CutShare, Release
from discreet.session.planning import fits_after

if TYPE_CHECKING:  # handed in
    from discreet.ledger.ledger import Ledger
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.query.question import Question
    from discreet.session.inquiry import PriceOptions

_SEARCH: Final = Fraction(1, 4)
"""The part of the price of a share that goes to the bounds of what is cut."""

Planner = Callable[["Question", dict[str, Any]], Plan]


def check_limits(limits: object) -> None:
    """Refuse what says nothing about limits."""
    if not isinstance(limits, QuestionLimits | LimitsPrice):
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


def find_limits(
    bound: BoundQuestion,
    wanted: LimitsPrice,
    price: PriceOptions,
    planner: Planner,
    ask: Callable[[tuple[Plan, ...]], tuple[Release, ...]],
) -> FoundLimits:
    """Buy how rows and groups of units are spread, and return the limits that they propose."""
    if not bound.rows.unit:
        raise WrongKind(
            what="limits are to be found where each row is a unit.",
            why="a row counts once, in one group: there is nothing to limit.",
            do="leave out limits=dp.estimate_limits(...).",
        )
    epsilon = _epsilon(bound.question, price)
    questions = spread_questions(bound)
    each = {"epsilon": wanted.epsilon / len(questions)}
    releases = ask(tuple(planner(question, each) for question in questions.values()))
    spreads = {name: _spread(name, found) for name, found in zip(questions, releases, strict=True)}
    rows = spreads.pop(ROWS)
    groups = next(iter(spreads.values()), None)
    values = [key.values for key in bound.keys]
    available: int | None = 1
    for known in values:
        available = None if known is None or available is None else available * len(known)
    limits = proposed(rows, groups, epsilon=epsilon, available=available)
    return FoundLimits(limits=limits, rows=rows, groups=groups, epsilon=wanted.epsilon)


def _epsilon(question: Question, price: PriceOptions) -> Fraction:
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
        do="give epsilon, such as plan(..., epsilon=0.5, limits=dp.estimate_limits(epsilon=0.1)).",
    )


def _spread(name: str, release: Release) -> BinnedSpread:
    """Read the units of each bin, without those that the noise alone may have made."""
    (noise,) = release.plan.noises
    least = noise.mechanism.error(confidence=1 - FALSE_ALARM, coordinates=len(release))
    found = {row[name]: row[UNITS] for row in release.rows() if row[name] is not None}
    return BinnedSpread.of(found, int(least))


def plan_share(
    plan: Plan, wanted: SharePrice, bind: Callable[[Question], BoundQuestion], planner: Planner
) -> Plan:
    """Plan the estimate of the share of rows that the limits of a plan leave out."""
    if not isinstance(wanted, SharePrice):
        raise WrongKind(
            what=f"a {type(wanted).__name__} does not say what the share that was cut may cost.",
            why="an estimate of it is bought, beside the answer.",
            do="write share_cut=dp.share_cut(epsilon=0.1).",
        )
    cuts = {cut.kind: cut.limit for cut in plan.truncations}
    if not {"rows", "groups"} & cuts.keys():
        raise WrongKind(
            what="the limits of this question leave out no row.",
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
    """Divide the rows that are cut by all rows; the ends are those of both sums together."""
    (row,) = answer.rows()

    def part(cut: str, kept: str, *, unknown: float) -> float:
        """Return a share; where no bounds stood out of the noise, anything is possible."""
        if row[cut] is None or row[kept] is None:
            return unknown
        off, on = max(0.0, row[cut]), max(0.0, row[kept])
        return off / (off + on) if off + on > 0 else 0.0

    return CutShare(
        share=part(CUT, KEPT, unknown=0.0),
        low=part(f"{CUT}_low", f"{KEPT}_high", unknown=0.0),
        high=part(f"{CUT}_high", f"{KEPT}_low", unknown=1.0),
        epsilon=wanted.epsilon,
        confidence=confidence,
    )


def check_fit(plans: tuple[Plan, ...], ledger: Ledger, account: str | None) -> None:
    """Refuse plans that do not fit into the budget one after the other."""
    left: Any = None
    for plan in (plan for plan in plans if ledger.find(plan.digest) is None):
        left = fits_after(plan, ledger.left(plan.scope, account=account) if left is None else left)
        if left is None:
            raise OverBudget(
                what="all that is asked for does not fit into the budget.",
                why="a part of it would be paid for, and the rest refused; nothing was spent.",
                do="lower one of the prices; session.remaining shows what is left.",
            )
