"""Bounds in words: lower bounds are shown rounded down, so that none looks higher than it is.

Trust: public.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from discreet.attacks.measured import Measured

__all__ = ["claimed", "interval", "judged", "measured", "parameter"]


def parameter(found: Measured) -> str:
    """Return what is bounded.

    >>> parameter(Measured(parameter="epsilon", lower=0.5, estimate=0.6, claimed=1.0, delta=0.01,
    ...                    event="", hits=(5, 3), n=10, level=1e-6))
    'epsilon at delta 0.01'
    """
    return found.parameter + (f" at delta {found.delta:g}" if found.delta else "")


def claimed(found: Measured) -> str:
    """Return what was promised, rounded up."""
    return "" if found.claimed is None else _shown(found.claimed, ROUND_CEILING)


def measured(found: Measured) -> str:
    """Return the certified bound, rounded down."""
    return f"≥ {_shown(found.lower, ROUND_FLOOR)}"


def interval(found: Measured) -> str:
    """Return the bound, and the same without a margin for chance."""
    if not found.n:
        return measured(found)
    return f"{measured(found)} (near {_shown(found.estimate, ROUND_FLOOR)})"


def judged(found: Measured) -> str:
    """Return how many answers about each neighbor were judged.

    >>> judged(Measured(parameter="epsilon", lower=1.0, estimate=1.0, claimed=1.0, event="",
    ...                 hits=(0, 0), n=0, level=0.0))
    'exact law'
    """
    return f"{found.n:,}" if found.n else "exact law"


def _shown(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return "∞"
    return str(Decimal(value).quantize(Decimal("0.0001"), rounding=rounding).normalize() + 0)
