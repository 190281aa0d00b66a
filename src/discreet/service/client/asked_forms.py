"""The options of a session as the form that travels.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import WrongKind
from discreet.plan.pricing.requested_price import BoundsPrice
from discreet.plan.statistics.limit_choice import LimitsPrice, QuestionLimits, SharePrice
from discreet.service.protocol.question_form import QuestionForm
from discreet.session.inquiry import QuestionLike, question_of


def form_of(question: QuestionLike, options: Mapping[str, Any], *, confirm: bool) -> QuestionForm:
    """Return a question and the options of ``Session.ask`` as a form.

    >>> form_of("SELECT COUNT(*) AS n FROM visits", {"epsilon": 0.1}, confirm=False).epsilon
    '0.1'
    """
    given = dict(options)
    bounds, limits = given.pop("bounds", None), given.pop("limits", None)
    share, errors = given.pop("share_cut", None), given.pop("error", None)
    document: dict[str, Any] = {
        name: value if name == "size" else _number(value)
        for name, value in given.items()
        if value is not None
    }
    document["confirm"] = confirm is True
    if errors is not None:
        if not isinstance(errors, Mapping):
            raise _wrong("error is not a mapping of outputs to numbers")
        document["error"] = {name: _number(each) for name, each in errors.items()}
    match bounds:
        case None:
            pass
        case BoundsPrice():
            document |= {"bounds_epsilon": _given(bounds.epsilon), "bounds_rho": _given(bounds.rho)}
        case _:
            raise _wrong("bounds are not given by estimate(epsilon=...)")
    match limits:
        case None:
            pass
        case QuestionLimits():
            document |= {"max_rows": limits.max_rows, "max_groups": limits.max_groups}
        case LimitsPrice():
            document["limits_epsilon"] = str(limits.epsilon)
        case _:
            raise _wrong("limits are not given by limits(...) or estimate_limits(...)")
    if isinstance(share, SharePrice):
        document["share_cut_epsilon"] = str(share.epsilon)
    elif share is not None:
        raise _wrong("share_cut is not given by share_cut(epsilon=...)")
    form = QuestionForm.read({"question": "SELECT", **document})
    asked = str(question) if isinstance(question, str) else question_of(question)
    return QuestionForm(**{**_fields(form), "question": asked})


def _fields(form: QuestionForm) -> dict[str, Any]:
    return {name: getattr(form, name) for name in QuestionForm.__slots__}


def _given(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _wrong(what: str) -> WrongKind:
    return WrongKind(
        what=f"{what}.",
        why="a price that is not understood would not be followed.",
        do="give it as for a session.",
    )
