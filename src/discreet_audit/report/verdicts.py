"""Verdicts: what was kept, what was refuted, and where an audit could not have seen a mistake.

Trust: public.

A row that draws answers *shows* losses from some multiple of its claim on: had the mechanism lost
that much more, the bound that was found would have been above the claim.  A row that would not have
shown a mistake of a factor two is no evidence for its promise, and says so.  Laws are compared to
the last digit, and miss nothing between the neighbors that they are compared on.
"""

from __future__ import annotations

import math
from typing import Final

from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import Line

MISTAKE: Final = 2.0
"""The factor by which a loss would have to be too high to be seen by every row with evidence."""

KEPT: Final = "kept"
NO_EVIDENCE: Final = "no evidence"


def shows_from(line: Line) -> float:
    """Return from which multiple of the claim on a loss would have been shown."""
    measured = line.measured
    if measured.claimed is None or measured.n == 0:
        return 1.0
    return measured.claimed / measured.lower if measured.lower > 0 else math.inf


def verdict(line: Line) -> str:
    """Say what a row found, in a word or two."""
    unseen = not line.broken and line.passed and shows_from(line) > MISTAKE
    return NO_EVIDENCE if unseen else line.verdict


def shown_from(line: Line) -> str:
    """Return the multiple in words; of twins, which must be caught, nothing is said."""
    if line.broken or line.measured.n == 0:
        return ""
    factor = shows_from(line)
    if not math.isfinite(factor):
        return "nothing"
    hundredths = math.ceil(100 * factor) / 100
    return f"× {hundredths:.2f}" if factor < 100 else "× 100 and more"


def sampled(report: Report) -> tuple[Line, ...]:
    """Return the promises that were judged by answers."""
    return tuple(line for line in report.lines if line.measured.n and not line.broken)


def blind(report: Report) -> tuple[Line, ...]:
    """Return those of them that could not have shown a mistake of a factor two."""
    return tuple(line for line in sampled(report) if verdict(line) == NO_EVIDENCE)


def headline(report: Report) -> str:
    """Say how hard was looked, what was found, and how much could not have been."""
    length = "long" if report.long else "quick"
    judged = sampled(report)
    if not judged:
        return f"{length.capitalize()} audit: {report.summary}."
    return (
        f"{length.capitalize()} audit: {report.summary}. {len(blind(report))} of {len(judged)} "
        "sampled rows could not have shown a mistake of a factor two."
    )
