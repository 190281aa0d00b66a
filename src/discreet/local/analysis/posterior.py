"""Expected shares: the posterior mean under a uniform prior, made to add up to 1.

Trust: public.  It sees estimates only; a bug here costs accuracy, not privacy.

Definition.  Before the reports, every share may be any number from 0 to 1, all alike.  Given a raw
estimate x, taken as normal with the standard deviation s of raw estimates, the share follows the
normal law of x and s within [0, 1].  Of all joint laws under which the expected shares add up to 1,
take the one that is nearest, in relative entropy, to the product of these; its means are returned.
Theorem (key ``simplex-posterior``).  Under it the shares are independent, and normal within [0, 1]
with the centre x - t s**2, for the one t at which their means add up to 1.
Proof.  Let Q be the product, and Q_t its tilt, which has the density exp(-t F) / Z_t, F being the
sum of all shares.  A law P under which F has the mean 1 has D(P | Q) = D(P | Q_t) - t - ln Z_t, of
which only the first part depends on P, and it is 0 at P = Q_t.  Tilting a normal law by exp(-t f)
moves its centre by -t s**2.  Every mean falls from 1 to 0 as t grows.
(Csiszar 1975: an information projection.  Conditioning on F = 1 itself has these means in the
limit of many values.)

All shares are above 0: a value that nobody holds is expected to have a share of about s at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from discreet.local.analysis.intervals import Floats

_HALVINGS: Final = 64
_NARROWEST: Final = 2.0**-40
_ROOT_TWO: Final = math.sqrt(2)


def expected(shares: Floats, *, deviations: Floats) -> Floats:
    """Return the expected shares, given raw ones and their standard deviations.

    >>> expected(np.array([0.9, 0.2, -0.1]), deviations=np.full(3, 0.1)).round(3).tolist()
    [0.815, 0.145, 0.04]
    """
    if len(shares) == 1:
        return np.ones(1)
    spreads = np.maximum(deviations, _NARROWEST)

    def means(tilt: float) -> Floats:
        return _mean_inside(shares - tilt * spreads**2, spreads)

    def surplus(tilt: float) -> float:
        return float(means(tilt).sum()) - 1

    low, high = -1.0, 1.0
    while surplus(high) > 0:
        high *= 2
    while surplus(low) < 0:
        low *= 2
    found = means(root(surplus, low, high))
    return np.asarray(found / found.sum())


def root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function crosses 0, by halving.

    >>> root(lambda x: 2 - x * x, 0, 2)
    1.414213562373095
    """
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mean_inside(centres: Floats, spreads: Floats) -> Floats:
    """Return the means of normal laws within [0, 1].

    By symmetry the centre is at most 1/2.  Below 0, tails are taken relative to the density at 0.
    """
    from scipy.special import erfc, erfcx  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    near = np.minimum(centres, 1 - centres)
    start, end = -near / spreads, (1 - near) / spreads
    fall = np.exp(-(end - start) * (end + start) / 2)  # the density at 1, relative to that at 0
    tails = erfcx(np.maximum(start, 0) / _ROOT_TWO) - fall * erfcx(end / _ROOT_TWO)
    middle = erfc(start / _ROOT_TWO) - erfc(end / _ROOT_TWO)
    height = np.exp(-(np.minimum(start, 0) ** 2) / 2)
    shift = math.sqrt(2 / math.pi) * height * (1 - fall) / np.where(start > 0, tails, middle)
    inside: Floats = np.clip(near + spreads * shift, 0, 1)
    return np.where(centres > 0.5, 1 - inside, inside)
