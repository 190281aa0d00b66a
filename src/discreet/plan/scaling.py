"""The step that fixes the noise: by a price, or by errors.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.errors import OutOfRange, UnsupportedSQL, WrongKind
from discreet.plan.calibration import (
    Calibrated,
    by_epsilon,
    by_point,
    by_rho,
    counted_in_epsilon,
    counted_in_rho,
)
from discreet.plan.draft import Draft, found
from discreet.plan.laws import smaller_errors
from discreet.plan.parts import GAUSSIAN, LAPLACE
from discreet.plan.price_asked import Ask, check_price
from discreet.plan.prices import Price
from discreet.plan.sketching import needs_of
from discreet.query.span import pointed

__all__ = ["check_kept", "scale_noise"]


def scale_noise(draft: Draft) -> Draft:
    """Choose noise that costs what was asked, or that errs as little as was asked."""
    ask, sketch = found(draft.ask), found(draft.sketch)
    if sketch.keys is not None and ask.delta == 0:
        raise _needs_delta(draft)
    law = draft.clause.noise
    if ask.errors:
        calibrated = _by_errors(draft, law)
    elif ask.rho is not None:
        calibrated = by_rho(sketch, ask.rho, ask.delta, law or GAUSSIAN)
    else:
        calibrated = _by_epsilon(draft, found(ask.epsilon), law)
    price = calibrated.price
    check_kept(ask, price)
    if draft.ceiling:
        check_price(ask, draft.policy.limits, epsilon=price.epsilon, rho=price.rho)
    return replace(draft, calibrated=calibrated)


def check_kept(ask: Ask, price: Price) -> None:
    """Refuse to go on if a price is above what was asked; no plan is known for which it is.

    >>> check_kept(Ask(epsilon=Fraction(1), confidence=Fraction(1, 2)), Price(epsilon=Fraction(1)))
    """
    over = ask.epsilon is not None and (price.epsilon is None or price.epsilon > ask.epsilon)
    over = over or (ask.rho is not None and (price.rho is None or price.rho > ask.rho))
    chance = price.beside if ask.epsilon is None else price.delta
    if over or chance > ask.delta:
        raise OutOfRange(
            what="no noise was found that keeps the price.",
            why="nothing is answered at a price above the one that was asked.",
            do="ask for another price, or for fewer aggregates.",
        )


def _by_epsilon(draft: Draft, epsilon: Fraction, law: str | None) -> Calibrated:
    """Spend an epsilon, by the law that was asked for, or else by that with smaller errors."""
    ask, sketch = found(draft.ask), found(draft.sketch)
    fixed = any(each is not None for each in sketch.fixed)
    keys = sketch.keys
    asked_for = GAUSSIAN if GAUSSIAN in {law, None if keys is None else keys.law} else law
    if asked_for == GAUSSIAN and (fixed or ask.delta == 0):
        raise WrongKind(
            what="Gaussian noise is asked for, without a delta, or with epsilons of aggregates.",
            why="it is private outside an event of some chance only, and its price is not a sum of "
            "epsilons.",
            do="give a delta and one epsilon for the question, or a rho, or use Laplace noise.",
        )
    if asked_for is None and ask.delta and not fixed:
        asked_for = smaller_errors(sketch, epsilon, ask.delta, ask.confidence)
    if asked_for == GAUSSIAN:
        return by_point(sketch, epsilon, ask.delta)
    return by_epsilon(sketch, epsilon, ask.delta)


def _by_errors(draft: Draft, law: str | None) -> Calibrated:
    """Take the law that is cheaper by formula, or the one that was asked for."""
    ask, sketch = found(draft.ask), found(draft.sketch)
    if law is None and ask.concentrated:
        law = GAUSSIAN
    from discreet.plan.targets import Targets  # noqa: PLC0415  rare

    targets = Targets(
        ask=ask,
        sketch=sketch,
        estimates=draft.estimates,
        outputs=found(draft.shown).outputs,
        needs=needs_of(draft),
    )
    if law != GAUSSIAN:
        calibrated = counted_in_epsilon(targets.releases(LAPLACE), draft.unit)
        epsilon = found(calibrated.price.epsilon)
        open_ = law is None and ask.delta > 0
        if not open_ or smaller_errors(sketch, epsilon, ask.delta, ask.confidence) == LAPLACE:
            return calibrated
    return counted_in_rho(targets.releases(GAUSSIAN), draft.unit, ask.delta)


def _needs_delta(draft: Draft) -> UnsupportedSQL:
    keys = [each for each in found(draft.asked).keys if each.values is None]
    span = keys[0].key.expression.span if keys else draft.question.span
    names = ", ".join(each.key.name for each in keys) or "the groups"
    return UnsupportedSQL(
        what=pointed(f"which values of {names} there are is private, and delta is 0.", span),
        why="somebody may be the only one in a group, and then its name must hardly ever be shown.",
        do="give delta=1e-9, or delta_per_question in the policy; or make the groups public: list "
        f"them with WHERE {names} IN (...), or declare categories.",
    )
