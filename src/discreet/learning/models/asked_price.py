"""What a model may cost, as a person types it.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.plan.pricing.calibration import gaussian_rho


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPrice:
    """What a model may cost: epsilon with or without delta, or rho.

    >>> AskedPrice.read(epsilon="0.5", delta="1e-6", rho=None).delta
    Fraction(1, 1000000)
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def read(cls, *, epsilon: object, delta: object, rho: object) -> AskedPrice:
        """Read what a person typed; the same once for all that a fit asks."""
        try:
            return _read(epsilon, delta, rho)
        except TypeError:  # a list, say, which is refused
            return _read.__wrapped__(epsilon, delta, rho)

    @property
    def pure(self) -> bool:
        """Whether epsilon is all there is."""
        return self.rho is None and self.delta is None

    @property
    def nearly_rho(self) -> Fraction:
        """What it comes to in rho: as Gaussian noise for epsilon and delta, or as pure epsilon.

        >>> AskedPrice.read(epsilon="0.2", delta=None, rho=None).nearly_rho
        Fraction(1, 50)
        """
        if self.rho is not None or self.epsilon is None:
            return self.rho or Fraction(0)
        if self.delta is None:
            return self.epsilon**2 / 2
        return gaussian_rho(self.epsilon, self.delta)

    def document(self) -> dict[str, str | None]:
        """Return it in plain JSON."""
        fields = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: None if value is None else str(value) for name, value in fields.items()}


@lru_cache(maxsize=64, typed=True)
def _read(epsilon: object, delta: object, rho: object) -> AskedPrice:
    if (epsilon is None) == (rho is None):
        raise WrongKind(
            what="neither or both of epsilon and rho are given.",
            why="one of them says what the model costs, and two could disagree.",
            do="give epsilon=1 with delta='1e-6', say, or rho=0.1.",
        )
    chance = None if delta is None else decimal(delta, name="delta")
    if chance is not None and not 0 <= chance < 1:
        raise OutOfRange(
            what="delta is not from 0 to below 1.",
            why="it is the chance with which the promise may fail.",
            do="give delta='1e-6', say.",
        )
    read = {"epsilon": epsilon, "rho": rho}
    numbers = {k: None if v is None else decimal(v, name=k) for k, v in read.items()}
    for name, number in numbers.items():
        if number is not None and number <= 0:
            raise OutOfRange(
                what=f"{name} is not above zero.",
                why="at no price nothing can be learned.",
                do=f"give {name}=1, say.",
            )
    return AskedPrice(epsilon=numbers["epsilon"], delta=chance or None, rho=numbers["rho"])
