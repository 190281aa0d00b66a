"""Answering the questions that WITH names, so that another question is about their groups.

Trust: kernel.  Each is a plan of its own, charged and recorded before data is read; all are refused
before anything is spent if they may not be bought together.

While groups are still to be released, a stand-in with one made-up group takes the place of the
outer question: its price is the same, and so are nearly all reasons to refuse it.  After a crash,
asking again finds what was answered, and pays for the rest alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from discreet.errors import NotAllowed, UnsupportedSQL, WrongKind
from discreet.plan.plan import Plan
from discreet.query.relations import folded
from discreet.query.released_groups import Values, key_names, with_released
from discreet.query.types import Scalar, Type
from discreet.release.display import price_of
from discreet.release.release import Release

if TYPE_CHECKING:  # handed in
    from discreet.query.question import Question
    from discreet.session.inquiry import PriceOptions
    from discreet.session.purchases import Purchases

_MADE_UP: Final[dict[Type, Scalar]] = {
    Type.INTEGER: 0,
    Type.FLOAT: 0,
    Type.TEXT: "",
    Type.BOOLEAN: False,
    Type.DATE: date(2000, 1, 1),
    Type.TIMESTAMP: datetime(2000, 1, 1),  # noqa: DTZ001 (as all moments here)
}
_MOST: Final = 5_000
"""So many groups of one question another can be about."""


def with_answers(
    purchases: Purchases,
    question: Question,
    price: PriceOptions,
    *,
    confirm: bool | None,
    beside: Callable[[Plan], tuple[Plan, ...]],
) -> tuple[Question, tuple[str, ...]]:
    """Answer the questions of WITH, and return the outer one about the groups that they released.

    With it come words on what each of them cost.  ``confirm`` is None where the question is only
    planned: nothing is bought then.
    """
    if price.get("error"):
        raise WrongKind(
            what="errors are named, and the groups are still to be released.",
            why="how much noise keeps an error depends on how many groups there are.",
            do="give a price, such as epsilon=0.5.",
        )
    plans = {name: purchases.planned(inner, {}) for name, inner in question.released}
    if purchases.unanswered(*plans.values()):
        draft = purchases.planned(with_released(question, _stand_ins(question, plans)), price)
        if confirm is None:
            raise _not_answered(tuple(plans.values()), draft)
        purchases.check(*plans.values(), later=(draft, *beside(draft)), confirm=confirm)
    values: dict[str, dict[str, tuple[Scalar, ...]]] = {}
    for name, inner in question.released:
        release = purchases.answer(plans[name], confirm=True)
        values[folded(name)] = {
            folded(key): _released(release, key, name) for key in key_names(inner)
        }
    words = tuple(f"{name}, for {price_of(plan)}" for name, plan in plans.items())
    return with_released(question, values), words


def _stand_ins(question: Question, plans: dict[str, Plan]) -> Values:
    """Return one made-up value of every key."""
    found: dict[str, dict[str, tuple[Scalar, ...]]] = {}
    for name, inner in question.released:
        keys = plans[name].request.keys
        outputs = [(key, value) for key, value in inner.outputs if key in key_names(inner)]
        found[folded(name)] = {
            folded(key): (_MADE_UP[keys[getattr(value, "at", 0)].type],) for key, value in outputs
        }
    return found


def _released(release: Release, key: str, name: str) -> tuple[Scalar, ...]:
    """Return the different values of a key that were released; NULL equals nothing."""
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


def _not_answered(plans: tuple[Plan, ...], draft: Plan) -> WrongKind:
    costs = " and ".join(map(price_of, plans))
    return WrongKind(
        what="the groups of this question are released by another one, which is not answered yet.",
        why=f"planning spends nothing.  WITH costs {costs}; the question itself costs "
        f"{price_of(draft)}.",
        do="ask, which answers both; or ask the inner question first, and plan this one then.",
    )
