"""The least noise for a promise: sigma of a training run from (epsilon, delta).

Trust: public.  A wrong sigma is priced as it is, and a plan shows that price.

The search runs on continuous Gaussians, whose price takes milliseconds.  Noise on a grid is below
such a Gaussian (key ``gaussian-smoothing``), so the variance that the grid and the distance with
its slack need follows from a formula; one price of the whole tree then certifies it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from discreet.accounting import Node
from discreet.accounting.parts_and_samples import dp_sgd_sigma
from discreet.errors import OutOfRange
from discreet.exact import float_up, positive
from discreet.learning.run_tree import statement_of
from discreet.loss import gaussian_sigma
from discreet.loss.gaussian import smoothing
from discreet.loss.parameters import checked_count, checked_delta, checked_epsilon, checked_rate
from discreet.units import PrivacyUnit

_BITS: Final = 22
_TRIES: Final = 24


def calibrated_sigma(  # noqa: PLR0913  a promise, and the run that it is about
    *,
    rate: object,
    steps: int,
    epsilon: object,
    delta: object,
    squared: int,
    step: Fraction,
    coordinates: int,
    tree: Callable[[Fraction], Node],
    unit: PrivacyUnit,
    overflow: Fraction = Fraction(0),
) -> Fraction:
    """Return a sigma, in the units of the sum, at which the whole tree keeps the promise.

    Args:
        rate: the chance with which a unit enters a sample.
        steps: how many sums are released.
        epsilon: what may be lost.
        delta: with this chance, more.
        squared: the squared distance of two sums, in steps of the grid.
        step: the step of the grid.
        coordinates: how many numbers a sum has.
        tree: the composition, for a sigma in the units of the sum.
        unit: who is protected, under which relation.
        overflow: the part of delta that is spent on batches above their cap.
    """
    chance = checked_delta(delta)
    target = positive(checked_epsilon(epsilon), name="epsilon")
    rest = chance - (2 if unit.relation.replaces else 1) * overflow
    if rest <= 0:
        raise OutOfRange(
            what="delta is used up by the chance that a batch exceeds its cap.",
            why="Gaussian noise needs a delta above 0.",
            do="give a larger delta, or a larger cap.",
        )
    multiplier = noise_multiplier(rate=rate, steps=steps, epsilon=target, delta=rest, unit=unit)
    sigma = _on_grid(multiplier, squared, step, smoothing(min(coordinates, squared)))
    for _ in range(_TRIES):
        if statement_of(tree(sigma), unit).delta(epsilon=target) <= chance:
            return sigma
        sigma = _rounded_up(sigma * Fraction(1 + 2**-16))
    raise OutOfRange(
        what="no noise near that of a continuous Gaussian keeps the promise.",
        why="what the grid and rounding add to the distance is too much of it.",
        do="raise epsilon or delta, or take fewer steps.",
    )


def noise_multiplier(
    *, rate: object, steps: int, epsilon: object, delta: object, unit: PrivacyUnit
) -> Fraction:
    """Return the least noise of a run, over the distance of two sums, on continuous Gaussians.

    Replacing a unit removes one and adds another; it is searched for at half of epsilon and then
    certified by the tree, which finds what is really lost.

    >>> from discreet.units import row
    >>> args = dict(rate=Fraction(4096, 50000), steps=875, epsilon=1, delta=1e-5)
    >>> round(float(noise_multiplier(**args, unit=row())), 4)
    9.119
    """
    times, chance = checked_count(steps, name="steps"), checked_rate(rate)
    goal = positive(checked_epsilon(epsilon), name="epsilon")
    if chance == 1:
        far = 2 if unit.relation.replaces else 1
        return gaussian_sigma(epsilon=goal, delta=delta, count=times, distance=far)
    if unit.relation.replaces:
        goal /= 2
    return dp_sgd_sigma(rate=chance, steps=times, epsilon=goal, delta=delta)


def _on_grid(multiplier: Fraction, squared: int, step: Fraction, lost: Fraction) -> Fraction:
    """Return a sigma with sigma**2 / step**2 >= multiplier**2 * squared + lost, just above."""
    variance = (multiplier**2 * squared + lost) * step**2
    return _rounded_up(Fraction(float_up(variance)), root=True)


def _rounded_up(value: Fraction, *, root: bool = False) -> Fraction:
    """Round up to a few significant bits, so that it prints and digests as a short number."""
    size = math.sqrt(value) if root else float(value)
    mantissa, power = math.frexp(size)
    rounded = Fraction(math.ceil(mantissa * 2**_BITS), 2**_BITS) * Fraction(2) ** power
    while root and rounded**2 < value:
        rounded += Fraction(2) ** (power - _BITS)
    return rounded
