"""What one call buys in addition to an answer: its limits, its groups, bounds on truncation.

Trust: kernel.  Each purchase is a plan of its own, charged and recorded before data is read; a
later question uses what was released, and nothing else.

    limits    how rows and groups of units are spread, from which limits of the question follow
    groups    the questions that WITH names, whose groups another question is about
    share     the share of rows that limits leave out, shown with the answer

A call *buys* the plans that it needs and that are not answered on record.  All of them are allowed,
confirmed and affordable, or none of them is paid for: prices are added up, and the sums are held
against the policy's maximum and against the largest price that needs no confirmation, in whichever
parts they are charged.  A price counts in the policy's currency.  Until limits or groups are
bought, a placeholder with the smallest limits, or with one arbitrary group, replaces the question:
its price is the same, and so are nearly all reasons to refuse it. After a crash, asking again finds
what was answered, and pays for the rest alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from discreet.errors import NotAllowed, OverBudget, UnsupportedSQL, WrongKind
from discreet.exact import decimal
from discreet.ledger.ledger import Ledger
from discreet.plan.bounds_search import FALSE_ALARM
from discreet.plan.plan import Plan
from discreet.plan.policy.owner_rules import refuse_ruled
from discreet.plan.pricing.calibration import Price
from discreet.plan.pricing.requested_price import check_confirmed, check_least, estimate
from discreet.plan.statistics.contribution_bounds import ceilings_of
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
from discreet.query.relations import folded
from discreet.query.released_groups import Values, key_names, with_released
from discreet.query.types import Scalar, Type
from discreet.release.display import price_of
from discreet.release.release import CutShare, Release
from discreet.session.previews import fits_after

if TYPE_CHECKING:  # handed in
    from discreet.plan.binding.bound_question import BoundQuestion
    from discreet.plan.policy.policy import Limits
    from discreet.query.question import Question
    from discreet.session.answer_pipeline import AnswerPipeline
    from discreet.session.batch import BatchPlan
    from discreet.session.inquiry import PriceOptions

_CUTS: Final = frozenset({"rows", "groups"})
"""The kinds of limits that leave out rows."""
_SEARCH: Final = Fraction(1, 4)
"""The part of the price of a share that buys the bounds on truncation."""
_MADE_UP: Final[dict[Type, Scalar]] = {
    Type.INTEGER: 0,
    Type.FLOAT: 0,
    Type.TEXT: "",
    Type.BOOLEAN: False,
    Type.DATE: date(2000, 1, 1),
    Type.TIMESTAMP: datetime(2000, 1, 1),  # noqa: DTZ001 (as all timestamps here)
}
_MOST: Final = 5_000
"""The most groups of one question that another can be about."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Buying:
    """A call that may buy: whether large prices are confirmed, and the share that it wants too."""

    confirm: bool
    share: SharePrice | None = None


def _bought(
    pipeline: AnswerPipeline,
    plans: Mapping[str, Plan],
    draft: Callable[[], Plan],
    what: str,
    buying: Buying | None,
) -> dict[str, Release]:
    """Answer what a question rests on, after a check of all that the call buys.

    ``draft`` plans a placeholder of the question; without ``buying``, nothing is charged.
    """
    if any(pipeline.record.find(plan.digest) is None for plan in plans.values()):
        stand_in = draft()
        if buying is None:
            raise _not_bought(what, plans.values(), stand_in)
        later = [stand_in]
        if buying.share is not None:  # limits on groups may turn out to cut nothing
            later.append(_plan_share(pipeline, stand_in, buying.share, kinds={"rows"}))
        _check_all(pipeline, list(plans.values()), later, confirm=buying.confirm)
    return {name: pipeline.answer(plan, confirm=True) for name, plan in plans.items()}


def _not_bought(what: str, plans: Any, draft: Plan) -> WrongKind:
    return WrongKind(
        what=f"the {what} of this question are still to be bought, and not answered yet.",
        why=f"planning spends nothing.  They cost {' and '.join(map(price_of, plans))}; the "
        f"question itself costs {price_of(draft)}.",
        do="ask, which buys them first and then answers; or plan with limits of your own, such as "
        "limits=dp.limits(max_rows=5), or about groups that you name.",
    )


# --- checks of a whole call -------------------------------------------------------------------


def _check_all(
    pipeline: AnswerPipeline, plans: Sequence[Plan], later: Sequence[Plan], *, confirm: bool
) -> None:
    """Refuse what one call buys if a part of it would be refused after others are paid for.

    ``later`` are placeholders for the plans that follow once these are answered.
    """
    once = {plan.digest: plan for plan in plans}.values()
    new = [plan for plan in once if pipeline.record.find(plan.digest) is None]
    prices = [plan.price for plan in (*new, *later)]
    if not pipeline.test_mode:
        _check_prices(prices, pipeline.policy.limits, confirm=confirm)
    if isinstance(pipeline.record, Ledger):
        keys = {key for plan in new for key in pipeline.keys(plan)}
        paid = pipeline.record.questions_of(keys)  # before a crash
        unpaid = [*(plan for plan in new if plan.digest not in paid), *later]
        if not fit_together(unpaid, pipeline.record, pipeline.account):
            raise OverBudget(
                what="all that is asked for does not fit into the budget.",
                why="a part of it would be paid for, and the rest refused; nothing was spent.",
                do="lower one of the prices; session.remaining shows what is left.",
            )


def check_batch(
    pipeline: AnswerPipeline, plans: Sequence[Plan], batch: BatchPlan, *, confirm: bool
) -> None:
    """Refuse a batch of which a part would be refused after others are paid for."""
    if pipeline.test_mode:
        return
    if not confirm:
        total = Price(**{batch.currency: batch.total})
        check_confirmed(total, pipeline.policy.limits, what="the batch")
    for plan in plans:
        check_least(plan.price, pipeline.least)
        pipeline.check_sources(plan)
    if isinstance(pipeline.record, Ledger):
        new = [plan for plan in plans if pipeline.record.find(plan.digest) is None]
        paid = pipeline.record.questions_of({key for plan in new for key in pipeline.keys(plan)})
        unpaid = [plan for plan in new if plan.digest not in paid]
        if not fit_together(unpaid, pipeline.record, pipeline.account):
            raise OverBudget(
                what="the questions of the batch do not fit into the budget together.",
                why="a part of them would be paid for, and the rest refused; nothing was spent.",
                do="plan them at a lower price; session.remaining shows what is left.",
            )


def _check_prices(prices: Sequence[Price], limits: Limits, *, confirm: bool) -> None:
    """Refuse what costs more together than the policy allows, or than is paid unconfirmed."""
    most = {"epsilon": limits.max_epsilon, "rho": limits.max_rho}
    sums, totals = dict.fromkeys(most, Fraction(0)), dict.fromkeys(most, Fraction(0))
    for price in prices:
        for name, allowed in most.items():
            paid = getattr(price, name)
            if allowed is not None and paid is not None and paid <= allowed:
                sums[name] += paid
                break
        totals["rho" if price.epsilon is None else "epsilon"] += price.epsilon or price.rho or 0
    for name, allowed in most.items():
        if allowed is not None and sums[name] > allowed:
            raise _above("all that is asked for", name, sums[name], allowed)
    for total in (Price(epsilon=totals["epsilon"]), Price(rho=totals["rho"])):
        if not confirm:
            check_confirmed(total, limits, what="all that is asked for")


def _check_maximum(pipeline: AnswerPipeline, epsilon: Fraction, what: str) -> None:
    """Refuse a purchase above the policy's maximum, before it is divided into parts."""
    most = pipeline.policy.limits.max_epsilon
    if not pipeline.test_mode and most is not None and epsilon > most:
        raise _above(what, "epsilon", epsilon, most)


def _above(what: str, name: str, price: Fraction, most: Fraction) -> NotAllowed:
    return NotAllowed(
        what=f"{what} costs {name} {float(price):.4g}; the policy allows {float(most):.4g} for one "
        "question.",
        why="the owner of the data has limited what a single answer may tell about anybody; what "
        "is bought with it counts too.  Nothing was spent.",
        do=f"lower the prices, to {float(most):.4g} together.",
    )


def fit_together(plans: Sequence[Plan], ledger: Ledger, account: str | None) -> bool:
    """Return whether plans fit into the budget one after the other.

    Units of a scope pay for every plan that may be about them: for each scope, all plans count
    whose scope meets it and is not a smaller one.
    """
    for at in plans:
        left: Any = ledger.left(at.scope, account=account)
        for plan in plans:
            smaller = at.scope.covers(plan.scope) and not plan.scope.covers(at.scope)
            if not (smaller or at.scope.disjoint(plan.scope)):
                left = fits_after(plan, left)
                if left is None:
                    return False
    return True


# --- limits -----------------------------------------------------------------------------------


def plan_within_limits(
    pipeline: AnswerPipeline,
    question: Question,
    wanted: object,
    price: PriceOptions,
    buying: Buying | None,
) -> Plan:
    """Plan a question within limits of its own, which may have to be bought first."""
    if isinstance(wanted, QuestionLimits):
        return pipeline.plan(wanted.applied(question), price)
    if not isinstance(wanted, LimitsPrice):
        raise WrongKind(
            what=f"limits cannot be a {type(wanted).__name__}.",
            why="limits are given, or bought.",
            do="write limits=dp.limits(max_rows=5), or limits=dp.estimate_limits(epsilon=0.1).",
        )
    refuse_ruled(pipeline.policy, "limits")
    bound = pipeline.bind(question)
    epsilon = _rough_epsilon(bound.question, price)
    _check_maximum(pipeline, wanted.epsilon, "finding limits")
    if not bound.rows.unit:
        raise WrongKind(
            what="limits are to be found if each row is a unit.",
            why="a row counts once, in one group: there is nothing to limit.",
            do="leave out limits=dp.estimate_limits(...).",
        )
    questions = spread_questions(bound)
    each: PriceOptions = {"epsilon": wanted.epsilon / len(questions)}
    spreads = {name: pipeline.plan(spread, each) for name, spread in questions.items()}
    smallest = QuestionLimits(max_rows=1, max_groups=1 if bound.keys else None)
    releases = _bought(
        pipeline,
        spreads,
        lambda: pipeline.plan(smallest.applied(question), price),
        "limits",
        buying,
    )
    found = _chosen_limits(pipeline, bound, wanted, epsilon, releases)
    return replace(pipeline.plan(found.limits.applied(question), price), found_limits=found)


def _chosen_limits(
    pipeline: AnswerPipeline,
    bound: BoundQuestion,
    wanted: LimitsPrice,
    epsilon: Fraction,
    found: Mapping[str, Release],
) -> FoundLimits:
    """Return the limits that spreads propose for an answer at about this epsilon."""
    ceilings = QuestionLimits()
    if not pipeline.test_mode:
        ceilings = ceilings_of(bound.question, pipeline.schema, pipeline.policy.limits)
    spreads = {name: _spread(name, release) for name, release in found.items()}
    rows = spreads.pop(ROWS)
    groups = next(iter(spreads.values()), None)
    available: int | None = 1
    for key in bound.keys:
        known = key.values
        available = None if known is None or available is None else available * len(known)
    limits = proposed(rows, groups, epsilon=epsilon, available=available, ceilings=ceilings)
    return FoundLimits(limits=limits, rows=rows, groups=groups, epsilon=wanted.epsilon)


def _rough_epsilon(question: Question, price: PriceOptions) -> Fraction:
    """Return the approximate epsilon of an answer; for a rho, the square root of 2 rho."""
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


# --- groups that WITH releases ----------------------------------------------------------------


def plan_about_released(
    pipeline: AnswerPipeline, question: Question, price: PriceOptions, buying: Buying | None
) -> Plan:
    """Answer the questions of WITH, and plan the outer one about the groups that they released."""
    if price.get("error"):
        raise WrongKind(
            what="errors are named, and the groups are still to be released.",
            why="how much noise keeps an error depends on how many groups there are.",
            do="give a price, such as epsilon=0.5.",
        )
    plans = {name: pipeline.plan(inner, {}) for name, inner in question.released}
    releases = _bought(
        pipeline,
        plans,
        lambda: pipeline.plan(with_released(question, _stand_ins(question, plans)), price),
        "groups",
        buying,
    )
    values = {
        folded(name): {
            folded(key): _released(releases[name], key, name) for key in key_names(inner)
        }
        for name, inner in question.released
    }
    words = tuple(f"{name}, for {price_of(plan)}" for name, plan in plans.items())
    return replace(pipeline.plan(with_released(question, values), price), released_by=words)


def _stand_ins(question: Question, plans: Mapping[str, Plan]) -> Values:
    """Return one arbitrary value of every key."""
    found: dict[str, dict[str, tuple[Scalar, ...]]] = {}
    for name, inner in question.released:
        keys = plans[name].request.keys
        outputs = [(key, value) for key, value in inner.outputs if key in key_names(inner)]
        found[folded(name)] = {
            folded(key): (_MADE_UP[keys[getattr(value, "at", 0)].type],) for key, value in outputs
        }
    return found


def _released(release: Release, key: str, name: str) -> tuple[Scalar, ...]:
    """Return the distinct values of a key that were released; NULL equals nothing."""
    values = dict.fromkeys(release[key].to_pylist())
    values.pop(None, None)
    if not values:
        raise NotAllowed(
            what=f"{name} has released no group, so that there is nothing to ask about.",
            why="its answer is on record, and stays the answer; nothing else was spent.",
            do="ask for groups that more people are in, or give it a higher epsilon.",
        )
    if len(values) > _MOST:
        raise UnsupportedSQL(
            what=f"{name} has released more than {_MOST} groups.",
            why="they are written into the other question, which has an end.",
            do=f"put LIMIT {_MOST} behind it.",
        )
    return tuple(values)


# --- the share that limits cut ----------------------------------------------------------------


def checked_share(wanted: object) -> SharePrice | None:
    """Refuse what says nothing about the price of a share."""
    if wanted is None or isinstance(wanted, SharePrice):
        return wanted
    raise WrongKind(
        what=f"a {type(wanted).__name__} does not say what the share that was cut may cost.",
        why="an estimate of it is bought, beside the answer.",
        do="write share_cut=dp.share_cut(epsilon=0.1).",
    )


def answer_with_share(
    pipeline: AnswerPipeline, plan: Plan, wanted: SharePrice, *, confirm: bool
) -> Release:
    """Answer a plan, and buy the share of rows that its limits leave out."""
    share = _plan_share(pipeline, plan, wanted)
    _check_all(pipeline, [plan, share], (), confirm=confirm)
    answer, found = (pipeline.answer(each, confirm=True) for each in (plan, share))
    return replace(answer, share=_cut_share(found, wanted, plan.confidence))


def _plan_share(
    pipeline: AnswerPipeline, plan: Plan, wanted: SharePrice, kinds: AbstractSet[str] = _CUTS
) -> Plan:
    """Plan the estimate of the share of rows that the limits of a plan leave out.

    One of these kinds of limits has to be there.
    """
    refuse_ruled(pipeline.policy, "a share that is cut")
    _check_maximum(pipeline, wanted.epsilon, "the share that is cut")
    cuts = {cut.kind: cut.limit for cut in plan.truncations}
    if not kinds & cuts.keys():
        verb = "may leave out" if _CUTS & cuts.keys() else "leave out"
        raise WrongKind(
            what=f"the limits of this question {verb} no row.",
            why="there is no share to be estimated; nothing was spent.",
            do="ask without share_cut.",
        )
    bound = pipeline.bind(plan.question)
    question = share_question(bound, rows=cuts.get("rows") or 1, groups=cuts.get("groups"))
    price: PriceOptions = {
        "epsilon": (1 - _SEARCH) * wanted.epsilon,
        "bounds": estimate(epsilon=_SEARCH * wanted.epsilon),
        "confidence": 1 - (1 - plan.confidence) / 2,  # of two sums
    }
    return pipeline.plan(question, price)


def _cut_share(answer: Release, wanted: SharePrice, confidence: Fraction) -> CutShare:
    """Divide the rows that are cut by all rows; the ends are those of both sums together.

    A sum without an end, as if no bounds were seen, says nothing in that direction.
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
