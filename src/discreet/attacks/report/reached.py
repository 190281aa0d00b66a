"""How much of what is claimed an audit reaches: what stays far below sees large mistakes only.

Trust: public.
"""

from __future__ import annotations

from statistics import median
from typing import Final

from discreet.attacks.suite.report import Report
from discreet.attacks.suite.rows import Line

__all__ = ["reached"]

_HALF: Final = 0.5
_PARTS: Final = frozenset({"mechanisms", "questions"})


def reached(report: Report) -> str:
    """Say how close bounds from answers come to their claims, and which stay below a half."""
    shares = {
        line.name: _share(line)
        for line in report.lines
        if line.measured.n and line.measured.claimed and line.part in _PARTS
    }
    if not shares:
        return "No mechanism and no question was judged by answers."
    low = [f"{name} ({share:.2f})" for name, share in shares.items() if share < _HALF]
    told = (
        f"Of {len(shares)} mechanisms and questions that were judged by answers, half have a bound "
        f"of at least {median(shares.values()):.2f} of the claim. "
    )
    if not low:
        return f"{told}None is below a half."
    return (
        f"{told}These are below a half, so that twice the loss might stay unseen but for a law, "
        f"where one is listed: {'; '.join(low)}."
    )


def _share(line: Line) -> float:
    return line.measured.lower / (line.measured.claimed or 1.0)
