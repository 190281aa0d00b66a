"""Entropic mirror descent on the parameters of a log-linear model.

Trust: public.

Definition.  A model assigns to row x the probability proportional to exp(sum over r of t_r[x_r]),
with one array of parameters t_r for each measured marginal r.  The objective f is convex in the
probabilities. Mirror descent with the entropy as its potential moves t to t - a g, where g is the
derivative of f by the expected marginals: it never needs the probabilities of single rows.
A step a is accepted if the objective falls by at least a quarter of a <g, m - m'>, where m and m'
are the marginals before and after; otherwise it is halved.  Accepted steps grow.  Between steps the
parameters are extrapolated along their last move (momentum), and momentum starts over when the
objective rises (adaptive restart; O'Donoghue and Candes 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.synthetic.inference.inference import Targets

Vector = NDArray[np.float64]

_GROWTH: Final = 1.25
_SMALLEST: Final = 2.0**-40


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """When to stop: after this number of steps, or when a step gains next to nothing.

    ``tolerance`` is the gain of ten steps, as a share of the number of measured cells; the noise
    alone contributes one half for each of them.

    >>> Effort(steps=50).tolerance
    0.0001
    """

    steps: int = 400
    tolerance: float = 1e-4


EFFORT: Final = Effort()
"""Enough for a final fit from nothing."""


def descend(
    expectations: Callable[[Vector], Vector], targets: Targets, start: Vector, effort: Effort
) -> Vector:
    """Return parameters whose expected marginals are closest to the targets."""
    if not targets.values.size:
        return start
    sharpness = targets.total * float(
        sum(targets.precisions[begin] for begin in targets.starts)
    )  # of the objective, in the L1 norm, along probabilities times the total
    step, momentum = 4.0 / sharpness, 1.0
    theta = ahead = start
    expected = ahead_expected = expectations(start)
    value = targets.objective(expected)
    checkpoint = value
    for count in range(1, effort.steps + 1):
        gradient = targets.gradient(ahead_expected)
        ahead_value = targets.objective(ahead_expected)
        while True:
            moved = ahead - step * gradient
            reached = expectations(moved)
            fall = float(np.dot(gradient, ahead_expected - reached))
            if (
                targets.objective(reached) <= ahead_value - 0.25 * fall
                or step < _SMALLEST / sharpness
            ):
                break
            step /= 2
        reached_value = targets.objective(reached)
        if reached_value > value:  # momentum overshot: start over from the best point
            if ahead is theta:
                break
            ahead, ahead_expected, momentum = theta, expected, 1.0
            continue
        larger = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        weight, momentum = (momentum - 1) / larger, larger
        ahead = moved + weight * (moved - theta) if weight else moved
        theta, expected, value = moved, reached, reached_value
        ahead_expected = expectations(ahead) if weight else reached
        step *= _GROWTH
        if count % 10 == 0:
            if checkpoint - value < effort.tolerance * targets.values.size:
                break
            checkpoint = value
    return theta
