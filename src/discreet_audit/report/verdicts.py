"""How hard was looked: the factors that rows show, in words, and the headline of a report.

Trust: public.

What a factor means, and from which one on a row is evidence, stands in
:mod:`discreet_audit.suite.power`.
"""

from __future__ import annotations

import math
from typing import Final

from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import NO_EVIDENCE, Line

_LARGEST: Final = 100


def shown(line: Line) -> str:
    """Return the factor in words, rounded up; of twins, which must be caught, nothing is said."""
    if line.broken:
        return ""
    factor = line.shows
    if factor is None:
        return "nothing"
    if factor > _LARGEST:
        return "no noise" if math.isinf(factor) else f"× {_LARGEST} and more"
    return f"× {math.ceil(100 * factor) / 100:.2f}"


def sampled(report: Report) -> tuple[Line, ...]:
    """Return the promises that were judged by answers."""
    return tuple(line for line in report.lines if line.measured.n and not line.broken)


def blind(report: Report) -> tuple[Line, ...]:
    """Return those of them that could not have shown a mistake of a factor two."""
    return tuple(line for line in sampled(report) if line.verdict == NO_EVIDENCE)


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


def unseen(report: Report) -> str:
    """Name the rows that could not have shown a mistake of a factor two."""
    judged, rows = sampled(report), blind(report)
    if not judged:
        return "No mechanism and no question was judged by answers."
    if not rows:
        return f"All {len(judged)} sampled rows would have shown a mistake of a factor two."
    laws = {line.name: shown(line) for line in report.lines if not line.measured.n}
    names = []
    for line in rows:
        law = laws.get(f"{line.name}, its law")
        names.append(f"{line.name} ({shown(line)}{'' if law is None else f'; its law {law}'})")
    return (
        f"{len(rows)} of {len(judged)} sampled rows could not have shown a mistake of a factor "
        f"two, and are no evidence: {', '.join(names)}."
    )
