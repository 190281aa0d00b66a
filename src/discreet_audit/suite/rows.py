"""A row of the suite: one promise, and how it is held against what is measured.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.attacks.measured import Measured
from discreet_audit.suite.power import MISTAKE, shown_factor

GUESSED: Final = "reconstruction"
"""The part of the suite whose rows guess bits in one run."""

KEPT: Final = "kept"
NO_EVIDENCE: Final = "no evidence"

Judge = Callable[[int, Fraction], Measured]
"""From how many answers are judged, and at which level, to a bound."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One audit, and how many answers it takes.

    Attributes:
        part: which part of the suite it belongs to.
        name: what is audited.
        covers: names of mechanisms or aggregates that it stands for.
        judge: makes the audit.
        quick: how many answers about each neighbor are judged in a quick suite; 0 if laws are.
        long: the same in a long one.
        broken: whether a violation must be found.
    """

    part: str
    name: str
    covers: tuple[str, ...] = ()
    judge: Judge
    quick: int = 0
    long: int = 0
    broken: bool = False

    def run(self, *, long: bool, level: Fraction) -> Line:
        """Make the audit."""
        n = self.long if long else self.quick
        return Line(
            part=self.part, name=self.name, broken=self.broken, measured=self.judge(n, level)
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one audit found.

    >>> from dataclasses import replace
    >>> kept = Measured(parameter="epsilon", lower=0.9, estimate=1.0, claimed=1.0, event="",
    ...                 hits=(5000, 1839), n=10_000, level=1e-6)
    >>> Line(part="mechanisms", name="Laplace", measured=kept).verdict
    'kept'
    >>> Line(part="mechanisms", name="Laplace", measured=replace(kept, n=20, hits=(9, 4))).verdict
    'no evidence'
    """

    part: str
    name: str
    measured: Measured
    broken: bool = False

    @property
    def passed(self) -> bool:
        """Whether a promise is not refuted, and that of a broken twin is."""
        return self.measured.violates == self.broken

    @property
    def shows(self) -> float | None:
        """The factor by which more would have to be lost for the row to refute its claim."""
        return shown_factor(self.measured, guesses=self.part == GUESSED)

    @property
    def verdict(self) -> str:
        """Say what was found in a word or two: no evidence if twice the loss might be unseen."""
        if self.broken:
            return "caught" if self.passed else "MISSED"
        if not self.passed:
            return "VIOLATED"
        factor = self.shows
        return KEPT if factor is not None and factor <= MISTAKE else NO_EVIDENCE

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows."""
        return {
            "part": self.part,
            "name": self.name,
            "broken": self.broken,
            "verdict": self.verdict,
            **self.measured.to_json(),
        }
