"""The pair of any two laws on finitely many outcomes.

Trust: kernel.

Definition.  Outcome i has probability p[i] under P and q[i] under Q, exactly; its loss is
ln(p[i]/q[i]), infinite where q[i] = 0 < p[i].
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT
from discreet.loss.pairs.atoms import Atoms, AtomTransform
from discreet.loss.pairs.chain import chained
from discreet.loss.pairs.pair import Curve, Law

__all__ = ["FinitePair"]


@final
@dataclass(frozen=True, slots=True)
class FinitePair:
    """Two finite laws, given as exact probabilities of the same outcomes.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> FinitePair((half, half), (third, 2 * third)).reverse().p
    (Fraction(1, 3), Fraction(2, 3))
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    spread: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is not a pair of laws."""
        laws = (self.p, self.q)
        if len(self.p) != len(self.q) or any(sum(law) != 1 or min(law) < 0 for law in laws):
            raise OutOfRange(
                what="two finite laws do not match, or do not add up to one.",
                why="a loss is defined for two laws on the same outcomes.",
                do="give exact probabilities of the same outcomes, each list with sum 1.",
            )
        object.__setattr__(self, "_hash", hash(laws))

    def __hash__(self) -> int:  # kept: fractions take long to hash
        return self._hash

    def reverse(self) -> FinitePair:
        """Swap the laws."""
        return FinitePair(self.q, self.p)

    def group(self, k: int) -> FinitePair | None:
        """Chain the pair with itself, exactly."""
        return self if k == 1 else FinitePair(*chained(self.p, self.q, k))

    def cumulant(self, t: float) -> float:
        """Sum over the outcomes."""
        if not len(self.atoms().mass):
            return -math.inf
        value, error = AtomTransform(((self.atoms(), 1),)).real(np.array([t]))
        return float(value[0] + 2 * error[0])

    def log_moment(self, t: float) -> float:
        """Sum over the outcomes; infinite if a loss is."""
        return math.inf if self.infinity().high else self.cumulant(t)

    def infinity(self) -> Bracket:
        """The mass of outcomes that Q never shows."""
        mass = sum((p for p, q in zip(self.p, self.q, strict=True) if q == 0), Fraction(0))
        return Bracket(float_down(mass), float_up(mass))

    def largest(self) -> float:
        """The largest finite loss."""
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest + 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def reached(self) -> float:
        """The largest finite loss."""
        largest = float(self.atoms().losses.max(initial=-math.inf))
        return largest - 16 * UNIT * abs(largest) if math.isfinite(largest) else 0.0

    def closed(self, count: int) -> Curve | None:  # noqa: ARG002  (``corners`` knows it exactly)
        """Leave it to the corners."""
        return None

    def grain(self) -> Fraction | None:
        """The losses lie on no lattice."""
        return None

    def atoms(self) -> Atoms:
        """The finite losses."""
        return _atoms(self)

    def above(self, step: Fraction) -> Law | None:
        """Spread the atoms over the lattice."""
        return self.atoms().above(step, self.infinity().high)

    def below(self, step: Fraction) -> Law | None:
        """Move the atoms down to the lattice."""
        return self.atoms().below(step, self.infinity().low)

    @classmethod
    def bundle(cls, pairs: Sequence[tuple[Self, int]]) -> AtomTransform | None:
        """Gather the atoms; laws without a common outcome leave nothing to gather."""
        if not all(len(pair.atoms().mass) for pair, _ in pairs):
            return None
        return AtomTransform(tuple((pair.atoms(), count) for pair, count in pairs))


@functools.lru_cache(maxsize=128)
def _atoms(pair: FinitePair) -> Atoms:
    both = [(p, q) for p, q in zip(pair.p, pair.q, strict=True) if p and q]
    losses = np.array([_log_ratio(p, q) for p, q in both])
    return Atoms(losses, np.array([float(p) for p, _ in both]), None, 4 * UNIT)


def _log_ratio(p: Fraction, q: Fraction) -> float:
    """Take ln(p/q) within 8 units of its size, near one as elsewhere."""
    ratio = p / q
    if Fraction(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    shift = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return shift * math.log(2) + math.log(ratio / Fraction(2) ** shift)
