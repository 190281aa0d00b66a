"""Prices that protect hardly anybody are paid only by those who confirm them.

Trust: kernel.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from discreet.errors import NotAllowed

if TYPE_CHECKING:  # handed in
    from discreet.plan.policy.policy import Limits
    from discreet.plan.pricing.calibration import Price

UNCONFIRMED: Final = 10
"""The largest epsilon, or rho where there is no epsilon, that is paid without being confirmed."""
_SHOWN: Final = Fraction(10**200)


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
            why="such an answer tells almost exactly who is in the data; mostly a point is missing "
            "from the number.",
            do=do
            or f"ask with a smaller {currency}; or, if it is meant, with confirm=True (--confirm), "
            f"or have the owner write max_{currency}_per_question into the policy.",
        )
