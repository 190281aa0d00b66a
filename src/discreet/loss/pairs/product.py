"""Take a product apart: all Gaussians in one, and leaks away from what is lost gradually.

Trust: kernel.

Definition.  A leak is a pair whose loss is infinite with chance delta and zero otherwise.  Beside a
leak the finite part of any profile is (1 - delta) times what it is without, and the mass of
infinite losses is known; so leaks need no engine.  Some pairs are products themselves and say of
which parts.

Theorem key: ``dominating-pair``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeGuard, final, runtime_checkable

from discreet.loss.pairs.gaussian import GaussianPair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.response import ResponsePair

__all__ = ["Opened", "Parted", "opened"]

Counted = tuple[tuple[Pair, int], ...]


@runtime_checkable
class Parted(Protocol):
    """A pair that is a product of simpler ones, or dominated by one."""

    def factors(self) -> tuple[Pair, ...]:
        """Name the factors; none of them is a product again."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A product as engines want it: at most one Gaussian, in the last place, and leaks apart."""

    pairs: Counted
    leaks: Counted


def opened(pairs: Iterable[tuple[Pair, int]]) -> Opened:
    """Take a product apart.

    >>> leak = ResponsePair(Fraction(0), Fraction(1, 100))
    >>> opened([(GaussianPair(Fraction(1)), 2), (leak, 3)]).pairs
    ((GaussianPair(mu_squared=Fraction(2, 1)), 1),)
    """
    rest: list[tuple[Pair, int]] = []
    leaks: list[tuple[Pair, int]] = []
    square = Fraction(0)
    for pair, count in pairs:
        for part in pair.factors() if _parted(pair) else (pair,):
            match part:
                case GaussianPair(mu_squared=own):
                    square += own * count
                case ResponsePair(epsilon=0):
                    leaks.append((part, count))
                case _:
                    rest.append((part, count))
    gaussian = ((GaussianPair(square), 1),) if square else ()
    return Opened((*rest, *gaussian), tuple(leaks))


def _parted(pair: Pair) -> TypeGuard[Parted]:
    return _has_factors(type(pair))


@functools.cache
def _has_factors(kind: type) -> bool:
    return issubclass(kind, Parted)
