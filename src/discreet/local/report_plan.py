"""Plans: the accuracy of answers, the bytes sent and the cost, before any report.

Trust: public.

Definition.  The estimated share of a value that a share f of n senders hold is off by
(C - E[C]) / (n (p - q)), where C is the sum of fn coins of probability p and (1 - f)n of
probability q.  The half-width is the distance that it stays within at the stated confidence, from
exact binomial quantiles at f = 0 and at f = 1; in between the variance is between those two.
For all k values at once each may miss with a k-th of the probability (union bound).  The mean of
numbers is predicted by its variance in the worst case.
An honest report adds 1/n to the estimated share of its sender's value, on average, and nothing to
others.  A liar who supports another value adds (1 - q)/(p - q)/n to it; one who does not support
the own value takes p/(p - q)/n from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast, final

from scipy import special  # type: ignore[import-untyped]

from discreet.errors import WrongKind
from discreet.exact import decimal, whole
from discreet.local.form import Form
from discreet.local.numbers import NumberRandomizer, NumberRange
from discreet.local.randomizer import FrequencyOracle
from discreet.mechanisms.mechanism import Number, at_confidence
from discreet.notebook import Shown

DELTA: Final = Fraction(1, 10**6)
MOST_SHUFFLED: Final = 10**5
"""Above this number of people a plan shows the price at it, an upper bound: exact sums are slow."""
_WORDS: Final = {
    "rare": "share that is 0",
    "common": "share that is 1",
    "all": "all shares at once",
    "mean": "mean, at worst",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan(Shown):
    """What a collection will bring and cost."""

    form: Form
    people: int
    confidence: Fraction
    half_widths: Mapping[str, float]
    """How far estimates are off, at most: rare, common and all shares, or the mean."""
    batch_bytes: int
    """What all reports take in one batch."""
    shuffled_epsilon: float
    """What all of them lose at delta, seen in random order alone."""
    delta: Fraction
    one_hostile: float
    """How far a liar moves a share or the mean, at most, compared with an honest report."""

    def __str__(self) -> str:
        """Say it line by line."""
        sure = f"{float(100 * self.confidence):g} %"
        what = "the mean" if "mean" in self.half_widths else "a share"
        crowd = f" (that of {MOST_SHUFFLED:,} people)" if self.people > MOST_SHUFFLED else ""
        shuffled = (
            f"epsilon {self.shuffled_epsilon:.4g} at delta {float(self.delta):g}, to those who "
            f"see no senders{crowd}"
        )
        rows = [
            *(
                (_WORDS[name], f"± {width:.2g} ({sure})")
                for name, width in self.half_widths.items()
            ),
            ("one report", f"{self.form.layout.report_bytes} bytes"),
            ("all in a batch", f"{self.batch_bytes:,} bytes"),
            ("price", f"epsilon {self.form.randomizer.epsilon} for each report, to anybody"),
            ("price, shuffled", shuffled),
            ("one liar", f"moves {what} by at most {self.one_hostile:.2g}"),
        ]
        lines = [f"  {name:<24}{text}" for name, text in rows]
        return "\n".join([f"{self.people:,} reports of form {self.form.digest}", *lines])

    def to_json(self) -> dict[str, object]:
        """Return the same, ready for JSON; exact numbers are texts."""
        return {
            "form": self.form.digest,
            "people": self.people,
            "confidence": str(self.confidence),
            "half_widths": dict(self.half_widths),
            "report_bytes": self.form.layout.report_bytes,
            "batch_bytes": self.batch_bytes,
            "epsilon": str(self.form.randomizer.epsilon),
            "shuffled": {"epsilon": self.shuffled_epsilon, "delta": str(self.delta)},
            "one_hostile": self.one_hostile,
            "text": str(self),
        }


def plan(
    form: Form, *, people: int, confidence: Number = "0.95", delta: Number = DELTA
) -> ReportPlan:
    """Predict what ``people`` reports of a form will tell, weigh and cost.

    >>> from discreet.local import Domain
    >>> planned = plan(Form.of(Domain(["flu", "cold", "none"]), epsilon=1), people=1000)
    >>> round(planned.half_widths["rare"], 3), round(planned.shuffled_epsilon, 4)
    (0.072, 0.1824)
    """
    if not isinstance(form, Form):
        raise WrongKind(
            "what is to be planned is not a form; give a form, such as Form.of(Domain([...]), "
            "epsilon=1)."
        )
    crowd, sure = whole(people, name="people", low=2), at_confidence(confidence)
    predict = _mean if isinstance(form.domain, NumberRange) else _shares
    half_widths, one_hostile = predict(form, crowd, float(1 - sure))
    return ReportPlan(
        form=form,
        people=crowd,
        confidence=sure,
        half_widths=half_widths,
        batch_bytes=form.layout.batch_bytes(crowd),
        shuffled_epsilon=form.shuffled(people=min(crowd, MOST_SHUFFLED)).epsilon(delta=delta),
        delta=decimal(delta, name="delta"),
        one_hostile=one_hostile,
    )


def _shares(form: Form, people: int, miss: float) -> tuple[dict[str, float], float]:
    oracle = cast("FrequencyOracle", form.randomizer)
    p, q = oracle.exact_chances()
    gap, each = float(people * (p - q)), miss / oracle.values
    half_widths = {
        "rare": _distance(people, float(q), miss) / gap,
        "common": _distance(people, float(p), miss) / gap,
        "all": max(_distance(people, float(chance), each) for chance in (p, q)) / gap,
    }
    return half_widths, float(max(1 - q, p)) / gap


def _mean(form: Form, people: int, miss: float) -> tuple[dict[str, float], float]:
    """Predict the mean by its variance in the worst case, and the normal distribution."""
    numbers = cast("NumberRandomizer", form.randomizer)
    unit = float(cast("NumberRange", form.domain).stretch())
    deviation = math.sqrt(numbers.variance().nearest() / people)
    largest = float(max(abs(level) for level in numbers.levels()))
    return {"mean": unit * deviation * -special.ndtri(miss / 2)}, unit * (largest + 1) / people


def _distance(people: int, chance: float, miss: float) -> float:
    """Return how far the number of heads is from its mean, but for a probability of ``miss``."""
    mean = people * chance
    fewest = math.floor(special.bdtrik(miss / 2, people, chance))
    most = math.ceil(special.bdtrik(1 - miss / 2, people, chance))
    return float(max(mean - fewest, most - mean))
