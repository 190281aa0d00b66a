"""How much noise a promise needs, and how many questions it allows.

Trust: kernel.

Definition.  A family of losses indexed by a scale > 0 shrinks as the scale grows.  ``least_scale``
returns a dyadic rational at which the certified delta(epsilon) is at most the target; the next
smaller one on the same grid of ``bits`` significant bits was tried and not certified.
``most_repeats`` returns the largest certified number of repetitions, found in the same way.
A search only proposes: the returned value was itself found to fit, and the one before it not.  How
the two were found (secants on floats, with bisection if they are slow) and whether the family is
monotone matter for speed alone (docs/proofs/accounting.md, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange
from discreet.exact import positive, whole
from discreet.loss.notions import GaussianDP
from discreet.loss.parameters import checked_count, checked_delta, checked_epsilon
from discreet.loss.privacy_loss import PrivacyLoss
from discreet.loss.profile import Profile
from discreet.loss.pure_pairs import LaplacePair

_DOUBLINGS: Final = 200

Point = tuple[int, float]
"""An index and the excess there: at most zero if the scale fits."""


@final
@dataclass(frozen=True, slots=True)
class _Grid:
    """All positive dyadic rationals of ``bits`` significant bits, numbered in order from 1."""

    bits: int

    @property
    def octave(self) -> int:
        return 1 << (self.bits - 1)

    def scale(self, index: int) -> Fraction:
        power, place = divmod(index, self.octave)
        return Fraction(self.octave + place, self.octave) * Fraction(2) ** power

    def near(self, index: int) -> float:
        """Return the float next to the number of an index: the number itself, up to 53 bits."""
        power, place = divmod(index, self.octave)
        return math.ldexp(self.octave + place, power - self.bits + 1)

    def index(self, scale: float) -> int:
        """Return the index of the least number from a scale on; no float is rounded here."""
        mantissa, power = math.frexp(scale)
        return self.octave * (power - 1) + math.ceil((2 * mantissa - 1) * self.octave)


def least_fitting(
    excess: Callable[[Fraction], float], bits: int, *, guess: float | None = None
) -> Fraction:
    """Return a scale with an excess of at most zero, where the next smaller one has more."""
    grid = _Grid(whole(bits, name="bits", low=4, high=60))
    start = 0 if guess is None else grid.index(guess)
    step = grid.octave if guess is None else max(grid.octave >> 6, 1)
    return grid.scale(_least_index(grid, lambda at: (at, excess(grid.scale(at))), start, step))


def _least_index(grid: _Grid, point_at: Callable[[int], Point], start: int, step: int) -> int:
    low, top = _bracket(point_at, start, step, _DOUBLINGS * grid.octave)
    stays, width, turn = 0, top[0] - low[0], 0  # stays: how often the same end stayed, signed
    while top[0] - low[0] > 1:
        turn += 1
        slow = turn % 4 == 0 and 8 * (top[0] - low[0]) > width
        width = top[0] - low[0] if turn % 4 == 0 else width
        here = point_at((low[0] + top[0]) // 2 if slow else _crossing(grid, low, top))
        if here[1] <= 0:
            stays, top = max(stays, 0) + 1, here
            low = (low[0], low[1] / 2) if stays > 1 else low  # an end that stays counts less
        else:
            stays, low = min(stays, 0) - 1, here
            top = (top[0], top[1] / 2) if stays < -1 else top
    return top[0]


def _crossing(grid: _Grid, low: Point, top: Point) -> int:
    """Propose the zero of the line through two points, or the middle."""
    if math.isinf(low[1]) or math.isinf(top[1]):
        return (low[0] + top[0]) // 2
    left, right = grid.near(low[0]), grid.near(top[0])
    share = low[1] / (low[1] - top[1])
    return min(max(grid.index(left + share * (right - left)), low[0] + 1), top[0] - 1)


def _bracket(
    point_at: Callable[[int], Point], start: int, step: int, reach: int
) -> tuple[Point, Point]:
    """Go down from the start to a scale that does not fit, or up to one that does."""
    here = point_at(start)
    fits = here[1] <= 0
    while abs(here[0]) <= reach:
        there = point_at(here[0] - step if fits else here[0] + step)
        if (there[1] <= 0) != fits:
            return (there, here) if fits else (here, there)
        here, step = there, 2 * step
    raise OutOfRange(
        "no scale between 2**-200 and 2**200 meets the target; allow delta > 0 for Gaussian "
        "noise, or raise epsilon."
    )


_LEAST_EXCESS: Final = 2.0**-60
_MOST_REPEATS: Final = 10**9
_TRIED_FIRST: Final = 1024
"""Many repeats of a sampled release are composed faster than a few, so that those come last."""


def least_scale(
    loss_at: Callable[[Fraction], PrivacyLoss],
    *,
    epsilon: object,
    delta: object = 0,
    bits: int = 24,
) -> Fraction:
    """Return the least scale, to this many significant bits, whose loss fits the target.

    >>> float(least_scale(lambda s: GaussianDP(mu=1 / s), epsilon=1, delta=1e-6))
    4.224678993225098
    """
    target, chance = checked_epsilon(epsilon), checked_delta(delta)
    return least_fitting(lambda scale: _excess(loss_at(scale), target, chance), bits)


def _excess(loss: PrivacyLoss, epsilon: Fraction, delta: Fraction) -> float:
    """Compare a loss with the target: at most zero if and only if it is certified to fit.

    Otherwise the size is only a hint: the root of ln(1/delta) is nearly linear in the scale.
    """
    largest = loss.pure_bound()
    if largest is not None and largest <= epsilon:
        return -math.inf
    chance = loss.delta(epsilon=epsilon) if delta else 1.0
    if not chance or not delta:
        return math.inf if chance else -math.inf
    target = math.log(delta.denominator) - math.log(delta.numerator)
    gap = math.sqrt(target) - math.sqrt(max(0.0, -math.log(chance)))
    return min(gap, 0.0) if chance <= delta else max(gap, _LEAST_EXCESS)


def laplace_scale(
    *, epsilon: object, delta: object = 0, count: int = 1, distance: object = 1
) -> Fraction:
    """Return the least scale of Laplace noise for this many answers at an L1 distance.

    At delta 0 it is exactly count * distance / epsilon.

    >>> laplace_scale(epsilon="0.1", distance=5)
    Fraction(50, 1)
    """
    times, far = checked_count(count), positive(distance, name="distance")
    target, chance = checked_epsilon(epsilon), checked_delta(delta)
    if chance == 0:
        return times * far / positive(target, name="epsilon")
    return least_scale(
        lambda scale: Profile.of(LaplacePair(far / scale)).power(times),
        epsilon=target,
        delta=chance,
    )


def gaussian_sigma(
    *, epsilon: object, delta: object, count: int = 1, distance: object = 1
) -> Fraction:
    """Return the least standard deviation for this many answers at an L2 distance.

    It is that of continuous noise, as in papers.  Noise on integers, the noise that runs here, has
    another curve: ``discreet.mechanisms.discrete_gaussian_sigma`` is for that.

    >>> float(gaussian_sigma(epsilon=1, delta=1e-6))
    4.224678993225098
    """
    times, far = checked_count(count), positive(distance, name="distance")
    if checked_delta(delta) == 0:
        raise OutOfRange("delta is 0; give delta > 0, or use Laplace noise.")
    return least_scale(
        lambda sigma: GaussianDP(mu_squared=times * (far / sigma) ** 2),
        epsilon=epsilon,
        delta=delta,
    )


def most_repeats(loss: PrivacyLoss, *, epsilon: object, delta: object = 0) -> int:
    """Return how often a release may be repeated within (epsilon, delta); at most 10**9 times.

    >>> from discreet.loss import Pure
    >>> most_repeats(Pure(epsilon="0.1"), epsilon=1)
    10
    >>> most_repeats(Pure(epsilon="0.01"), epsilon=1, delta=1e-6) > 400
    True
    """
    target, chance = checked_epsilon(epsilon), checked_delta(delta)

    def fits(count: int) -> bool:
        return _excess(loss.power(count), target, chance) <= 0

    low, high = 0, _TRIED_FIRST
    while fits(high):
        if high >= _MOST_REPEATS:
            return _MOST_REPEATS
        low, high = high, min(2 * high, _MOST_REPEATS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
