"""A small product of finite pairs, as one pair.

Trust: kernel.

Definition.  The outcomes of the product are the tuples of outcomes; probabilities multiply.
Outcomes with the same ratio p/q are merged, which changes neither the profile nor that of any
mixture of the two laws, since a mixture is a function of the ratio.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from discreet.loss.composition import Composition
from discreet.loss.pairs.finite import FinitePair

__all__ = ["one_finite_pair"]

_MOST: Final = 64
_ONE: Final = Fraction(1)


def one_finite_pair(composition: Composition) -> FinitePair | None:
    """Return a composition as one finite pair; None where it is not finite, or not small.

    >>> third, half = Fraction(1, 3), Fraction(1, 2)
    >>> coin = FinitePair((third, 2 * third), (half, half))
    >>> one_finite_pair(Composition(((coin, 2),))).p
    (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))
    """
    if composition.renyi is not None or not composition.pairs:
        return None
    masses: dict[Fraction | None, tuple[Fraction, Fraction]] = {Fraction(1): (_ONE, _ONE)}
    for pair, count in composition.pairs:
        if not isinstance(pair, FinitePair) or count > _MOST:
            return None
        for _ in range(count):
            masses = _times(masses, pair)
            if len(masses) > _MOST:
                return None
    both = sorted(masses.values(), reverse=True)
    return FinitePair(tuple(p for p, _ in both), tuple(q for _, q in both))


def _times(
    masses: dict[Fraction | None, tuple[Fraction, Fraction]], pair: FinitePair
) -> dict[Fraction | None, tuple[Fraction, Fraction]]:
    found: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in masses.values():
        for more, other in zip(pair.p, pair.q, strict=True):
            first, second = p * more, q * other
            if first or second:
                ratio = first / second if second else None
                old = found.get(ratio, (Fraction(0), Fraction(0)))
                found[ratio] = (old[0] + first, old[1] + second)
    return found
