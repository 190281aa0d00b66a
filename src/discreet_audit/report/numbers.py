"""Bounds in words, rounded down, and how much of what is claimed an audit reaches.

Trust: public.

Lower bounds are shown rounded down, so that none looks higher than it is.  An audit that stays far
below what is claimed sees large mistakes only.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from statistics import median
from typing import Final

from discreet.attacks.measured import Measured
from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import Line


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


_HALF: Final = 0.5
_PARTS: Final = frozenset({"mechanisms", "questions"})


def audited_share(report: Report) -> str:
    """Say how close bounds from answers come to their claims, and which stay below a half."""
    shares = {
        line.name: _share(line)
        for line in report.lines
        if line.measured.n and line.measured.claimed and line.part in _PARTS
    }
    if not shares:
        return "No mechanism and no question was judged by answers."
    low = [f"{name} ({share:.2f})" for name, share in shares.items() if share < _HALF]
    words = (
        f"Of {len(shares)} mechanisms and questions that were judged by answers, half have a bound "
        f"of at least {median(shares.values()):.2f} of the claim. "
    )
    if not low:
        return f"{words}None is below a half."
    return (
        f"{words}These are below a half, so that twice the loss might stay unseen but for a law, "
        f"where one is listed: {'; '.join(low)}."
    )


def _share(line: Line) -> float:
    return line.measured.lower / (line.measured.claimed or 1.0)
