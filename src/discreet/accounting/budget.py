"""Budgets: how much may be lost in total, in which currency, and how that is stored.

Trust: kernel.  A limit that is read as a higher one lets more be lost than was promised.

Definition.  A budget fixes what it counts, and its limits, when it is made:

    Budget(epsilon=1)                 epsilons, added up
    Budget(epsilon=2, delta=1e-9)     epsilons, rhos or squares of mu, whichever fits: epsilons to
                                      2, rhos to the largest R, and squares of mu to the largest M
                                      that are proved to imply (2, delta'); or one question alone
                                      that is (2, 1e-9)-private.  Shares of delta are set aside for
                                      requests with a delta of their own, for losses that have an
                                      epsilon only at a delta, and for rho; the rest is for mu.
    Budget(rho=0.1)                   rhos, added up; perhaps with a delta beside

With ``aside`` set aside, C for conversions, and D' and D'' for rho and mu, aside + (1 - aside) (C +
D' + D'') is at most delta (keys ``filter-approximate``, ``filter-joint`` and ``filter-alone``).
The search only proposes; what is returned was checked, and smaller limits imply no less.  It aims a
millionth below delta, so that limits that were stored are still proved to be within the promise if
a conversion should change in its last digits.

Theorem.  For any questions asked within the limits, one by one and in view of all answers, the
guarantee holds (keys ``filter-basic``, ``filter-concentrated``, ``filter-joint``, ``filter-alone``
and ``filter-approximate``).  It comes from the limits, not from what was spent.

Definition.  A budget is raised to another of the same currency, with no limit lower and at least
one higher.  What was spent stays spent, and counts against the new limits.
Theorem (the same keys).  Let the limits of all raises be fixed without a look at answers, or at
what was asked in view of answers.  Then the guarantee of the last budget holds for all answers,
including those from before the raise.
    Proof.  The last limits could have been fixed from the start: the earlier ones refuse whatever
    the last ones refuse, and perhaps more, so that on every path the sums stay within the last.
If whether or how far a budget is raised does depend on answers, the guarantee is that of the
highest limits that could have come about, which may exceed those in force; limits on epsilons
alone (basic, with a delta of 0) need no proviso.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.accounting.amounts import (
    amount_down,
    amount_up,
    amount_value,
    decode_amounts,
    encode_amounts,
    format_down,
    format_up,
    read_number,
    undecodable,
    write_number,
)
from discreet.accounting.currencies import (
    Amounts,
    BasicCurrency,
    ConcentratedCurrency,
    Currency,
    JointCurrency,
    largest_rho,
    largest_square,
)
from discreet.doors import Explainable
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import freeze
from discreet.loss import Approximate, GaussianDP, PrivacyLoss, ZeroConcentrated
from discreet.loss.parameters import checked_delta, checked_epsilon, checked_parameter
from discreet.loss.privacy_loss import checked_loss
from discreet.notebook import Shown

_ASIDE: Final = Fraction(3, 20)
"""The share of delta that is set aside for requests with a delta of their own."""
_POINTS: Final = Fraction(1, 50)
"""The share for losses that have an epsilon only at a delta."""
_RHO: Final = Fraction(3, 50)
"""The share for rho: of a smaller one hardly less can be asked in rho, and more in mu."""
_HAIR: Final = 1 - Fraction(1, 10**6)
_REQUESTS: Final = 150
"""How many requests with a delta of their own fit, if nobody says how much they may spend."""

Number = object
"""An exact number, or a float that stands for its decimal text."""


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget(Explainable, Shown):
    """A ceiling on the loss of everything that is asked.

    >>> budget = Budget(epsilon=2, delta=1e-9)
    >>> print(budget)
    epsilon 2 at delta 1e-09
    >>> budget.guarantee.epsilon(delta=1e-9)
    2.0
    >>> Budget(rho="0.1").guarantee
    ZeroConcentrated(rho=Fraction(1, 10))
    """

    currency: Currency
    limit: Amounts
    promise: Approximate | None

    def __init__(
        self,
        *,
        epsilon: Number = None,
        delta: Number = 0,
        rho: Number = None,
    ) -> None:
        """Take epsilon or rho, and a delta.

        Args:
            epsilon: the largest loss, outside an event of probability ``delta``.
            delta: for epsilon, the probability of failure in all; otherwise what may be spent on
                requests that have a delta of their own.
            rho: the largest rho of zero-concentrated privacy.
        """
        probability = checked_delta(delta)
        if probability == 1:
            raise OutOfRange(
                "the delta of a budget is 1; give delta < 1; useful values are below one over the "
                "number of people."
            )
        if (epsilon is None) == (rho is None):
            raise WrongKind(
                "a budget is given by neither or both of epsilon and rho; give one of them, "
                "perhaps with a delta."
            )
        promise: Approximate | None = None
        currency: Currency = BasicCurrency()
        if epsilon is None:
            currency = ConcentratedCurrency()
            limit: tuple[Fraction, ...] = (checked_parameter(rho, name="rho"), probability)
        elif not probability:
            limit = (checked_epsilon(epsilon), probability)
        else:
            currency = JointCurrency(checked_epsilon(epsilon), probability)
            limit = _limits_within(currency.epsilon, probability)
            promise = Approximate(epsilon=epsilon, delta=probability)
        freeze(self, currency=currency, limit=tuple(map(amount_down, limit)), promise=promise)

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"

    def __str__(self) -> str:
        if self.promise is not None:
            return self.promised
        named = zip(self.components, self.limit, strict=True)
        return ", ".join(f"{name} {format_down(a)}" for name, a in named if a or name != "delta")

    @property
    def arguments(self) -> dict[str, Fraction]:
        """What to give to Budget to make it again.

        >>> Budget(epsilon=1).arguments
        {'epsilon': Fraction(1, 1)}
        """
        if self.promise is None:
            given = dict(zip(self.components, map(amount_value, self.limit), strict=True))
        else:
            given = {"epsilon": self.promise.epsilon_bound, "delta": self.promise.delta_bound}
        return {name: value for name, value in given.items() if value or name != "delta"}

    @property
    def promised(self) -> str:
        """The promise in words, rounded up."""
        if self.promise is None:
            return str(self)
        bounds = (self.promise.epsilon_bound, self.promise.delta_bound)
        epsilon, delta = (format_up(amount_up(bound)) for bound in bounds)
        return f"epsilon {epsilon} at delta {delta}"

    @property
    def components(self) -> tuple[str, ...]:
        """What is counted; the last component is delta."""
        return self.currency.components

    @property
    def guarantee(self) -> PrivacyLoss:
        """The guarantee that covers all answers together, for any questions."""
        return self.currency.loss(self.limit) if self.promise is None else self.promise

    def own_delta(
        self, *, epsilon: Fraction | None = None, rho: Fraction | None = None
    ) -> Fraction:
        """Return what one request may spend of delta if it needs some and nobody says how much.

        It is as large a part of what is set aside as its price is of the limit.  It follows from
        limit and price alone, so that a question that is asked again costs the same.

        >>> float(Budget(epsilon=1, delta="1e-9").own_delta(epsilon=Fraction(1, 10)))
        1.5e-11
        """
        known = dict(zip(self.components, map(amount_value, self.limit), strict=True))
        if self.promise is not None:
            known["epsilon"] = self.promise.epsilon_bound
        named = ((epsilon, known.get("epsilon")), (rho, known.get("rho")))
        shares = [price / limit for price, limit in named if price is not None and limit]
        share = min(shares[0], Fraction(1)) if shares else Fraction(1, _REQUESTS)
        return amount_value(math.floor(self.limit[-1] * share))

    def price(self, loss: PrivacyLoss, *, delta: Number = None) -> Amounts:
        """Return what a loss costs, component by component, rounded up.

        ``delta`` is what to spend on events outside which the loss is smaller, or has a price.

        >>> from discreet.loss import Pure
        >>> Budget(epsilon=1).price(Pure(epsilon="0.1"))
        (100000000000000000000000, 0)
        """
        probability = None if delta is None else checked_delta(delta)
        return self.currency.price(checked_loss(loss), probability)

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly: the limits as they were fixed, not how.

        >>> Budget(rho="0.1").written()["limit"]
        ['100000000000000000000000', '0']
        """
        first = self.currency
        joint = isinstance(first, JointCurrency)
        return {
            **({"counted_at": _point(first.epsilon, first.delta)} if joint else {}),  # type: ignore[attr-defined]
            "currency": first.name,
            "limit": encode_amounts(self.limit),
            "promise": None
            if self.promise is None
            else _point(self.promise.epsilon_bound, self.promise.delta_bound),
        }

    @classmethod
    def read(cls, data: object) -> Budget:
        """Read what ``written`` wrote, with the same limits, and refuse everything else.

        Limits that are not proved to imply what is promised are refused too.

        >>> budget = Budget(epsilon=2, delta=1e-9)
        >>> Budget.read(budget.written()) == budget
        True
        """
        if not isinstance(data, dict) or not {"currency", "limit", "promise"} <= data.keys():
            raise undecodable("a budget does not hold a currency, a limit and a promise")
        kept: list[Currency] = [BasicCurrency(), ConcentratedCurrency()]
        if data["currency"] == JointCurrency.name:
            first = _promise(data.get("counted_at"))
            kept.append(JointCurrency(first.epsilon_bound, first.delta_bound))
        currency = next((each for each in kept if each.name == data["currency"]), None)
        if currency is None:
            raise undecodable("a budget is kept in an unknown currency")
        limit = decode_amounts(data["limit"], width=len(currency.components))
        promise = None if data["promise"] is None else _promise(data["promise"])
        budget = object.__new__(cls)
        freeze(budget, currency=currency, limit=limit, promise=promise)
        if budget.written() != data:
            raise undecodable("a number of a budget is not in its written form")
        if isinstance(currency, JointCurrency):
            if promise is None or not _implied(currency, limit, promise):
                raise undecodable("the limits of a budget do not imply what it promises")
        elif promise is not None or cls(**budget.arguments).limit != limit:
            raise undecodable("a budget promises something else, or its limits are out of range")
        return budget

    def counted_like(self, other: Budget) -> Budget:
        """Return this budget, with losses priced as in another one, if both promise a delta.

        >>> old, new = Budget(epsilon=2, delta="1e-9"), Budget(epsilon=2, delta="1e-6")
        >>> new.counted_like(old).currency == old.currency
        True
        """
        if not all(isinstance(each.currency, JointCurrency) for each in (self, other)):
            return self
        return Budget.read(self.written() | {"counted_at": other.written()["counted_at"]})


def _limits_within(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    """Return limits that imply (epsilon, delta), component by component."""
    aside, points = (amount_value(amount_down(share * delta)) for share in (_ASIDE, _POINTS))
    rest = (delta - aside) / (1 - aside) - points
    rho = largest_rho(epsilon, _RHO * delta * _HAIR)
    square = largest_square(epsilon, (rest - _RHO * delta) * _HAIR)
    return epsilon, points, rho, square, Fraction(1), aside


def _point(epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    return {"epsilon": write_number(epsilon), "delta": write_number(delta)}


def _promise(data: Any) -> Approximate:
    if not isinstance(data, dict) or set(data) != {"epsilon", "delta"}:
        raise undecodable("a promise does not hold an epsilon and a delta")
    return Approximate(epsilon=read_number(data["epsilon"]), delta=read_number(data["delta"]))


def _implied(currency: JointCurrency, limit: Amounts, promise: Approximate) -> bool:
    """Whether limits are proved to imply a promise, and also whatever is accepted alone."""
    epsilon, delta = promise.epsilon_bound, promise.delta_bound
    most, points, rho, square, alone, aside = map(amount_value, limit)
    if not aside < delta < 1 or most > epsilon or alone != 1:
        return False
    if currency.epsilon > epsilon or currency.delta > delta:
        return False
    used = points + Fraction(ZeroConcentrated(rho=rho).delta(epsilon=epsilon))
    used += Fraction(GaussianDP(mu_squared=square).delta(epsilon=epsilon))
    return aside + (1 - aside) * used <= delta


def checked_raise(old: Budget, new: object) -> Budget:
    """Return the new budget, in the currency of the old one, if it raises it."""
    kept = type(old.currency)
    if not isinstance(new, Budget) or type(new.currency) is not kept:
        raise WrongKind(
            "a budget is to be raised to something else than it limits; give a Budget of "
            f"{' and '.join(old.arguments)}."
        )
    pairs = list(zip(_raised(old), _raised(new), strict=True))
    if any(there < here for here, there in pairs) or all(here == there for here, there in pairs):
        raise OutOfRange(
            f"a budget ({old}) is to be raised to one that is not above it ({new}); give a budget "
            "of which no limit is lower, and one is higher."
        )
    return new.counted_like(old)


def _raised(budget: Budget) -> tuple[Fraction | int, ...]:
    """Return what a raise must not lower."""
    promise = budget.promise
    promised = () if promise is None else (promise.epsilon_bound, promise.delta_bound)
    return (*promised, *budget.limit)


def is_recorded(recorded: Budget | None, given: Budget | None) -> bool:
    """Return whether a budget that is given is the one on record.

    The promise decides, since limits follow from it.
    """
    if recorded is None or given is None:
        return recorded is given
    if recorded.promise is None or given.promise is None:
        return recorded == given
    return recorded.promise == given.promise
