"""Plans: how exact the answers will be, how much travels and what it costs, before anybody reports.

Trust: public.

Definition.  The estimated share of a value that a share f of n senders hold is off by
(C - E[C]) / (n (p - q)), where C is the sum of fn coins of chance p and (1 - f)n of chance q.  The
half-width is the distance that it stays within at the stated confidence, from exact binomial
quantiles at f = 0 and at f = 1; in between the variance is between those two.
For all k values at once each may miss with a k-th of the chance (union bound).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from scipy import special

from discreet.errors import WrongKind
from discreet.exact import whole
from discreet.local.randomizers.oracle import FrequencyOracle
from discreet.local.reports.form import Form
from discreet.mechanisms.mechanism import Number, at_confidence
from discreet.notebook import Shown

DELTA: Final = Fraction(1, 10**6)
MOST_SHUFFLED: Final = 10**5
"""Above so many people a plan shows the price of so many, which is higher: exact sums take long."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPlan(Shown):
    """What a collection will bring and cost."""

    form: Form
    people: int
    confidence: Fraction
    rare: float
    """How far the share of a value that nobody holds is off, at most."""
    common: float
    """How far that of a value that all hold is off."""
    all_values: float
    """How far the worst of all values is off."""
    report_bytes: int
    batch_bytes: int
    """What all reports take in one batch."""
    epsilon: Fraction
    """What one report loses to whoever receives it."""
    shuffled_epsilon: float
    """What all of them lose at delta, seen in random order alone."""
    delta: Fraction
    one_hostile: float
    """How far one hostile report moves a share, at most."""

    def __str__(self) -> str:
        """Say it line by line."""
        sure = f"{float(100 * self.confidence):g} %"
        rows = {
            "share": f"± {self.rare:.2g} for a value that nobody holds, "
            f"± {self.common:.2g} for one that all hold ({sure} each)",
            "all values": f"± {self.all_values:.2g} for all {self.form.domain.values} at once "
            f"({sure})",
            "traffic": f"{self.report_bytes} bytes a report; all of them "
            f"{self.batch_bytes:,} bytes in a batch",
            "price": f"epsilon {self.epsilon} for each report, whoever receives it",
            "shuffled": f"epsilon {self.shuffled_epsilon:.4g} at delta {float(self.delta):g}, to "
            "whoever sees reports in random order and nothing else"
            + (f" (that of {MOST_SHUFFLED:,} people)" if self.people > MOST_SHUFFLED else ""),
            "hostile": f"one sender moves a share by at most {self.one_hostile:.2g}",
        }
        lines = [f"  {name:<12}{text}" for name, text in rows.items()]
        return "\n".join([f"{self.people:,} reports of form {self.form.digest}", *lines])

    def to_json(self) -> dict[str, object]:
        """Return the same, ready for JSON; exact numbers are texts."""
        return {
            "form": self.form.digest,
            "people": self.people,
            "confidence": str(self.confidence),
            "half_width": {"rare": self.rare, "common": self.common, "all": self.all_values},
            "report_bytes": self.report_bytes,
            "batch_bytes": self.batch_bytes,
            "epsilon": str(self.epsilon),
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
    >>> round(planned.rare, 3), round(planned.shuffled_epsilon, 4)
    (0.072, 0.1824)
    """
    if not isinstance(form, Form) or not isinstance(form.randomizer, FrequencyOracle):
        raise WrongKind(
            what="what is to be planned is not a form about categories.",
            why="the error depends on the randomizer and the number of values.",
            do="give a form, such as Form.of(Domain([...]), epsilon=1).",
        )
    crowd, sure = whole(people, name="people", low=2), at_confidence(confidence)
    oracle, layout = form.randomizer, form.layout
    p, q = oracle.exact_chances()
    miss, gap = float(1 - sure), float(crowd * (p - q))
    each = miss / form.domain.values
    shuffled = form.shuffled(people=min(crowd, MOST_SHUFFLED))
    ends = [_distance(crowd, float(chance), each) for chance in (q, p)]
    return ReportPlan(
        form=form,
        people=crowd,
        confidence=sure,
        rare=_distance(crowd, float(q), miss) / gap,
        common=_distance(crowd, float(p), miss) / gap,
        all_values=max(ends) / gap,
        report_bytes=layout.report_bytes,
        batch_bytes=layout.batch_bytes(crowd),
        epsilon=oracle.epsilon,
        shuffled_epsilon=shuffled.epsilon(delta=delta),
        delta=Fraction(delta),
        one_hostile=float(oracle.amplification() / crowd),
    )


def _distance(people: int, chance: float, miss: float) -> float:
    """Return how far the number of heads is from its mean, but for a chance of ``miss``."""
    mean = people * chance
    fewest = math.floor(special.bdtrik(miss / 2, people, chance))
    most = math.ceil(special.bdtrik(1 - miss / 2, people, chance))
    return max(mean - fewest, most - mean)
