"""Bounds in words, rounded down.

Trust: public.

Lower bounds are shown rounded down, so that none looks higher than it is.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from discreet.attacks.measured import Measured


def parameter(result: Measured) -> str:
    """Return what is bounded.

    >>> parameter(Measured(parameter="epsilon", lower=0.5, estimate=0.6, claimed=1.0, delta=0.01,
    ...                    event="", hits=(5, 3), n=10, level=1e-6))
    'epsilon at delta 0.01'
    """
    return result.parameter + (f" at delta {result.delta:g}" if result.delta else "")


def claimed(result: Measured) -> str:
    """Return what was promised, rounded up."""
    return "" if result.claimed is None else _shown(result.claimed, ROUND_CEILING)


def measured(result: Measured) -> str:
    """Return the certified bound, rounded down."""
    return f"≥ {_shown(result.lower, ROUND_FLOOR)}"


def interval(result: Measured) -> str:
    """Return the bound, and the same without a margin for chance."""
    if not result.n:
        return measured(result)
    return f"{measured(result)} (near {_shown(result.estimate, ROUND_FLOOR)})"


def judged(result: Measured) -> str:
    """Return how many answers about each neighbor were judged.

    >>> judged(Measured(parameter="epsilon", lower=1.0, estimate=1.0, claimed=1.0, event="",
    ...                 hits=(0, 0), n=0, level=0.0))
    'exact law'
    """
    return f"{result.n:,}" if result.n else "exact law"


def _shown(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return "∞"
    return str(Decimal(value).quantize(Decimal("0.0001"), rounding=rounding).normalize() + 0)
