"""Everything that a run of the suite found.

Trust: public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from discreet.exact import float_up
from discreet_audit.findings import Finding
from discreet_audit.suite.figures import Figure, Point
from discreet_audit.suite.rows import Line


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Bounds, findings and figures.

    Attributes:
        long: whether the suite took its time.
        level: the chance that any bound on a promise is too high, at most.
        lines: claimed and measured, one for each audit.
        findings: what attacks on the implementation found.
        figures: what attacks do where nothing protects.
        points: the curve of reconstruction.
        seconds: how much time of processors it took, that of other processes too.
    """

    long: bool
    level: Fraction
    lines: tuple[Line, ...] = ()
    findings: tuple[Finding, ...] = ()
    figures: tuple[Figure, ...] = ()
    points: tuple[Point, ...] = ()
    seconds: float = 0.0

    @property
    def answers(self) -> int:
        """How many answers were judged about both neighbors of all promises and twins."""
        return sum(2 * line.measured.n for line in self.lines)

    @property
    def violations(self) -> tuple[str, ...]:
        """The names of all that is not as it must be."""
        lines = [line.name for line in self.lines if not line.passed]
        findings = [f"{item.code} {item.title}" for item in self.findings if not item.passed]
        figures = [figure.name for figure in self.figures if not figure.passed]
        return (*lines, *findings, *figures)

    @property
    def summary(self) -> str:
        """How many of each there are, on one line."""
        promises = [line.passed for line in self.lines if not line.broken]
        twins = [line.passed for line in self.lines if line.broken]
        attacks = [finding.passed for finding in self.findings]
        figures = [figure.passed for figure in self.figures]
        return (
            f"{sum(promises)} of {len(promises)} promises not refuted, "
            f"{sum(twins)} of {len(twins)} broken twins caught, "
            f"{sum(attacks)} of {len(attacks)} attacks withstood, "
            f"{sum(figures)} of {len(figures)} figures as expected"
        )

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows."""
        return {
            "long": self.long,
            "level": float_up(self.level),
            "answers": self.answers,
            "seconds": self.seconds,
            "passed": not self.violations,
            "violations": list(self.violations),
            "lines": [line.to_json() for line in self.lines],
            "findings": [finding.to_json() for finding in self.findings],
            "figures": [figure.to_json() for figure in self.figures],
            "curve": [point.to_json() for point in self.points],
        }
