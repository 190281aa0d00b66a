"""Special functions of SciPy, which takes its time to load and so is loaded at the first call.

Trust: kernel.  The error that each may make is part of the model in ``rounding``.
"""

from __future__ import annotations

import numpy as np

from discreet.loss.pairs.pair import Floats

__all__ = ["erfcx", "gammaln"]


def erfcx(x: Floats | float) -> Floats:
    """Evaluate e**(x**2) erfc(x).

    >>> erfcx(np.array([0.0, 1.0])).round(4).tolist()
    [1.0, 0.4276]
    """
    from scipy import special  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    return np.asarray(special.erfcx(x))


def gammaln(x: Floats) -> Floats:
    """Evaluate the logarithm of the gamma function.

    >>> gammaln(np.array([2.0, 5.0])).round(4).tolist()
    [0.0, 3.1781]
    """
    from scipy import special  # noqa: PLC0415  takes its time

    return np.asarray(special.gammaln(x))
