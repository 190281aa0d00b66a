"""Few losses, one by one: exact products of atoms, beside one profile that is known everywhere.

Trust: kernel.

Theorem (key ``few-losses``).  Let a product have two independent parts, the first with finite
losses x_i of masses p_i.  Its finite profile is sum_i p_i D(eps - x_i), where D is the finite
profile of the second, at real arguments.  If the second part is a list too, with losses y_j of
masses q_j in rising order, then for y_{k-1} <= e < y_k and g = y_k - e
D(e) = N_k + (1 - e**-g) F_k, where F_k is the sum of q_j e**(y_k - y_j) and N_k that of
q_j (1 - e**(y_k - y_j)), over j >= k.
Proof.  Condition on the first loss.  1 - e**(e - y_j) = (1 - e**(y_k - y_j)) + e**(y_k - y_j)
(1 - e**-g), and losses up to e do not count.

F_k = q_k + e**(y_k - y_{k+1}) F_{k+1} and N_k = N_{k+1} + (1 - e**(y_k - y_{k+1})) F_{k+1}: every
term is at least zero, so nothing cancels, and n atoms on each side stand for n**2 losses.  How
lists bound a profile from both sides: docs/proofs/accounting.md, section 14.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self, final

import numpy as np

from discreet.loss.bracket import Bracket
from discreet.loss.engine.rounding import UNIT, bound_above, bound_below
from discreet.loss.pairs.distribution import Floats, LossList
from discreet.loss.pairs.pair import Counted, Pair, knows_finite_parts

_MOST_FIRST: Final = 1 << 15
_MOST_SECOND: Final = 1 << 13
_FARTHEST: Final = 100.0
_UNSURE: Final = 1e-13  # of a chance
_NEGLIGIBLE: Final = 1e-12  # of a delta: so much may be missing
_FAINT: Final = 1e-40  # masses whose share of a delta is lost in rounding, unless it is tiny
_CELLS: Final = 1 << 11  # into which losses that are not listed are spread

Ends = tuple[Floats, Floats]
"""Bounds at many points, from below and from above."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Suffixes:
    """A list with the sums N and F from each loss on; after the last one, nothing."""

    losses: Floats
    near: Floats
    far: Floats
    relative: float

    @classmethod
    def of(cls, atoms: LossList) -> Self:
        """Add up from the largest loss down.  A step of F errs by 20 units, one of N by 40."""
        steps = np.append(np.diff(atoms.losses), math.inf)
        decay, share = np.exp(-steps).tolist(), (-np.expm1(-steps)).tolist()
        near, far = [0.0], [0.0]
        for mass, stay, move in zip(
            reversed(atoms.mass.tolist()), reversed(decay), reversed(share), strict=True
        ):
            near.append(near[-1] + move * far[-1])
            far.append(mass + stay * far[-1])
        relative = UNIT * 64 * (len(near) + 4)
        losses = np.append(atoms.losses, math.inf)
        return cls(losses, np.array(near[::-1]), np.array(far[::-1]), relative)

    def at(self, eps: Floats) -> Ends:
        """Bound D at many points, for the listed masses and places."""
        k = np.searchsorted(self.losses[:-1], eps, side="right")
        value = self.near[k] + -np.expm1(eps - self.losses[k]) * self.far[k]
        return value * (1 - self.relative), value * (1 + self.relative)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Enumeration:
    """A list of losses beside a profile: that of another list, or of one pair."""

    first: LossList
    second: Callable[[Floats], Ends]
    error: float
    drift: float
    missing: float
    reach: float

    @classmethod
    def of_lists(cls, first: LossList, second: LossList) -> Self:
        """Multiply two lists."""
        error = (first.error + second.error) * (1 + first.error)
        reach = max(float(np.abs(x).max(initial=0.0)) for x in (first.losses, second.losses))
        drift, missing = first.drift + second.drift, first.missing + second.missing
        return cls(first, _Suffixes.of(second).at, error, drift, missing, reach)

    @classmethod
    def beside(cls, first: LossList, second: Callable[[Floats], Ends]) -> Self:
        """Multiply a list with a profile."""
        reach = float(np.abs(first.losses).max(initial=0.0))
        return cls(first, second, first.error, first.drift, first.missing, reach)

    def complete(self, delta: float) -> bool:
        """Say whether what is not on the lists hardly counts at a delta."""
        return self.missing <= _NEGLIGIBLE * delta

    def upper(self, eps: float) -> float:
        """Bound the finite profile at eps >= 0 from above."""
        value = self._total(eps - self._moved(eps), above=True)
        return bound_above(value + self.missing * (1 + 4 * UNIT))

    def lower(self, eps: float) -> float:
        """Bound the finite profile at eps >= 0 from below."""
        return bound_below(self._total(eps + self._moved(eps), above=False))

    def delta(self, eps: float, *, low: bool = True) -> Bracket:
        """Enclose the finite profile at eps >= 0; without ``low``, from above."""
        high = min(self.upper(eps), 1.0)
        return Bracket(min(self.lower(eps), high) if low else 0.0, high)

    def _moved(self, eps: float) -> float:
        """How far the losses may be off, and their distances to eps when rounded."""
        return (self.drift + 8 * UNIT * (self.reach + abs(eps))) * (1 + 8 * UNIT)

    def _total(self, eps: float, *, above: bool) -> float:
        mass, losses = self.first.mass, self.first.losses
        heavy = mass > _FAINT
        value = np.full(len(mass), float(above))  # what no profile exceeds, or falls below
        value[heavy] = self.second(eps - losses[heavy])[above]
        total = float((mass * value).sum())
        if len(mass) * _FAINT > total * UNIT:  # faint masses may count
            total = float((mass * self.second(eps - losses)[above]).sum())
        slack = (self.error + UNIT * (len(mass) + 16)) * (1 + 8 * UNIT)
        return total * (1 + slack if above else 1 - slack)


@functools.lru_cache(maxsize=128)
def enumeration(pairs: Counted) -> Enumeration | None:
    """List the losses of a product, all or all but those of one pair; None if they are many."""
    lists: list[LossList] = []
    rest = None
    for pair, count in pairs:
        atoms = pair.listed()
        powers = None if atoms is None else atoms.power(count)
        if powers is not None:
            lists.append(powers)
        elif rest is None and count == 1 and knows_finite_parts(pair):
            rest = pair
        else:
            return None
    if not lists:
        return None
    lists.sort(key=lambda each: len(each.mass))
    if rest is not None:
        first = _product(lists, _MOST_FIRST)
        return None if first is None else Enumeration.beside(first, rest.finite_parts)  # type: ignore[arg-type]  # asked above
    halves = _halves(lists)
    return None if halves is None else Enumeration.of_lists(*halves)


def beside_curve(pairs: Counted, curve: Callable[[Floats], Ends]) -> Enumeration | None:
    """Multiply what a curve allows with a product, from above alone; None if losses are many.

    Losses without a list are spread over a lattice of their own (key ``connect-the-dots``).
    """
    lists = []
    for pair, count in pairs:
        atoms = pair.listed()
        powers = None if atoms is None else atoms.power(count)
        powers = _spread(pair, count) if powers is None else powers
        if powers is None:
            return None
        lists.append(powers)
    first = _product(sorted(lists, key=lambda each: len(each.mass)), _MOST_FIRST)
    return None if first is None else Enumeration.beside(first, curve)


def _spread(pair: Pair, count: int) -> LossList | None:
    """Bound the losses of one run from above by a list."""
    reach = pair.largest()
    if count > 1 or not 0 < reach < _FARTHEST or pair.infinity().high:
        return None
    law = pair.above(Fraction(reach) * 2 / _CELLS)
    if law is None:
        return None
    losses = (law.start + np.arange(len(law.mass))) * (reach * 2 / _CELLS)
    drift = law.drift + 8 * UNIT * float(np.abs(losses).max())
    return LossList(losses, law.mass, 8 * UNIT, drift, law.infinite)


_NOTHING: Final = LossList(np.zeros(1), np.ones(1), 0.0)


def _joined(one: LossList, other: LossList) -> LossList | None:
    return other if one is _NOTHING else one.times(other)


def _product(lists: Sequence[LossList], most: int) -> LossList | None:
    total: LossList | None = _NOTHING
    for each in lists:
        total = None if total is None else _joined(total, each)
    return total if total is not None and len(total.mass) <= most else None


def _halves(lists: list[LossList]) -> tuple[LossList, LossList] | None:
    """Share lists out between two products of about the same length."""
    first: LossList | None = _NOTHING
    second: LossList | None = _NOTHING
    for each in reversed(lists):  # the longest first
        if first is None or second is None:
            return None
        if len(first.mass) < len(second.mass):
            first = _joined(first, each)
        else:
            second = _joined(second, each)
    if first is None or second is None:
        return None
    if len(second.mass) > _MOST_SECOND:
        first, second = second, first
    fits = len(first.mass) <= _MOST_FIRST and len(second.mass) <= _MOST_SECOND
    return (first, second) if fits else None


def listed_product(pairs: Counted) -> LossList | None:
    """List the losses of a product; None where they are many.

    >>> from discreet.loss.pairs.randomized_response import ResponsePair
    >>> listed_product(((ResponsePair(Fraction(1)), 2),)).losses.tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    lists = []
    for pair, count in pairs:
        atoms = pair.listed()
        powers = None if atoms is None else atoms.power(count)
        if powers is None:
            return None
        lists.append(powers)
    return _product(sorted(lists, key=lambda each: len(each.mass)), _MOST_SECOND)


def sampled_list(
    rate: Fraction, forward: LossList | None, backward: LossList, never: Bracket
) -> LossList | None:
    """List the losses of a Poisson sample, from those of the inner pair (P, Q) and of (Q, P).

    Removal draws from P with chance q and else from Q, and loses ln(1 - q + q e**x) where P
    loses x to Q; ``forward`` lists P.  Addition (without ``forward``) draws from Q and loses the
    negative of that.  ``never`` is the chance under Q of what P never shows: x is minus infinity.
    The map has a slope of at most 1 in x, so drifts hold; its argument errs by 24 units, which
    count 1/(1 - q) times at most.
    """
    q = float(rate)
    if not 1e-12 < q < 1 - 1e-6 or never.width > _UNSURE * never.high:
        return None
    share = 1.0 if forward is None else 1 - q
    parts = [(-backward.losses, backward.mass * share)]
    if forward is not None:
        parts.append((forward.losses, forward.mass * q))
    if never.high:
        parts.append((np.array([-math.inf]), np.array([never.high * share])))
    inner, mass = (np.concatenate(each) for each in zip(*parts, strict=True))
    losses = _sampled_losses(q, inner)
    lists = [backward] if forward is None else [forward, backward]
    error = max(_UNSURE if never.high else 0.0, *(each.error for each in lists)) + 16 * UNIT
    drift = max(each.drift for each in lists)
    drift += UNIT * (32 / (1 - q) + 32 * float(np.abs(losses).max()))
    missing = sum(each.missing for each in lists) * (1 + 4 * UNIT)
    return LossList.merged(
        -losses if forward is None else losses, mass, error=error, drift=drift, missing=missing
    )


def _sampled_losses(q: float, inner: Floats) -> Floats:
    """Evaluate ln(1 - q + q e**x)."""
    small = np.log1p(q * np.expm1(np.minimum(inner, 30.0)))
    with np.errstate(over="ignore"):
        large = inner + np.log(q + (1 - q) * np.exp(-np.maximum(inner, 30.0)))
    return np.where(inner > 30.0, large, small)
