"""Products of pairs: taken apart, and exact where all laws are finite.

Trust: kernel.

Definition.  Let r_0 > r_1 > ... be the finite ratios p/q of the outcomes of a product, equal ones
merged, and P_j, Q_j the masses of the outcomes with the j largest ratios.  With a = e**eps, the
finite part of the profile is P_j - a Q_j for r_j <= a <= r_{j-1}: straight between its corners.

Theorem (key ``dominating-pair``).  Ratios of a product multiply, and the profile is the largest of
the lines P_i - a Q_i.  Masses are kept between integers over 2**bits, to 256 bits of the smallest
of them; ratios are exact (docs/proofs/accounting.md, section 3).

Definition.  A leak is a pair whose loss is infinite with chance delta and zero otherwise.  Beside a
leak the finite part of any profile is (1 - delta) times what it is without, and the mass of
infinite losses is known; so leaks need no engine.  All Gaussians are one.  Some pairs are products
themselves and name their factors.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import neg
from typing import Final, Self, final

from discreet.exact import float_down, float_up
from discreet.loss.bracket import Bracket
from discreet.loss.elementary import exp, log
from discreet.loss.pairs.pair import Counted, NormalPair, Pair, is_normal

_SPARE: Final = 256  # bits kept of the smallest mass
_MOST_PRODUCTS: Final = 1 << 13  # products of atoms that are worth forming
_WIDEST: Final = 1 << 14  # bits of their common denominator


@final
@dataclass(frozen=True, slots=True)
class FiniteProfile:
    """A profile whose finite part has finitely many corners in e**eps."""

    infinite: Fraction
    ratios: tuple[Fraction, ...]
    least: tuple[tuple[int, int], ...]  # (P_j, Q_j), times 2**bits, rounded down
    most: tuple[tuple[int, int], ...]  # the same rounded up
    bits: int

    @classmethod
    def of(cls, infinite: Fraction, masses: dict[Fraction, Fraction]) -> Self:
        """Sort the ratios and add up the masses under both laws."""
        ratios = sorted(masses, reverse=True)
        both = [(masses[ratio], masses[ratio] / ratio) for ratio in ratios]
        bits = _SPARE + max((_smallness(mass) for pair in both for mass in pair), default=0)
        floors = [tuple((m.numerator << bits) // m.denominator for m in pair) for pair in both]
        ceilings = [tuple(-(-(m.numerator << bits) // m.denominator) for m in p) for p in both]
        return cls(infinite, tuple(ratios), _summed(floors), _summed(ceilings), bits)

    def _low(self, odds: Fraction) -> Fraction:
        """Bound the finite part at e**eps from below."""
        j = bisect_left(self.ratios, -odds, key=neg)
        return max(self._line(self.least[j][0], self.most[j][1], odds), Fraction(0))

    def _high(self, odds: Fraction) -> Fraction:
        """Bound the finite part at e**eps from above."""
        j = bisect_left(self.ratios, -odds, key=neg)
        return self._line(self.most[j][0], self.least[j][1], odds)

    def _line(self, p: int, q: int, odds: Fraction) -> Fraction:
        top, bottom = odds.numerator, odds.denominator
        return Fraction(p * bottom - q * top, bottom << self.bits)

    def delta(self, eps: float) -> Bracket:
        """Enclose the profile at eps >= 0."""
        low = high = self.infinite
        if self.ratios and eps < math.ceil(self.ratios[0]).bit_length():  # else above all ratios
            odds = exp(Fraction(eps))
            low, high = low + self._low(odds.high), high + self._high(odds.low)
        return Bracket.within(float_down(low), float_up(high), ceil=1.0)

    def epsilon(self, delta: Fraction) -> Bracket:
        """Enclose the smallest eps >= 0 with a profile of at most delta."""
        left = delta - self.infinite
        if left < 0:
            return Bracket(math.inf, math.inf)
        if self._high(Fraction(1)) <= left:
            return Bracket(0.0, 0.0)
        places = range(len(self.ratios))
        j = bisect_right(places, left, key=lambda i: self._high(self.ratios[i]))
        (p, q), (above, wide) = self.least[j], self.most[j]
        scaled = left * (1 << self.bits)
        low, high = (p - scaled) / wide, min((above - scaled) / q, self.ratios[j - 1])
        return Bracket(_log_down(low), _log_up(high))


def _smallness(mass: Fraction) -> int:
    return mass.denominator.bit_length() - mass.numerator.bit_length()


def _summed(masses: Iterable[tuple[int, ...]]) -> tuple[tuple[int, int], ...]:
    return tuple(accumulate(masses, lambda s, m: (s[0] + m[0], s[1] + m[1]), initial=(0, 0)))


def _log_down(odds: Fraction) -> float:
    short = Fraction(math.floor(odds * (1 << _SPARE)), 1 << _SPARE)
    return max(0.0, float_down(log(short).low)) if short > 1 else 0.0


def _log_up(odds: Fraction) -> float:
    short = Fraction(math.ceil(odds * (1 << _SPARE)), 1 << _SPARE)
    return max(0.0, float_up(log(short).high))


@functools.lru_cache(maxsize=128)
def finite_profile(pairs: Counted) -> FiniteProfile | None:
    """Work out one pair of finite laws, or a small product; None for anything else."""
    tables = []
    for pair, count in pairs:
        table = pair.ratios()
        if table is None:
            return None
        tables.append((table, count))
    if not tables:
        return None
    if sum(count for _, count in tables) == 1:
        masses: dict[Fraction, Fraction] | None = tables[0][0]
    else:
        masses = _product(tables)
    if masses is None:
        return None
    kept = Fraction(1)
    for table, count in tables:
        kept *= sum(table.values(), Fraction(0)) ** count
    return FiniteProfile.of(1 - kept, masses)


def _product(
    tables: Iterable[tuple[dict[Fraction, Fraction], int]],
) -> dict[Fraction, Fraction] | None:
    """Multiply the tables out, merging equal ratios; None where that is too much work."""
    masses, unit, work = {Fraction(1): 1}, 1, 0
    for table, count in tables:
        own = math.lcm(*(mass.denominator for mass in table.values()))
        if count * max(own.bit_length(), len(table)) > _WIDEST:
            return None
        atoms = [(ratio, int(mass * own)) for ratio, mass in table.items()]
        for _ in range(count):
            work, unit = work + len(masses) * len(atoms), unit * own
            if work > _MOST_PRODUCTS or unit.bit_length() > _WIDEST:
                return None
            fresh: dict[Fraction, int] = {}
            for ratio, mass in masses.items():
                for factor, share in atoms:
                    key = ratio * factor
                    fresh[key] = fresh.get(key, 0) + mass * share
            masses = fresh
    return {ratio: Fraction(mass, unit) for ratio, mass in masses.items()}


@final
@dataclass(frozen=True, slots=True)
class SplitProduct:
    """A product as engines want it: at most one Gaussian, in the last place, and leaks apart."""

    pairs: Counted
    leaks: Counted


def split_product(pairs: Iterable[tuple[Pair, int]]) -> SplitProduct:
    """Take a product apart."""
    rest: list[tuple[Pair, int]] = []
    leaks: list[tuple[Pair, int]] = []
    normal: NormalPair | None = None
    for pair, count in pairs:
        for part in pair.factors():
            if is_normal(part):
                repeated = part.times(count)
                normal = repeated if normal is None else normal.compose(repeated)
            elif part.exact_infinity() is not None and part.largest() == 0:
                leaks.append((part, count))
            else:
                rest.append((part, count))
    gaussian = ((normal, 1),) if normal is not None and normal.mu_squared else ()
    return SplitProduct((*rest, *gaussian), tuple(leaks))
