"""A row of the suite: one promise, and how it is held against what is measured.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from discreet.attacks.measured import Measured
from discreet_audit.suite.power import reach, refutable

GUESSED: Final = "reconstruction"
"""The part of the suite whose rows guess bits in one run."""

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

    >>> kept = Measured(parameter="epsilon", lower=0.9, estimate=0.95, claimed=1.0, event="",
    ...                 hits=(5, 2), n=9, level=1e-6)
    >>> Line(part="mechanisms", name="Laplace", measured=kept).verdict
    'kept'
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
    def reach(self) -> float:
        """The largest bound that so many answers can show: a claim from there on is untested."""
        return reach(self.measured, guesses=self.part == GUESSED)

    @property
    def refutable(self) -> bool:
        """Whether answers without any noise would have violated the claim."""
        return refutable(self.measured, guesses=self.part == GUESSED)

    @property
    def verdict(self) -> str:
        """The same in a word."""
        words = ("MISSED", "caught") if self.broken else ("VIOLATED", "kept")
        return words[self.passed]

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows."""
        return {
            "part": self.part,
            "name": self.name,
            "broken": self.broken,
            "verdict": self.verdict,
            "reach": self.reach if math.isfinite(self.reach) else "inf",
            **self.measured.to_json(),
        }
