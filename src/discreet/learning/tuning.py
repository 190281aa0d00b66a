"""Tuning: the best of a random number of private runs, at its true price.

Trust: kernel.  A run picks a candidate at random, fits it and scores it by a noisy count of right
answers, and costs at most rho; how many runs there are follows the logarithmic law, and the best of
them is told (keys ``random-stopping``, ``logarithmic-draw``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.accounting import Node
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.learning.evaluation import CLASSIFIERS
from discreet.learning.models.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.fit_plans import FitPlan, drawn_bytes, fit_document
from discreet.learning.models.paid_fit import opened, pay_and_store, unit_of_rows
from discreet.learning.models.row_sums import counts
from discreet.learning.models.session_rows import (
    is_table,
    plan_in_session,
    rows_of,
    rows_of_unit,
)
from discreet.learning.tuning_price import TuningPrice, logarithmic
from discreet.ledger.values import StoredAnswer
from discreet.mechanisms import Gaussian
from discreet.noise import SYSTEM, Entropy, Uniform
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.session.inquiry import Inquiry
from discreet.session.programs import Program
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # handed in
    from discreet.learning.models.classifier import PrivateClassifier


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best of the runs: a fitted model, its noisy score and what was paid."""

    model: PrivateClassifier
    candidate: int
    right: float
    epsilon: float
    delta: Fraction


def tune(  # noqa: PLR0913  candidates, rows and a price
    candidates: Sequence[PrivateClassifier],
    X: Any,
    y: Any = None,
    *,
    delta: Any,
    score_rho: Any,
    ledger: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    mean: Any = 10,
) -> Tuned:
    """Fit a random candidate, again and again, and release the best by its noisy score.

    The price is that of :class:`TuningPrice` for the costliest candidate and the score, and is
    charged before anything is read.

    Args:
        candidates: classifiers with a price in rho, with the same bounds and classes.
        X: the rows: an array, or a table of a session, whose ledger pays.
        y: their classes, where ``X`` is an array.
        delta: the chance with which the promise may fail.
        score_rho: the part of each run that goes into its score.
        ledger: what pays, where ``X`` is an array.
        label: the column that is learned, where ``X`` is a table.
        columns: the columns that it is learned from, where ``X`` is a table; all by default.
        mean: how many runs there are on average.
    """
    chosen = list(candidates)
    if not chosen or not all(type(m) in CLASSIFIERS and m.rho is not None for m in chosen):
        raise WrongKind(
            what="a candidate is no classifier of discreet.learning with a price in rho.",
            why="the price of tuning follows from the rho of each run, and from counts of right "
            "answers that are each about one row alone.",
            do="give models such as LogisticRegression(rho='0.01', ...).",
        )
    share, chance = decimal(score_rho, name="score_rho"), decimal(delta, name="delta")
    if share <= 0 or not 0 < chance < 1:
        raise OutOfRange(
            what="score_rho is not above zero, or delta not between 0 and 1.",
            why="a score without noise would tell of people, and the price is about a delta.",
            do="give score_rho='0.001' and delta='1e-6', say.",
        )
    promise = share, chance, decimal(mean, name="mean")
    if is_table(X):
        draw, stored = _in_session(chosen, X, label, columns, promise)
    else:
        draw, stored = _on_arrays(chosen, X, y, ledger, promise)
    told = json.loads(stored.answer)
    model = draw.taken(told["candidate"], told["stored"].encode("ascii"))
    return Tuned(
        model=model,
        candidate=told["candidate"],
        right=told["score"],
        epsilon=draw.price.epsilon(chance),
        delta=chance,
    )


_Promise = tuple[Fraction, Fraction, Fraction]
"""The rho of a score, a delta, and the mean number of runs."""


def _on_arrays(
    chosen: list[PrivateClassifier], X: Any, y: Any, ledger: Any, promise: _Promise
) -> tuple[TunedDraw, StoredAnswer]:
    columns, labels = chosen[0].checked(X, y)
    with opened(ledger) as record:
        unit = unit_of_rows(record)
        plans = [model.plan_for(columns.shape[1], unit) for model in chosen]
        draw = TunedDraw.of(chosen, plans, promise)

        def best() -> bytes:
            return draw.best(lambda encoding: encoding.rows(columns, labels), SYSTEM)

        leaf = draw.price.leaf(draw.delta, unit)
        return draw, pay_and_store(record, leaf, best, name="tuning")


def _in_session(
    chosen: list[PrivateClassifier],
    source: Inquiry,
    label: str | None,
    columns: Sequence[str] | None,
    promise: _Promise,
) -> tuple[TunedDraw, StoredAnswer]:
    session = source.session
    plans = [
        plan_in_session(model, source, label, model.asked_price(), columns) for model in chosen
    ]
    draw = TunedDraw.of(chosen, plans, promise)
    first = plans[0].program
    rows = session.program_rows(first.question)
    program = Program.of(rows, unit=session.unit, reads=first.reads, delta=draw.delta, draw=draw)
    return draw, session.perform(program)


def _candidate(model: PrivateClassifier, plan: FitPlan) -> dict[str, Any]:
    """Return all public parameters of a candidate: of its release, and of what is made of it."""
    document = fit_document(plan.recipe, plan.encoding, plan.schedule.asked)
    later = dict(model.post_processing(plan.encoding))
    return {**document, "post-processing": later} if later else document


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
        cls, models: list[PrivateClassifier], plans: list[FitPlan], promise: _Promise
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
        most = max(plan.schedule.asked.rho or Fraction(0) for plan in self.plans)
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
        (request,) = reads
        for plan in self.plans:
            if plan.schedule.rows != rows_of_unit(request) or plan.unit != unit:
                raise OutOfRange(
                    what="a candidate is planned for other bounds than its request has.",
                    why="noise that is scaled to less than a unit can add hides nobody.",
                    do="plan tuning with discreet.learning.tune.",
                )
            if plan.schedule.sums != plan.recipe.sums(plan.encoding):
                raise OutOfRange(
                    what="a candidate is planned for other sums than it takes.",
                    why="what is charged is what is measured.",
                    do="plan tuning with discreet.learning.tune.",
                )
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
