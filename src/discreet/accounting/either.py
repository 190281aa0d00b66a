"""A budget kept in two ways at once: epsilons add up, or rhos do.

Trust: kernel.

A few large questions are cheap in epsilon, many small ones in rho, and nobody knows in advance
which it will be.  Both sums are kept, and one of them has to stay within its limit.

Theorem (key ``filter-either``).  Let E, R and D' be fixed in advance, such that R-concentrated
releases are (E, D')-private.  If on every path of answers the epsilons sum to at most E or the rhos
to at most R, where answers may decide which of the two, all answers together are (E, D')-private.
    Proof.  Fix two neighbors.  delta(E) is the mean of (1 - e**(E - l))+ under P, with l the loss
    of all answers.  Where the epsilons sum to at most E, l is at most E, and nothing is added.  Now
    stop before each request that would lift the sum of rhos above R: the stopped process is
    R-concentrated (key ``filter-concentrated``), so that its mean is at most D'.  Each path whose
    rhos sum to at most R is a path of it, with the same chances and the same loss.
Events of known chance are added as ever (key ``filter-approximate``); outside them a request has to
obey both of its numbers.  What holds is the one point (E, D): not the whole curve of R, and parts
of such a budget that are spent apart may break it, one in epsilon and another in rho.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from discreet.accounting.admission import concentrated_price, point_price
from discreet.accounting.amounts import NEVER, amount_up, number
from discreet.accounting.currency import Amounts, Currency, beside
from discreet.errors import WrongKind
from discreet.loss import Approximate, PrivacyLoss, Pure, ZeroConcentrated

__all__ = ["Either"]


@final
@dataclass(frozen=True, slots=True)
class Either(Currency):
    """Epsilons and rhos, of which one has to fit (key ``filter-either``).

    >>> Either().fits((3, 1, 0), (2, 2, 0)), Either().fits((3, 3, 0), (2, 2, 0))
    (True, False)
    """

    name: ClassVar[str] = "either"

    @property
    def components(self) -> tuple[str, ...]:
        """Epsilon, rho and delta."""
        return ("epsilon", "rho", "delta")

    def price(self, loss: PrivacyLoss, delta: Fraction | None = None) -> Amounts | None:
        """Return epsilon and rho outside one event, and the chance of that event."""
        point = point_price(loss, delta)
        if point is None:
            known = concentrated_price(loss, delta)
            return None if known is None else (NEVER, amount_up(known[0]), amount_up(known[1]))
        epsilon, chance = point
        rho = Pure(epsilon=epsilon).concentrated()
        if chance == 0:  # with events the two could be about different ones
            known = concentrated_price(loss, delta)
            if known is not None and known[1] == 0:
                rho = min(rho, known[0])
        return amount_up(epsilon), amount_up(rho), amount_up(chance)

    def arguments(self, amounts: Amounts) -> dict[str, object]:  # noqa: ARG002  (no amounts work)
        """Refuse, since parts that are spent apart may each fit in another way."""
        raise WrongKind(
            what="a budget of either epsilon or rho is split.",
            why="one part could be spent in epsilon and another in rho, and together break both.",
            do="split a budget with currency='zcdp' or currency='basic'.",
        )

    def loss(self, amounts: Amounts) -> PrivacyLoss:
        """Return the larger of what can be paid in epsilon and what can be paid in rho."""
        epsilon, rho, delta = map(number, amounts)
        if Pure(epsilon=epsilon).concentrated() <= rho:
            return beside(ZeroConcentrated(rho=rho), delta)
        return Approximate(epsilon=epsilon, delta=delta) if delta else Pure(epsilon=epsilon)

    def fits(self, total: Amounts, limit: Amounts) -> bool:
        """Say whether delta fits, and one of the others."""
        epsilon, rho, delta = (a <= b for a, b in zip(total, limit, strict=True))
        return delta and (epsilon or rho)
