"""Two routes to one promise: epsilons, or rhos; a budget keeps both sums, and one has to fit.

Trust: kernel.  A question that is let through on a route that does not hold breaks the promise.

A few large questions are cheap in epsilon, many small ones in rho, and nobody knows in advance
which it will be.  So both are counted, and a question must fit one of the two.

Theorem (key ``filter-either``).  Let E, R and D' be fixed in advance, such that R-concentrated
releases are (E, D')-private.  If on every path of answers the epsilons sum to at most E or the rhos
to at most R, where answers may decide which of the two, all answers together are (E, D')-private.
    Proof.  Fix two neighbors.  delta(E) is the mean of (1 - e**(E - l))+ under P, with l the loss
    of all answers.  Where the epsilons sum to at most E, l is at most E, and nothing is added.  Now
    stop before each request that would lift the sum of rhos above R: the stopped process is
    R-concentrated (key ``filter-concentrated``), so that its mean is at most D'.  Each path whose
    rhos sum to at most R is a path of it, with the same chances and the same loss.

Gaussian noise has no epsilon without a delta, so one such question would close the first route for
ever.  It is let in at a point: rho-concentrated releases are (e, c)-private for each c > 0.
Theorem (key ``filter-joint``).  Let E, C, R and D' be fixed in advance, such that R-concentrated
releases are (E, D')-private, and let request t be (e_t, c_t)-private and rho_t-concentrated.  If on
every path of answers the e_t sum to at most E and the c_t to at most C, or the rho_t to at most R,
all answers together are (E, C + D')-private.
    Proof.  Fix two neighbors, and a set S of paths.  Let A be the set of all paths on which the
    first condition holds at the end; on the others the second does.  Sums only grow, so that on a
    path in A the first condition held all along: a route that is left stays left.  Halt the
    interaction before each request that would break the first condition.  On every path of what is
    halted it holds, so that this is (E, C)-private (key ``filter-basic``); each path in A is a path
    of it, with the same chances under both neighbors.  Hence P(S & A) <= e**E Q(S & A) + C.  In the
    same way P(S - A) <= e**E Q(S - A) + D', by ``filter-concentrated``.  Add the two.
A whole delta for each of the two routes would be wrong: an answer may decide which route is taken,
and then both fail, each on paths of its own.
Events of known chance are added as ever (key ``filter-approximate``); outside them a request has to
obey all of its numbers.  What holds is the one point (E, D): not the whole curve of R, and parts
of such a budget that are spent apart may break it, one in epsilon and another in rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn, final

from discreet.accounting.budgets.amounts import NEVER, QUANTUM, amount_value
from discreet.accounting.budgets.currency import Amounts, Currency, with_delta
from discreet.accounting.budgets.loss_prices import concentrated_price, point_price
from discreet.errors import WrongKind
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated

_NONE = Fraction(0)
_NEVER = amount_value(NEVER)
_MOST = 10**9  # a rho that promises nothing, and is not converted


@final
@dataclass(frozen=True, slots=True)
class EitherCurrency(Currency):
    """Epsilons and rhos; one of the two has to fit (key ``filter-either``).

    Losses without an epsilon fit in rho alone.  Budgets of earlier versions are kept in it.

    >>> EitherCurrency().fits((3, 1, 0), (2, 2, 0)), EitherCurrency().fits((3, 3, 0), (2, 2, 0))
    (True, False)
    """

    name: ClassVar[str] = "either"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "rho", "delta")
    routes: ClassVar[tuple[tuple[int, ...], ...]] = ((0,), (1,))

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return epsilon and rho outside one event, and the chance of that event."""
        point = point_price(loss, delta)
        if point is None:
            known = concentrated_price(loss, delta)
            return None if known is None else (_NEVER, *known)
        return _both_numbers(loss, point, delta)

    def arguments(self, amounts: Amounts) -> dict[str, object]:  # noqa: ARG002  (no amounts work)
        """Refuse, since parts that are spent apart may each fit in another way."""
        _refuse_split()

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the larger of what can be paid in epsilon and what can be paid in rho."""
        return _larger(*map(amount_value, amounts))

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a pure loss, beside a delta, that fits both in epsilon and in rho.

        >>> EitherCurrency().common_loss((10**24, 125 * 10**21, 0))
        Pure(epsilon=Fraction(1, 2))
        """
        epsilon, rho, delta = amounts
        return _common(epsilon, rho, delta)


@final
@dataclass(frozen=True, slots=True)
class JointCurrency(Currency):
    """Epsilons at deltas, and rhos; one of the two has to fit (key ``filter-joint``).

    ``conversion`` is the delta, as an amount, at which losses that are known by their rho have an
    epsilon.  It is a small share of what the budget allows, fixed when the budget is made: a
    hundredfold larger one would lower epsilons by less than a tenth.

    >>> small = JointCurrency(5 * 10**10)  # a delta of 5e-14
    >>> epsilon, chance, rho, beside = small.price(ZeroConcentrated(rho="0.00075"))
    >>> round(float(amount_value(epsilon)), 3), float(amount_value(chance)), beside
    (0.271, 5e-14, 0)
    """

    conversion: int

    name: ClassVar[str] = "joint"
    components: ClassVar[tuple[str, ...]] = ("epsilon", "conversion delta", "rho", "delta")
    routes: ClassVar[tuple[tuple[int, ...], ...]] = ((0, 1), (2,))

    def _numbers(self, loss: PrivacyLoss, delta: Fraction | None) -> tuple[Fraction, ...] | None:
        """Return epsilon, its delta, and rho, outside one event; and the chance of that event.

        A delta that is named is spent on epsilon alone, where rho needs none.
        """
        point = point_price(loss, delta)
        known = concentrated_price(loss) if point is None or delta else None
        if point is not None and known is not None and known[1] == 0:
            return *point, *known
        if point is not None:
            epsilon, rho, chance = _both_numbers(loss, point, delta)
            return epsilon, _NONE, rho, chance
        if known is None:
            return None
        rho, chance = known  # outside its event the release is concentrated, and so has a point
        spent = amount_value(self.conversion)
        bound = math.inf if rho > _MOST else ZeroConcentrated(rho=rho).epsilon(delta=spent)
        return _NEVER if math.isinf(bound) else Fraction(bound), spent, rho, chance

    def arguments(self, amounts: Amounts) -> dict[str, object]:  # noqa: ARG002  (no amounts work)
        """Refuse, since parts that are spent apart may each fit in another way."""
        _refuse_split()

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the larger of what can be paid in epsilon and what can be paid in rho."""
        epsilon, _, rho, delta = map(amount_value, amounts)
        return _larger(epsilon, rho, delta)

    def common_loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return a pure loss, beside a delta, that fits both in epsilon and in rho."""
        epsilon, _, rho, delta = amounts
        return _common(epsilon, rho, delta)


def _both_numbers(
    loss: PrivacyLoss, point: tuple[Fraction, Fraction], delta: Fraction | None
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the epsilon of a loss, and its least known rho, outside one event; and its chance."""
    epsilon, chance = point
    rho = Pure(epsilon=epsilon).concentrated()
    if chance == 0:  # with events the two could be about different ones
        known = concentrated_price(loss, delta)
        if known is not None and known[1] == 0:
            rho = min(rho, known[0])
    return epsilon, rho, chance


def _larger(epsilon: Fraction, rho: Fraction, delta: Fraction) -> PrivacyLoss:
    if Pure(epsilon=epsilon).concentrated() <= rho:
        return with_delta(ZeroConcentrated(rho=rho), delta)
    return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)


def _common(epsilon: int, rho: int, delta: int) -> PrivacyLoss:
    """Return a loss of at most epsilon, whose half square is at most rho: its rho is no more."""
    root = math.isqrt(math.floor(2 * rho / QUANTUM))
    least, chance = amount_value(min(epsilon, root)), amount_value(delta)
    return Approximate(epsilon=least, delta=chance) if delta else Pure(epsilon=least)


def _refuse_split() -> NoReturn:
    raise WrongKind(
        what="a budget of either epsilon or rho is split.",
        why="one part could be spent in epsilon and another in rho, and together break both.",
        do="split a budget with currency='zcdp' or currency='basic'.",
    )
