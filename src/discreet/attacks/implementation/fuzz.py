"""A16: texts that were never meant to be questions.

Trust: public.

Known questions are changed a little, again and again.  Each result is planned: it is refused in
words, or it is a question, which can be answered and shown.  Then its loss may not be above its
price, and a higher price may not make it smaller.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.attacks.findings import Finding
from discreet.attacks.implementation.clinic import rehearsed, visits
from discreet.attacks.implementation.texts import changed
from discreet.errors import DiscreetError
from discreet.plan.plan import Plan
from discreet.session import Session

__all__ = ["attack"]

_DELTA: Final = Fraction(1, 10**9)
_ROUNDING: Final = Fraction(1, 10**9)
_SHOWN: Final = 400


def attack(*, quick: bool, label: str = "fuzz") -> Finding:
    """Plan changed texts, and compare their losses with their prices."""
    n, some = (300, 8) if quick else (10_000, 20)
    accepted = judged = 0
    wrong: list[str] = []
    with rehearsed(visits(8)) as session:
        for text in changed(n, label=label):
            try:
                plan = session.plan(text, epsilon=1, delta=_DELTA)
            except DiscreetError:
                continue
            except Exception as error:  # noqa: BLE001  (what is looked for)
                wrong.append(f"{type(error).__name__} escapes from {text[:_SHOWN]!r}")
                continue
            accepted += 1
            wrong += _answered(session, text, plan)
            if accepted % some == 0:
                judged += 1
                wrong += _priced(session, text, plan)
    return Finding(
        code="A16",
        title="fuzzed questions",
        claimed="nothing but a refusal or a plan comes out; no loss above its price; no loss falls "
        "where the price rises",
        measured=f"{n} texts, {accepted} of them questions, {judged} priced again: "
        f"{len(wrong)} violations"
        f"{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={"texts": n, "questions": accepted, "priced": judged, "violations": len(wrong)},
        not_covered="texts that start from other questions; memory errors in the engine itself",
    )


def _answered(session: Session, text: str, plan: Plan) -> list[str]:
    """Show a plan, carry it out, and show the answer."""
    try:
        str(plan), str(session.ask(plan))
    except DiscreetError as error:
        return [f"{text[:_SHOWN]!r} is planned, and then refused: {error.what}"]
    except Exception as error:  # noqa: BLE001  (what is looked for)
        return [f"{type(error).__name__} escapes from {text[:_SHOWN]!r}"]
    return []


def _priced(session: Session, text: str, plan: Plan) -> list[str]:
    """Compare the loss of a plan with its price, and with that of a dearer one."""
    wrong: list[str] = []
    asked = Fraction(1) if plan.price.epsilon is None else plan.price.epsilon
    here = Fraction(plan.loss.epsilon(delta=_DELTA))
    if here > asked * (1 + _ROUNDING):
        wrong.append(f"{text[:_SHOWN]!r} costs {float(asked):g} and loses {float(here):g}")
    dearer = session.plan(text, epsilon=2, delta=_DELTA)
    if Fraction(dearer.loss.epsilon(delta=_DELTA)) < here:
        wrong.append(f"{text[:_SHOWN]!r} loses less at a higher price")
    return wrong
