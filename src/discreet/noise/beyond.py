"""Draws of noise given that it reaches some number.

Trust: kernel.

Definition.  For t >= 0 the law of Z beyond t has P[Z = t + j] proportional to the weight of t + j
in the law of Z, j = 0, 1, 2, ...
Theorem (key ``noise-beyond``).  Beyond t, discrete Laplace noise is t + J with J geometric of the
same scale.  Beyond t, discrete Gaussian noise with parameter v is t + J, where J is geometric of
scale v / (t + c) and accepted with chance exp(-(J - c)**2 / 2v), for every c > 0.
Proof.  exp(-(t + j)/s) = exp(-t/s) exp(-j/s).  And j (t + c) / v + (j - c)**2 / 2v is
(t + j)**2 / 2v plus a number without j.
About three of four draws are accepted with c = (sqrt(t**2 + 4v) - t) / 2, at which the scale of J
is c too; so wherever t lies, a draw takes as long as any other.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import saturating_add
from discreet.noise.coins import exp_coins
from discreet.noise.entropy import Entropy
from discreet.noise.tablefree import (
    SIZES,
    Attempt,
    FreeSizes,
    Parameters,
    geometric_into,
    magnitudes,
    repeated,
)

__all__ = ["gaussian_beyond_into", "laplace_beyond_into"]


def laplace_beyond_into(
    out: NDArray[np.int64],
    scale: Fraction,
    least: int,
    entropy: Entropy,
    sizes: FreeSizes = SIZES,
) -> None:
    """Overwrite ``out`` with discrete Laplace draws that reach ``least``, which is not negative.

    Values beyond int64 stop at its end.
    """
    geometric_into(out, Parameters.same(scale), entropy, sizes)
    out[:] = saturating_add(out, np.full(out.shape, least, np.int64))


def gaussian_beyond_into(
    out: NDArray[np.int64],
    variance: Fraction,
    least: int,
    entropy: Entropy,
    sizes: FreeSizes = SIZES,
) -> None:
    """Overwrite ``out`` with discrete Gaussian draws that reach ``least``, which is not negative.

    Values beyond int64 stop at its end.
    """
    center = _center(variance, least)
    scale = Parameters.same(variance / (least + center))
    repeated(
        out,
        scale,
        lambda part, count: _attempt(part, count, variance, center, entropy, sizes),
    )
    out[:] = saturating_add(out, np.full(out.shape, least, np.int64))


def _center(variance: Fraction, least: int) -> Fraction:
    """Return the c at which most is accepted, or nearly; any positive number would do."""
    far = float(least)
    return Fraction(2.0 * float(variance) / (far + math.sqrt(far * far + 4.0 * float(variance))))


def _attempt(  # noqa: PLR0913, PLR0917 (one law, and how it is drawn)
    scale: Parameters,
    count: int,
    variance: Fraction,
    center: Fraction,
    entropy: Entropy,
    sizes: FreeSizes,
) -> Attempt:
    """Propose geometric draws, and say which are accepted."""
    size, accepted = magnitudes(scale, count, entropy, sizes)
    excess = size.floats() - float(center)
    exponent = excess * excess / (2.0 * float(variance))

    def exact(at: int) -> Fraction:
        return (size.exact(at) - center) ** 2 / (2 * variance)

    accepted &= exp_coins(exponent, exact, entropy, sizes.coins)
    return size.clamped(np.zeros(count, np.bool_)), accepted
