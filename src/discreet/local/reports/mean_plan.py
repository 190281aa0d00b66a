"""Plans for numbers: how exact a mean will be, how much travels and what it costs.

Trust: public.

Definition.  The mean of n numbers is off by a sum of independent noises over n, each of at most the
worst variance (key ``number-estimate``).  The half-width is that of the normal law with this
variance, which for many people is what the sum has; intervals of the estimate itself assume less
and are a little wider.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, final

from discreet.local.numbers.number_randomizer import NumberRandomizer
from discreet.local.numbers.number_range import NumberRange
from discreet.notebook import Shown

if TYPE_CHECKING:  # handed in
    from discreet.local.reports.form import Form


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MeanPlan(Shown):
    """What a collection of numbers will bring and cost."""

    form: Form
    people: int
    confidence: Fraction
    half_width: float
    """How far the mean is off, at most, in units of the numbers."""
    report_bytes: int
    batch_bytes: int
    epsilon: Fraction
    shuffled_epsilon: float
    delta: Fraction
    one_hostile: float
    """How far one hostile report moves the mean, at most."""

    @classmethod
    def of(  # noqa: PLR0913  what a plan is about
        cls,
        form: Form,
        numbers: NumberRange,
        randomizer: NumberRandomizer,
        *,
        people: int,
        confidence: Fraction,
        shuffled_epsilon: float,
        delta: Fraction,
    ) -> MeanPlan:
        """Predict what so many reports will tell, weigh and cost."""
        spread = math.sqrt(randomizer.variance().nearest() / people)
        levels, unit = randomizer.levels(), float(numbers.stretch())
        return cls(
            form=form,
            people=people,
            confidence=confidence,
            half_width=unit * spread * NormalDist().inv_cdf(float(1 + confidence) / 2),
            report_bytes=form.layout.report_bytes,
            batch_bytes=form.layout.batch_bytes(people),
            epsilon=randomizer.epsilon,
            shuffled_epsilon=shuffled_epsilon,
            delta=delta,
            one_hostile=unit * float(max(levels) - min(levels)) / people,
        )

    def __str__(self) -> str:
        """Say it line by line."""
        rows = {
            "mean": f"± {self.half_width:.2g} ({float(100 * self.confidence):g} %)",
            "traffic": f"{self.report_bytes} bytes a report; all of them "
            f"{self.batch_bytes:,} bytes in a batch",
            "price": f"epsilon {self.epsilon} for each report, whoever receives it",
            "shuffled": f"epsilon {self.shuffled_epsilon:.4g} at delta {float(self.delta):g}, to "
            "whoever sees reports in random order and nothing else",
            "hostile": f"one sender moves the mean by at most {self.one_hostile:.2g}",
        }
        lines = [f"  {name:<12}{text}" for name, text in rows.items()]
        return "\n".join([f"{self.people:,} reports of form {self.form.digest}", *lines])

    def to_json(self) -> dict[str, object]:
        """Return the same, ready for JSON; exact numbers are texts."""
        return {
            "form": self.form.digest,
            "people": self.people,
            "confidence": str(self.confidence),
            "half_width": {"mean": self.half_width},
            "report_bytes": self.report_bytes,
            "batch_bytes": self.batch_bytes,
            "epsilon": str(self.epsilon),
            "shuffled": {"epsilon": self.shuffled_epsilon, "delta": str(self.delta)},
            "one_hostile": self.one_hostile,
            "text": str(self),
        }
