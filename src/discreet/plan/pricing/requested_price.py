"""What a question may cost, or how exact it shall be: as requested, and as the policy allows.

Trust: kernel.

Definition.  A price is asked in epsilon, perhaps outside an event of chance delta, or in rho; or it
is left open, and errors are named in its place: how far an output may be from the truth, at most,
with the confidence.  Then the budget that pays decides between laws of noise: one that is kept in
epsilon by the smaller epsilon, and one in rho, mu or divergences takes Gaussian noise, which costs
least there, unless the policy limits epsilon and no delta is given.  What is not given in the
call stands in the clause of the question; delta and the confidence may come from the policy.
Groups that are chosen privately need a delta: if nobody names one, it is a small share of what
the budget that pays has set aside.
A policy may limit what one question costs.  An asked price is held against the limit in its own
currency before anything else is done, and otherwise the price of the plan is, once it is known.
A price that protects hardly anybody is paid only if it is confirmed, or if the policy names one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.errors import NotAllowed, OutOfRange, WrongKind
from discreet.exact import decimal, positive, whole
from discreet.mechanisms.mechanism import Number, at_confidence
from discreet.plan.policy.policy import Limits
from discreet.query.expressions import Grouped
from discreet.query.question import Clause, Question, aggregates

if TYPE_CHECKING:  # handed in
    from discreet.plan.pricing.calibration import Price

UNCONFIRMED: Final = 10
"""The largest epsilon, or rho if there is no epsilon, that is paid without being confirmed."""
_SHOWN: Final = Fraction(10**200)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsPrice:
    """A price for all bounds of a question together, in epsilon or in rho.

    >>> BoundsPrice(epsilon=Fraction(1, 10)).rho is None
    True
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None


def estimate(*, epsilon: Number | None = None, rho: Number | None = None) -> BoundsPrice:
    """Let missing bounds be found privately, for a price that is added to that of the answer.

    Args:
        epsilon: what all bounds of a question cost together.
        rho: the same in zero-concentrated privacy, in place of epsilon.

    >>> estimate(epsilon="0.1")
    BoundsPrice(epsilon=Fraction(1, 10), rho=None)
    """
    if (epsilon is None) == (rho is None):
        raise WrongKind(
            what="not one of epsilon and rho is given for the bounds.",
            why="one of them says what finding bounds costs, beside the answer.",
            do="write bounds=dp.estimate(epsilon=0.1), say.",
        )
    if epsilon is not None:
        return BoundsPrice(epsilon=_price(decimal(epsilon, name="epsilon"), "epsilon"))
    return BoundsPrice(rho=_price(decimal(rho, name="rho"), "rho"))


def check_bounds_price(given: object) -> BoundsPrice | None:
    """Refuse what does not say how bounds are found.

    >>> check_bounds_price(None) is None
    True
    """
    if given is None or isinstance(given, BoundsPrice):
        return given
    raise WrongKind(
        what=f"a {type(given).__name__} does not say how bounds are found.",
        why="bounds stand in the policy or in the question, or are found privately for a price.",
        do="write bounds=dp.estimate(epsilon=0.1), or give bounds with "
        "contribution_bounds_per_row => (0, 100).",
    )


_NONE = Fraction(0)
_LEAST_DELTA = Fraction(1, 10**100)
_LEAST_PRICE = Fraction(1, 10**200)
"""Below it, widths of noise are no longer floats; ledgers round prices up to 1e-24 in any case."""
_MOST_PRICE = Fraction(10**200)
"""Above it, losses are no longer floats."""
_MOST_DELTA = Fraction(1, 1000)
"""What a question may have if the policy limits its price, and says nothing of delta."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PriceArguments:
    """The arguments of a call, as they were given; ``concentrated`` is about who pays.

    >>> PriceArguments(epsilon=0.5).rho is None
    True
    """

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    error: Mapping[str, Number] | None = None
    size: int | None = None
    confidence: Number | None = None
    bounds: BoundsPrice | None = None
    intervals: bool = True
    concentrated: bool = False


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedPrice:
    """A price, or the errors that it has to allow: one of epsilon, rho and errors is there.

    ``intervals`` says whether a part of the price may go to intervals; ``concentrated`` that a
    price that follows from errors is paid in rho, or the like.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    errors: tuple[tuple[str, Fraction], ...] = ()
    delta: Fraction = _NONE
    size: int | None = None
    confidence: Fraction
    intervals: bool = True
    concentrated: bool = False


def _errors(given: object, question: Question) -> tuple[tuple[str, Fraction], ...]:
    """Return how far outputs may be from the truth, by their names."""
    if given is None:
        return ()
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        names = [name for name, value in question.outputs if not isinstance(value, Grouped)]
        number = given if isinstance(given, int | float) and not isinstance(given, bool) else 5
        listed = ", ".join(f"{name!r}: {number}" for name in names) or f"'visits': {number}"
        raise WrongKind(
            what="error does not say which output it is about.",
            why="each column of an answer has an error of its own, by its name: a mapping such as "
            f"{{{listed}}}, where a number is how far that column may be off.",
            do=f"give error={{{listed}}}.",
        )
    return tuple(
        (name, positive(decimal(value, name=f"error[{name!r}]"), name=f"error[{name!r}]"))
        for name, value in given.items()
    )


def read_requested_price(
    question: Question, limits: Limits, given: PriceArguments
) -> RequestedPrice:
    """Return what is asked, from the call, the clause and the policy.

    >>> from discreet.query.sql.parse import read
    >>> ask = read_requested_price(read("SELECT COUNT(*) AS n FROM visits"), Limits(),
    ...     PriceArguments(epsilon=0.1))
    >>> ask.epsilon, ask.delta, ask.confidence
    (Fraction(1, 10), Fraction(0, 1), Fraction(19, 20))
    """
    clause = question.clause or Clause()
    epsilon = _one("epsilon", given.epsilon, clause.epsilon)
    rho = _one("rho", given.rho, clause.rho)
    delta = _one("delta", given.delta, clause.delta)
    errors = _errors(given.error, question)
    if epsilon is None and rho is None and not errors:
        epsilon = _named(question, clause)
    prices = {"epsilon": epsilon is not None, "rho": rho is not None, "error": bool(errors)}
    named = [name for name, given_too in prices.items() if given_too]
    if len(named) != 1:
        raise WrongKind(
            what=f"{' and '.join(named) or 'none of epsilon, rho and error'} "
            f"{'are' if named else 'is'} given.",
            why="one of them says what the question costs, and two could disagree.",
            do="give epsilon=0.1, say (--epsilon 0.1), or error={'visits': 5} (--error visits=5).",
        )
    chance = delta if delta is not None else limits.delta
    confidence = limits.confidence if given.confidence is None else at_confidence(given.confidence)
    return RequestedPrice(
        epsilon=None if epsilon is None else _price(epsilon, "epsilon"),
        rho=None if rho is None else _price(rho, "rho"),
        errors=errors,
        delta=_NONE if chance is None else _below_one(chance),
        size=None if given.size is None else whole(given.size, name="size", low=1),
        confidence=confidence,
        intervals=given.intervals,
        concentrated=given.concentrated and (limits.max_epsilon is None or bool(chance)),
    )


def check_requested_price(ask: RequestedPrice, limits: Limits) -> None:
    """Refuse a price above what the policy allows in the same currency.

    >>> check_requested_price(RequestedPrice(epsilon=Fraction(1), confidence=Fraction(1, 2)),
    ...     Limits())
    """
    if ask.epsilon is not None and limits.max_epsilon is not None:
        _check("epsilon", ask.epsilon, limits.max_epsilon)
    if ask.rho is not None and limits.max_rho is not None:
        _check("rho", ask.rho, limits.max_rho)
    limited = limits.max_epsilon is not None or limits.max_rho is not None
    if limits.delta is not None or limited:
        _check("delta", ask.delta, _MOST_DELTA if limits.delta is None else limits.delta)


def check_price(ask: RequestedPrice, limits: Limits, price: Price) -> None:
    """Refuse the price of a plan above what the policy allows.

    It is held against the limit in the currency that was asked in, or against all that there are.

    >>> from discreet.plan.pricing.calibration import Price
    >>> ask = RequestedPrice(rho=Fraction(1), confidence=Fraction(1, 2))
    >>> check_price(ask, Limits(max_rho=Fraction(1)), Price(rho=Fraction(1)))
    """
    prices = {"epsilon": (price.epsilon, limits.max_epsilon), "rho": (price.rho, limits.max_rho)}
    own = "rho" if ask.epsilon is None else "epsilon"
    _check_all(prices if ask.errors or prices[own][1] is None else {own: prices[own]})


def check_allowed(price: Price, limits: Limits) -> None:
    """Refuse a price that the policy allows in none of the currencies that it limits.

    >>> from discreet.plan.pricing.calibration import Price
    >>> check_allowed(Price(epsilon=Fraction(1)), Limits(max_epsilon=Fraction(1)))
    """
    known = {"epsilon": (price.epsilon, limits.max_epsilon), "rho": (price.rho, limits.max_rho)}
    limited = {name: pair for name, pair in known.items() if pair[1] is not None}
    if limited and not any(
        paid is not None and most is not None and paid <= most for paid, most in limited.values()
    ):
        _check_all(limited)
    if limits.delta is not None or limited:
        _check("delta", price.delta, _MOST_DELTA if limits.delta is None else limits.delta)


def _check_all(known: Mapping[str, tuple[Fraction | None, Fraction | None]]) -> None:
    """Refuse prices above what is allowed, and what has no price if one is limited."""
    for name, (price, most) in known.items():
        if most is not None:
            if price is None:
                raise NotAllowed(
                    what=f"the question has no price in {name}.",
                    why=f"the policy limits what one question may cost in {name}.",
                    do=f"ask with {name}=..., or give a delta.",
                )
            _check(name, price, most)


def _one(name: str, argument: object, clause: Fraction | None) -> Fraction | None:
    """Return what was given once, or twice alike."""
    if argument is None:
        return clause
    number = decimal(argument, name=name)
    if clause is not None and number != clause:
        raise WrongKind(
            what=f"{name} is given twice, in the call and in the clause, and differs.",
            why="a question has one price.",
            do=f"give {name} in one of the two places.",
        )
    return number


def _named(question: Question, clause: Clause) -> Fraction | None:
    """Add up the epsilons of the aggregates, if each names its own."""
    epsilons = [total.epsilon for total in aggregates(question)]
    if question.keys:
        epsilons.append(clause.group_selection_epsilon)
    named = [epsilon for epsilon in epsilons if epsilon is not None]
    return sum(named, _NONE) if named and len(named) == len(epsilons) else None


def _price(price: Fraction, name: str) -> Fraction:
    if positive(price, name=name) < _LEAST_PRICE:
        raise OutOfRange(
            what=f"{name} is below 1e-200.",
            why="noise for that price is wider than any number that can be shown.",
            do=f"ask with a larger {name}.",
        )
    if price > _MOST_PRICE:
        raise OutOfRange(
            what=f"{name} is above 1e200.",
            why="noise for that price is narrower than any number, and nothing is protected.",
            do=f"ask with a smaller {name}; 1 is much already.",
        )
    return price


def _below_one(delta: Fraction) -> Fraction:
    if not 0 <= delta < 1:
        raise OutOfRange(
            what="delta is not from 0 up to 1.",
            why="it is the chance that the promise fails, and at 1 nothing is promised.",
            do="give a delta far below one over the number of people.",
        )
    if 0 < delta < _LEAST_DELTA:
        raise OutOfRange(
            what="delta is below 1e-100.",
            why="a chance that small hides no more than 0 does, and is worked out slowly.",
            do="give delta=0, or a larger one such as 1e-9.",
        )
    return delta


def _check(name: str, price: Fraction, most: Fraction) -> None:
    if price > most:
        raise NotAllowed(
            what=f"the question costs {name} {float(price):.4g}; the policy allows "
            f"{float(most):.4g} for one question.",
            why="the owner of the data has limited what a single answer may tell about anybody.",
            do=f"ask with {name} up to {float(most):.4g}, or for less precision.",
        )


def check_least(price: Price, least: Fraction) -> None:
    """Refuse a price far below the least epsilon of a question (T1).

    Noise is rounded outward, so that a price may lie a little below what was asked for.
    """
    currency, paid, floor = (
        ("rho", price.rho, least**2 / 2)
        if price.epsilon is None
        else ("epsilon", price.epsilon, least)
    )
    if paid is not None and 0 < paid < floor / 2:
        raise NotAllowed(
            what=f"the question costs {currency} {float(paid):.3g}; the least of one question here "
            f"is {float(floor):.4g}.",
            why="its time and its errors reveal something, too, and are paid for by this.",
            do="ask for a more exact answer, or have the owner write min_epsilon_per_question "
            "under [limits].",
        )


def check_confirmed(
    price: Price, limits: Limits, *, what: str = "the question", do: str | None = None
) -> None:
    """Refuse a price that protects hardly anybody, unless the policy names it."""
    named = (price.epsilon, limits.max_epsilon, "epsilon"), (price.rho, limits.max_rho, "rho")
    paid, allowed, currency = named[price.epsilon is None]
    if paid is not None and allowed is None and paid > UNCONFIRMED:
        raise NotAllowed(
            what=f"{what} costs {currency} {float(min(paid, _SHOWN)):.4g}, which is above "
            f"{UNCONFIRMED}, and nobody has confirmed it.",
            why="such an epsilon offers almost no protection, and is usually a typo.",
            do=do
            or f"ask with a smaller {currency}; or, if it is meant, with confirm=True (--confirm), "
            f"or have the owner write max_{currency}_per_question into the policy.",
        )
