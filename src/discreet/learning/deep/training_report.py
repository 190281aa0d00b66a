"""What a run tells about itself: steps, time, and what it has cost; nothing about rows.

Trust: public.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from discreet.learning.training_plan import TrainingPlan


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One step that was taken; it says nothing about the rows but metrics that were bought."""

    number: int
    steps: int
    seconds: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """What a run has done, and what it has cost; made of public values alone."""

    plan: TrainingPlan
    taken: int
    attempts: int
    charged_again: int
    untold: bool
    public_weights: str | None
    weights: str | None

    def __str__(self) -> str:
        """Show it on a few lines."""
        lines = [str(self.plan), f"{self.taken} of {self.plan.steps} steps taken"]
        if self.charged_again:
            lines.append(f"{self.charged_again} steps charged again after an interruption")
        if self.untold:
            lines.append("the owner vouches that nobody saw the steps that were lost")
        if self.public_weights:
            lines.append(f"started from public weights: {self.public_weights}")
        if self.weights:
            lines.append(f"weights on record: sha256 {self.weights}")
        return "\n".join(lines)


@final
class StepBar:
    """Steps and time, and nothing else."""

    def __init__(self, steps: int, *, active: bool) -> None:
        """Take how many steps there are."""
        self._steps, self._active, self._began = steps, active, time.perf_counter()

    def show(self, step: Step) -> None:
        """Show how far the run is."""
        if self._active:
            passed = time.perf_counter() - self._began
            sys.stderr.write(f"\r{step.number}/{self._steps} steps, {passed:.0f} s")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._active:
            sys.stderr.write("\n")
