"""Pairs that stand for releases of which a Rényi curve is known as well.

Trust: kernel.

Theorem (key ``two-bounds``).  Let each step of an adaptive composition, whatever was seen before,
be dominated by its pair and, both ways, have Rényi divergences below its curve.  Then for every
choice of steps the profile of the whole is at most what the curves of those steps and the pairs of
the others allow together.  So the least of these bounds holds, at each epsilon and each delta.
Proof.  Each choice names one bound that every step satisfies after every prefix, which is all that
the composition of pairs and curves asks for (docs/proofs/accounting.md, section 10).

A pair and a curve together say more about one release than either alone, and no single pair says
the same.  From below only a pair that satisfies both bounds can serve.
"""

from __future__ import annotations

import functools
from typing import Protocol, TypeGuard

from discreet.loss.pairs.pair import Pair
from discreet.loss.renyi.curve import RenyiCurve

__all__ = ["TwoBounds", "knows_curve"]


class TwoBounds(Pair, Protocol):
    """A pair that knows a curve of the releases it stands for."""

    def curve(self) -> RenyiCurve:
        """Bound the divergences of the releases in both directions."""
        ...

    def gain(self, t: float) -> float:
        """Estimate how far t D_(1+t) of the curve lies below that of the pair; only a hint."""
        ...

    def attained(self) -> Pair:
        """Give a pair, symmetric and no larger than either bound, for ends from below."""
        ...


def knows_curve(pair: Pair) -> TypeGuard[TwoBounds]:
    """Say whether a pair knows a curve of its releases.

    >>> from fractions import Fraction
    >>> from discreet.loss.pairs.gaussian import GaussianPair
    >>> knows_curve(GaussianPair(Fraction(1)))
    False
    """
    return _kind_knows(type(pair))


@functools.cache
def _kind_knows(kind: type) -> bool:
    return all(hasattr(kind, name) for name in ("curve", "gain", "attained"))
