"""The best of a random number of private runs, drawn and priced as a whole.

Trust: kernel.  Each run costs at most the rho of the costliest candidate and that of its score
(key ``random-stopping``), and was planned for what engines enforce.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.accounting import Node
from discreet.errors import WrongKind
from discreet.learning.models.fit_plans import FitPlan, drawn_bytes, fit_document
from discreet.learning.models.measurement import SumSchedule
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.row_sums import counts
from discreet.learning.models.session_rows import ModelDraw, rows_of
from discreet.learning.tuning.tuning_price import TuningPrice, logarithmic
from discreet.mechanisms import Gaussian
from discreet.noise import Entropy, Uniform
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in
    from discreet.learning.models.classifier import PrivateClassifier

Promise = tuple[Fraction, Fraction, Fraction]
"""The rho of a score, a delta, and the mean number of runs."""


def _candidate(model: PrivateClassifier, plan: FitPlan) -> dict[str, Any]:
    """Return all public parameters of a candidate: of its release, and of what is made of it."""
    document = fit_document(plan.recipe, plan.encoding, plan.schedule.asked)
    later = dict(model.post_processing(plan.encoding))
    return {**document, "post-processing": later} if later else document


def rho_of(schedule: SumSchedule) -> Fraction:
    """Return what the noise of a schedule costs in rho, whatever price was asked for.

    Integer vectors at a squared distance of d cost d / (2 v) with noise of variance v.
    """
    total = Fraction(0)
    for each, noise in zip(schedule.sums, schedule.noises, strict=True):
        if not isinstance(noise, Gaussian):
            raise WrongKind(
                what="a candidate has noise of another law than the Gaussian.",
                why="the price of tuning follows from the rho of each run.",
                do="give candidates a price in rho.",
            )
        moved = each.moved(unit=schedule.unit, rows=schedule.rows)
        total += Fraction(moved * each.times) / (2 * noise.variance)
    return total


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TunedDraw:
    """Runs candidates at random, and keeps the best."""

    models: tuple[PrivateClassifier, ...]
    plans: tuple[FitPlan, ...]
    score_rho: Fraction
    delta: Fraction
    mean: Fraction

    @classmethod
    def of(
        cls, models: list[PrivateClassifier], plans: list[FitPlan], promise: Promise
    ) -> TunedDraw:
        """Put a draw together from plans of the same rows."""
        facts = {(plan.encoding.features, plan.encoding.classes) for plan in plans}
        if len(facts) > 1:
            raise WrongKind(
                what="the candidates have different bounds, categories or classes.",
                why="their scores are compared on the same rows.",
                do="give all of them the same declarations.",
            )
        share, delta, mean = promise
        return cls(
            models=tuple(models), plans=tuple(plans), score_rho=share, delta=delta, mean=mean
        )

    @property
    def price(self) -> TuningPrice:
        """What all of it costs: the costliest candidate and the score in each run."""
        most = max(rho_of(plan.schedule) for plan in self.plans)
        return TuningPrice(rho=most + self.score_rho, mean=self.mean)

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters, in plain JSON."""
        return {
            "kind": "tuning",
            "candidates": [
                _candidate(model, plan) for model, plan in zip(self.models, self.plans, strict=True)
            ],
            "score": str(self.score_rho),
            "delta": str(self.delta),
            "mean": str(self.mean),
        }

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Node:
        """Return what the best of all runs costs, if each was planned for what engines enforce."""
        for plan in self.plans:
            draw = ModelDraw(recipe=plan.recipe, encoding=plan.encoding, noise=plan.schedule)
            draw.charged(reads, unit)  # refuses what is planned for less
        return self.price.leaf(self.delta, unit)

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,  # noqa: ARG002  the best model does not name its program
        sources: tuple[tuple[str, str], ...],  # noqa: ARG002  nor the states of its tables
    ) -> bytes:
        """Run candidates on the rows of an engine."""
        (raw,) = raws
        return self.best(lambda encoding: rows_of(raw, encoding), entropy)

    def best(self, rows_for: Callable[[Encoding], BoundedRows], entropy: Entropy) -> bytes:
        """Return the best of a random number of runs, as it is stored."""
        schedule = self.plans[0].schedule
        moved = schedule.rows**2 * (2 if schedule.unit.relation.replaces else 1)
        noise = Gaussian(variance=moved / (2 * self.score_rho))
        top: dict[str, Any] | None = None
        for _ in range(logarithmic(self.price.stop, entropy)):
            place = int(Uniform(below=len(self.models)).sample(1, entropy=entropy)[0])
            plan = self.plans[place]
            rows = rows_for(plan.encoding)
            stored = drawn_bytes(plan.recipe, plan.encoding, plan.schedule, rows, entropy)
            wrong = self.taken(place, stored).codes(rows.cells) != rows.codes
            score = int(noise.run(counts(wrong.astype(int), 1).values, entropy=entropy)[0])
            if top is None or score > top["score"]:
                top = {"candidate": place, "score": score, "stored": stored.decode("ascii")}
        return json.dumps(top, sort_keys=True).encode("ascii")

    def taken(self, place: int, stored: bytes) -> PrivateClassifier:
        """Return a candidate as it was fitted."""
        model = type(self.models[place])(**self.models[place].get_params())
        model.take(self.plans[place], stored)
        return model
