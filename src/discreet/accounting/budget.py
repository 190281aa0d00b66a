"""Budgets: how much may be lost in total, in which currency, and how that is stored.

Trust: kernel.  A limit that is read as a higher one lets more be lost than was promised.

Definition.  A budget fixes its currency and its limits when it is made:

    Budget(epsilon=1)                 epsilons, added up
    Budget(epsilon=2, delta=1e-9)     epsilons or rhos, whichever fits: epsilons to 2, rhos to the
                                      largest R for which R-concentrated privacy is proved to imply
                                      (2, delta').  A share of delta, the reserve, is set aside for
                                      requests with a delta of their own, another one for losses
                                      that have an epsilon only at a delta; delta' is the rest.
                                      With currency="zcdp" rhos alone, with "basic" epsilons and
                                      deltas.
    Budget(rho=0.1)                   rhos, added up; perhaps with a delta beside

With ``aside`` in reserve, C for conversions and the rest for rho, aside + (1 - aside) (C + rest) =
delta (keys ``filter-approximate`` and ``filter-joint``).  The search only proposes; what is
returned was checked, and smaller limits imply no less.  Limits are read as they were written, if
the loss that they stand for is within the promise, by the same conversion.

Theorem.  Whatever is asked within the limits, one by one and in view of all answers, the guarantee
holds (keys ``filter-basic``, ``filter-concentrated``, ``filter-joint`` and
``filter-approximate``).  It comes from the limits, not from what was spent.

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

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import discreet.loss  # for least_scale, which most budgets do without
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
    price_in_currency,
)
from discreet.doors import Explainable
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, freeze
from discreet.loss import Approximate, PrivacyLoss, ZeroConcentrated
from discreet.loss.parameters import checked_delta, checked_epsilon, checked_parameter
from discreet.loss.privacy_loss import checked_loss
from discreet.notebook import Shown

_RESERVES: Final = {
    ConcentratedCurrency.name: Fraction(1, 10),
    JointCurrency.name: Fraction(1, 4),
}
"""The part of delta that is set aside for events, by currency."""

_CONVERSIONS: Final = Fraction(1, 15)  # of what is not in reserve, so one twentieth of delta
_CONVERSION: Final = Fraction(1, 1000)
_SEARCH_BITS: Final = 48  # of the search alone: what it returns was checked
_REQUESTS: Final = 250
"""How many requests with a delta of their own fit, if nobody says how much they may spend."""

Number = object
"""An exact number, or a float that stands for its decimal text."""


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget(Explainable, Shown):
    """A ceiling on the loss of everything that is asked.

    >>> budget = Budget(epsilon=2, delta=1e-9)
    >>> print(budget)  # doctest: +NORMALIZE_WHITESPACE
    epsilon 2 at delta 1e-09, kept in joint:
    epsilon 2, conversion delta 5e-11, rho 0.05508, delta 2.5e-10
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
        currency: str | None = None,
        reserve: Number = None,
    ) -> None:
        """Take epsilon or rho, and a delta.

        Args:
            epsilon: the largest loss, outside an event of probability ``delta``.
            delta: for epsilon, the probability of failure in all; otherwise what may be spent on
                requests that have a delta of their own.
            rho: the largest rho of zero-concentrated privacy.
            currency: for (epsilon, delta), how it is kept: "joint" unless given, "zcdp" or "basic".
            reserve: the share of delta set aside for requests that have a delta of their own: a
                quarter unless given, and a tenth in "zcdp".
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
        kept: Currency = ConcentratedCurrency() if epsilon is None else BasicCurrency()
        wanted = currency or (kept if epsilon is None or not probability else JointCurrency).name
        if epsilon is None:
            limit: tuple[Fraction, ...] = (checked_parameter(rho, name="rho"), probability)
        else:
            limit = (checked_epsilon(epsilon), probability)
            if wanted in _RESERVES:
                kept, limit = _limits_within(limit[0], probability, wanted, reserve)
                promise = Approximate(epsilon=epsilon, delta=probability)
                wanted, reserve = kept.name, None
        if wanted != kept.name or reserve is not None:
            raise WrongKind(
                f"a budget kept in {kept.name} is given another currency, or a reserve; leave out "
                "currency and reserve, or give epsilon and delta, and 'joint', 'zcdp' or 'basic'."
            )
        freeze(self, currency=kept, limit=tuple(map(amount_down, limit)), promise=promise)

    def __repr__(self) -> str:
        """Show how to make it again; the reserve is the last component of the limit."""
        if self.promise is None:
            given = self.currency.arguments(self.limit)
        else:
            bounds = {"epsilon": self.promise.epsilon_bound, "delta": self.promise.delta_bound}
            share = amount_value(self.limit[-1]) / self.promise.delta_bound
            given = {**bounds, "currency": self.currency.name, "reserve": share}
        return f"Budget({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __str__(self) -> str:
        """Show the promise, rounded up, and the limits, rounded down."""
        named = zip(self.components, self.limit, strict=True)
        kept = ", ".join(f"{name} {format_down(a)}" for name, a in named if a or name != "delta")
        if self.promise is None:
            return f"{kept}, kept in {self.currency.name}"
        return f"{self.promised}, kept in {self.currency.name}: {kept}"

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
        """What holds of all answers together, whatever was asked."""
        return self.currency.loss(self.limit) if self.promise is None else self.promise

    @property
    def own_delta(self) -> Fraction:
        """What one request may spend of delta if it needs some and nobody says how much.

        It follows from the limit alone, so that a question that is asked again costs the same.

        >>> float(Budget(epsilon=1, delta="1e-9").own_delta)
        1e-12
        """
        return amount_value(self.limit[-1] // _REQUESTS)

    def price(self, loss: PrivacyLoss, *, delta: Number = None) -> Amounts:
        """Return what a loss costs, component by component, rounded up.

        ``delta`` is what to spend on events outside which the loss is smaller, or has a price.

        >>> from discreet.loss import Pure
        >>> Budget(epsilon=1).price(Pure(epsilon="0.1"))
        (100000000000000000000000, 0)
        """
        probability = None if delta is None else checked_delta(delta)
        return price_in_currency(self.currency, checked_loss(loss), probability)

    def fits(self, spent: Sequence[int], amount: Sequence[int]) -> bool:
        """Say whether so much more fits on top of what was spent; nothing is ever given back.

        >>> Budget(epsilon=1).fits((9 * 10**23, 0), (10**23, 0))
        True
        >>> Budget(epsilon=1).fits((9 * 10**23, 0), (10**23 + 1, 0))
        False
        """
        given = (*spent, *amount)
        counted = len(spent) == len(amount) == len(self.limit)
        if not counted or not all(type(part) is int and part >= 0 for part in given):
            raise OutOfRange(
                "an amount is not a integer from zero for each component; give amounts as "
                "Budget.price returns them."
            )
        total = tuple(a + b for a, b in zip(spent, amount, strict=True))
        return self.currency.fits(total, self.limit)

    def written(self) -> dict[str, object]:
        """Return a form that JSON keeps exactly: the limits as they were fixed, not how.

        >>> Budget(rho="0.1").written()["limit"]
        ['100000000000000000000000', '0']
        """
        joint = isinstance(self.currency, JointCurrency)
        return {
            **({"conversion": str(self.currency.conversion)} if joint else {}),  # type: ignore[attr-defined]
            "currency": self.currency.name,
            "limit": encode_amounts(self.limit),
            "promise": None
            if self.promise is None
            else {
                "epsilon": write_number(self.promise.epsilon_bound),
                "delta": write_number(self.promise.delta_bound),
            },
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
        currency = _currency(data["currency"], data.get("conversion"))
        limit = decode_amounts(data["limit"], width=len(currency.components))
        promise = _promise(data["promise"])
        budget = object.__new__(cls)
        freeze(budget, currency=currency, limit=limit, promise=promise)
        if budget.written() != data:
            raise undecodable("a number of a budget is not in its written form")
        if promise is not None and not _implied(currency, limit, promise):
            raise undecodable("the limits of a budget do not imply what it promises")
        if promise is None and (
            isinstance(currency, JointCurrency) or cls(**currency.arguments(limit)).limit != limit  # type: ignore[arg-type]
        ):
            raise undecodable("the limits of a budget promise nothing, or are out of range")
        return budget

    def counted_like(self, other: Budget) -> Budget:
        """Return this budget, with losses counted in epsilon at the delta of another, if jointly.

        >>> old, new = Budget(epsilon=2, delta="1e-9"), Budget(epsilon=2, delta="1e-6")
        >>> new.counted_like(old).currency == old.currency
        True
        """
        if not all(isinstance(each.currency, JointCurrency) for each in (self, other)):
            return self
        return Budget.read(self.written() | {"conversion": other.written()["conversion"]})

    def split(self, weights: Sequence[Number]) -> tuple[Budget, ...]:
        """Divide into budgets that together never exceed this one, in proportion to weights.

        They may be spent side by side, and each in view of the answers to the others: all of it is
        one sequence of requests in one currency.

        >>> [print(part) for part in Budget(rho=1).split([1, 2])]
        rho 0.3333, kept in zcdp
        rho 0.6666, kept in zcdp
        [None, None]
        """
        shares = [decimal(weight, name="weight") for weight in weights]
        whole = sum(shares, Fraction(0))
        if not shares or min(shares) < 0 or whole <= 0:
            raise OutOfRange(
                "the weights of a split are negative, or all zero; give weights of at least "
                "zero, and one above it."
            )
        return tuple(
            Budget(**self.currency.arguments(tuple(math.floor(a * w / whole) for a in self.limit)))  # type: ignore[arg-type]
            for w in shares
        )


def _limits_within(
    epsilon: Fraction, delta: Fraction, name: str, reserve: object
) -> tuple[Currency, tuple[Fraction, ...]]:
    """Return the currency and the limits that imply (epsilon, delta)."""
    share = _RESERVES[name] if reserve is None else checked_delta(reserve, name="reserve")
    aside = amount_value(amount_down(share * delta))
    rest = (delta - aside) / (1 - aside)
    if rest == 0:
        raise OutOfRange(
            f"no delta is left to keep a budget in {name}; give delta > 0 and reserve < 1, or "
            "currency='basic'."
        )
    if name == ConcentratedCurrency.name:
        return ConcentratedCurrency(), (_largest_rho(epsilon, rest), aside)
    points = amount_value(amount_down(_CONVERSIONS * (delta - aside)))
    rho = _largest_rho(epsilon, rest - points)
    return JointCurrency(amount_down(_CONVERSION * points)), (epsilon, points, rho, aside)


@functools.lru_cache(maxsize=256)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho that is proved to imply (epsilon, delta), just below the largest one."""
    return 1 / discreet.loss.least_scale(
        lambda scale: ZeroConcentrated(rho=1 / scale),
        epsilon=epsilon,
        delta=delta,
        bits=_SEARCH_BITS,
    )


def _currency(name: object, conversion: object) -> Currency:
    if name == JointCurrency.name:
        return JointCurrency(*decode_amounts([conversion], width=1))
    for currency in (BasicCurrency(), ConcentratedCurrency()):
        if currency.name == name:
            return currency
    raise undecodable("a budget is kept in an unknown currency")


def _promise(data: Any) -> Approximate | None:
    if data is None:
        return None
    if not isinstance(data, dict) or set(data) != {"epsilon", "delta"}:
        raise undecodable("a promise does not hold an epsilon and a delta")
    return Approximate(epsilon=read_number(data["epsilon"]), delta=read_number(data["delta"]))


def _implied(currency: Currency, limit: Amounts, promise: Approximate) -> bool:
    """Whether limits are proved to imply a promise, which the basic currency does not make."""
    epsilon, delta, aside = promise.epsilon_bound, promise.delta_bound, amount_value(limit[-1])
    if isinstance(currency, BasicCurrency) or not aside < delta < 1:
        return False
    rest = (delta - aside) / (1 - aside)
    if isinstance(currency, JointCurrency):
        if limit[0] > amount_down(epsilon):
            return False
        rest -= amount_value(limit[1])
    return ZeroConcentrated(rho=amount_value(limit[-2])).delta(epsilon=epsilon) <= rest


def checked_raise(old: Budget, new: object) -> Budget:
    """Return the new budget, in the currency of the old one, if it raises it."""
    if isinstance(new, Budget):
        new = new.counted_like(old)
    if not isinstance(new, Budget) or new.currency != old.currency:
        raise WrongKind(
            "a budget is to be raised to something that is not kept in its currency; give a "
            f"Budget that counts {', '.join(old.components)}, kept in {old.currency.name}."
        )
    lower = any(there < here for here, there in zip(old.limit, new.limit, strict=True))
    if lower or new.limit == old.limit:
        raise OutOfRange(
            f"a budget ({old}) is to be raised to one that is not above it ({new}); give a budget "
            "of which no limit is lower, and one is higher."
        )
    return new


def is_recorded(recorded: Budget | None, given: Budget | None) -> bool:
    """Return whether a budget that is given is the one on record.

    The delta at which losses have an epsilon stays that of the first budget of an account.
    """
    if recorded is None or given is None:
        return recorded is given
    return given.counted_like(recorded) == recorded
