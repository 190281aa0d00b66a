"""Private scores, and tuning: the best of a random number of private runs, at its true price.

Trust: kernel.  A row adds one to one of two counts (key ``row-tables``), because a classifier of
this room answers for a row by that row alone (:mod:`discreet.models.estimator`).  Rows are bounded
as those of a fit: with a missing value or an undeclared label they are left out.  A run of tuning
picks a candidate at random, fits it and scores it by a noisy count of right answers; each costs at
most the rho of the costliest candidate and that of its score (zero-concentrated losses add up), the
number of runs stays secret, and only the best is released.

Theorem (key ``random-stopping``; Papernot and Steinke 2022, theorem 2 with eta = 0).  Let each run,
its score included, satisfy rho-zCDP, let K have the logarithmic distribution P[K = k] = c (1-g)**k
/ k, and let the best of K independent runs be released.  For all orders a > 1 and b > 1 the Rényi
divergence of order a is at most
    rho a + (1 - 1/b) rho b + ln(1/g) / b + ln E[K] / (a - 1),   E[K] = (1/g - 1) / ln(1/g).
With b = sqrt(ln(1/g) / rho), if that is above 1, it is rho (a - 1) + 2 sqrt(rho ln(1/g)) +
ln E[K] / (a - 1).
Picking the candidate of a run at random is part of the run, which then is a mixture of runs that
all satisfy rho-zCDP, and satisfies it, too: the divergence is quasi-convex.

Theorem (key ``logarithmic-draw``).  Draw k from the geometric distribution g (1-g)**(k-1) and keep
it with a probability of 1/k, until one is kept: the kept k has the logarithmic distribution.
Proof.  The probability of keeping k is proportional to (1-g)**k / k.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np

from discreet.accounting import Leaf, Node
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up
from discreet.extend import (
    AskedPrice,
    EngineRequest,
    Measurer,
    PlannedSum,
    Program,
    RawTotals,
    SumSchedule,
    opened,
    pay_and_store,
    unit_of_rows,
)
from discreet.ledger import StoredAnswer
from discreet.loss import Approximate, RenyiDP
from discreet.mechanisms import Gaussian
from discreet.models import CategoricalNB, GaussianNB, LogisticRegression, SoftmaxRegression
from discreet.models.bounded_rows import BoundedRows, Encoding
from discreet.models.estimator import PrivateClassifier
from discreet.models.fitting import (
    FitPlan,
    Released,
    drawn_bytes,
    fit_document,
    fit_plan,
    pay_and_draw,
    read_released,
)
from discreet.models.given import refuse_declared, refuse_ignored
from discreet.models.row_sums import counts
from discreet.models.session_rows import (
    ModelDraw,
    fit_in_session,
    is_table,
    plan_in_session,
    rows_of,
)
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform
from discreet.session import Inquiry
from discreet.units import PrivacyUnit, Relation

SCORES: Final = "right and wrong answers"
CLASSIFIERS: Final = (
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    SoftmaxRegression,
)
"""The exact types whose answer for a row is about that row alone."""


@final
@dataclass(frozen=True, slots=True)
class ScoreRecipe:
    """Releases how many rows a fitted classifier gets right, and how many wrong."""

    model: PrivateClassifier

    def document(self) -> Mapping[str, Any]:
        """Return its name, and that of the model."""
        return {"measures": SCORES, "model": self.model.digest_}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:  # noqa: ARG002  the same for all
        """Return the two counts."""
        return (PlannedSum(name=SCORES, squared=1, linear=1, opposed=False, coordinates=2),)

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:  # noqa: ARG002
        """Count."""
        wrong = (self.model.codes(rows.cells) != rows.codes).astype(np.int64)
        return {"scores": see.measure(SCORES, counts(wrong, 2)).tolist()}


@final
@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A fitted classifier, as what a session's rows are read for."""

    model: PrivateClassifier

    kind: ClassVar[str] = "classifier"

    @property
    def constant(self) -> bool:
        """Whether rows end with a constant."""
        return self.model.constant

    def _recipe(self, encoding: Encoding) -> ScoreRecipe:
        known = self.model.encoding_
        if (encoding.features, encoding.classes) != (known.features, known.classes):
            raise WrongKind(
                "the model was fitted with other bounds, categories or classes than the policy "
                "has: give the columns that it was fitted on, and a model that was fitted under "
                "this policy."
            )
        return ScoreRecipe(self.model)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Noisy counts of right and wrong answers, and an interval of the accuracy for the noise alone.

    >>> Evaluation(right=90, wrong=10, half_width=5, confidence=0.95).interval
    (0.85, 0.95)
    """

    right: int
    wrong: int
    half_width: int
    confidence: float

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        right, wrong = max(self.right, 0), max(self.wrong, 0)
        return right / (right + wrong) if right + wrong else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """A confidence interval for the accuracy on these rows, at the stated level or above."""
        low = max(self.right - self.half_width, 0), max(self.wrong + self.half_width, 0)
        high = max(self.right + self.half_width, 0), max(self.wrong - self.half_width, 0)
        ends = [a / (a + b) if a + b else default for (a, b), default in ((low, 0.0), (high, 1.0))]
        return ends[0], ends[1]


def evaluate(  # noqa: PLR0913  a model, its rows and a price
    model: PrivateClassifier,
    X: Any,
    y: Any = None,
    *,
    epsilon: Any = None,
    delta: Any = None,
    rho: Any = None,
    ledger: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    confidence: Any = "0.95",
) -> Evaluation:
    """Buy the accuracy of a classifier on private rows, with an interval.

    Args:
        model: a fitted classifier.
        X: the rows: an array, or a table of a session, whose ledger pays.
        y: their true classes, if ``X`` is an array.
        epsilon: what it may cost, with or without a delta.
        delta: the probability with which the promise may fail.
        rho: the price in zero-concentrated privacy, in place of epsilon.
        ledger: the ledger that pays, if ``X`` is an array.
        label: the column of true classes, if ``X`` is a table.
        columns: the columns that the model knows; by default those that it was fitted on.
        confidence: the probability that the interval holds the accuracy on these rows.
    """
    inside = decimal(confidence, name="confidence")
    if not 0 < inside < 1:
        raise OutOfRange("a confidence is not between 0 and 1: give 0.95, say.")
    _refuse_foreign(model)
    asked = AskedPrice.read(epsilon=epsilon, delta=delta, rho=rho)
    if is_table(X):
        refuse_ignored(table=True, y=y, ledger=ledger)
        known = getattr(model, "feature_names_in_", None)
        names = list(known) if columns is None and known is not None else columns
        plan, stored = fit_in_session(ModelUnderTest(model), X, label, asked, names)
    else:
        refuse_ignored(table=False, label=label, columns=columns)
        plan, stored = _on_arrays(model, X, y, asked, ledger)
    right, wrong = read_released(stored.answer)["scores"]
    each = 1 - (1 - inside) / 2  # both counts hold at once
    half = int(plan.schedule.noises[0].error(confidence=each))
    return Evaluation(right=right, wrong=wrong, half_width=half, confidence=float(inside))


def _refuse_foreign(model: object) -> None:
    """Refuse what may answer for a row in another way than the classifiers of this room do."""
    kind = type(model)
    if kind not in CLASSIFIERS:
        raise _foreign(f"a {kind.__name__} is none of the classifiers of discreet.models.")
    for name in vars(model):
        if callable(getattr(kind, name, None)):
            raise _foreign(f"the method '{name}' of this {kind.__name__} was replaced.")


def _foreign(what: str) -> WrongKind:
    return WrongKind(
        what=what,
        why="a foreign object may answer for one row in view of another, and then one row moves "
        "both counts by any number.",
        do="give a fitted LogisticRegression, SoftmaxRegression, GaussianNB or CategoricalNB.",
    )


def _on_arrays(
    model: PrivateClassifier, X: Any, y: Any, asked: AskedPrice, ledger: Any
) -> tuple[FitPlan, StoredAnswer]:
    encoding = model.encoding_
    columns, labels = model.checked(X, y)
    model.check_width(columns.shape[1])
    with opened(ledger) as record:
        unit = unit_of_rows(record)
        plan = fit_plan("evaluation", ScoreRecipe(model), encoding, asked, unit=unit)
        stored = pay_and_draw(record, plan, lambda: encoding.rows(columns, labels), key=None)
    return plan, stored


_BITS: Final = 30
_ORDERS: Final = 192
_UP: Final = 1 + 2.0**-40  # more than a handful of roundings


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPrice:
    """What the best of a random number of runs costs (key ``random-stopping``).

    >>> price = TuningPrice(rho=Fraction(1, 50), mean=10)
    >>> round(price.epsilon(Fraction(1, 10**5)), 3)
    1.418
    """

    rho: Fraction
    mean: Any

    def __post_init__(self) -> None:
        """Refuse what has no price."""
        if self.rho <= 0 or decimal(self.mean, name="mean") <= 1:
            raise OutOfRange(
                "rho is not above zero, or the mean number of runs not above one: give mean=10, "
                "say."
            )

    @property
    def stop(self) -> Fraction:
        """The parameter g of the logarithmic distribution; its mean is at most the wanted one."""
        low, high = 0, 1 << _BITS
        mean = float(decimal(self.mean, name="mean"))
        while high - low > 1:
            middle = (low + high) // 2
            if middle and _mean_runs(middle / (1 << _BITS)) <= mean:
                high = middle
            else:
                low = middle
        return Fraction(high, 1 << _BITS)

    def divergence(self, order: float) -> float:
        """Return the Rényi divergence of an order, rounded up."""
        rho, log = float(self.rho), -math.log(float(self.stop))
        other = max(math.sqrt(log / rho), 1 + 1e-9)
        mixed = (1 - 1 / other) * rho * other + log / other
        runs = math.log(_mean_runs(float(self.stop))) / (order - 1)
        return (rho * order + mixed + runs) * _UP

    def epsilon(self, delta: Fraction) -> float:
        """Return the least epsilon that the divergences prove at a delta."""
        return self.loss(delta).epsilon(delta=delta)

    def loss(self, delta: Fraction) -> RenyiDP:
        """Return the loss, at orders that matter for a delta."""
        spread = math.sqrt(-math.log(float(delta)) / float(self.rho))
        exact = {
            Fraction(1 + spread * 2 ** (place / 32 - 4)).limit_denominator(1 << 20)
            for place in range(_ORDERS)
        }
        orders = sorted(exact)
        values = [Fraction(self.divergence(float(order))) for order in orders]
        return RenyiDP(orders=orders, values=values)

    def leaf(self, delta: Fraction, unit: PrivacyUnit) -> Leaf:
        """Return the charge to a unit if every run costs the stated rho."""
        epsilon = Fraction(float_up(Fraction(self.epsilon(delta))))
        loss = Approximate(epsilon=epsilon, delta=delta)
        whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
        replaced = loss if unit.relation.replaces else None
        return Leaf(loss, name="tuning", unit=whose, replaced=replaced)


def _mean_runs(stop: float) -> float:
    return (1 / stop - 1) / -math.log(stop)


def logarithmic(stop: Fraction, entropy: Entropy = SYSTEM) -> int:
    """Draw from the logarithmic distribution by exact coins (key ``logarithmic-draw``).

    >>> logarithmic(Fraction(1, 2)) >= 1
    True
    """
    while True:
        count = 1
        while not Bernoulli(p=stop).sample(1, entropy=entropy)[0]:
            count += 1
        if Bernoulli(p=Fraction(1, count)).sample(1, entropy=entropy)[0]:
            return count


Promise = tuple[Fraction, Fraction, Fraction]
"""The rho of a score, a delta, and the mean number of runs."""


def _candidate(model: PrivateClassifier, plan: FitPlan) -> dict[str, Any]:
    """Return all public parameters of a candidate: of its release and of its post-processing."""
    document = fit_document(plan.recipe, plan.encoding, plan.schedule.asked)
    later = dict(model.post_processing(plan.encoding))
    return {**document, "post-processing": later} if later else document


def rho_of(schedule: SumSchedule) -> Fraction:
    """Return the cost in rho of the noise of a schedule, regardless of the requested price.

    Integer vectors at a squared distance of d cost d / (2 v) with noise of variance v.
    """
    total = Fraction(0)
    for each, noise in zip(schedule.sums, schedule.noises, strict=True):
        if not isinstance(noise, Gaussian):
            raise WrongKind(
                "a candidate has noise of another law than the Gaussian: give candidates a price "
                "in rho."
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
                "the candidates have different bounds, categories or classes: give all of them the "
                "same declarations."
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
            draw.charged(reads, unit)  # refuses a plan for less
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
        """Return the best of a random number of runs, in stored form."""
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
                top = {
                    "answer": f"best of {len(self.models)} models",
                    "candidate": place,
                    "score": score,
                    "stored": stored.decode("ascii"),
                }
        return json.dumps(top, sort_keys=True).encode("ascii")

    def taken(self, place: int, stored: bytes) -> PrivateClassifier:
        """Return a candidate as it was fitted."""
        model = type(self.models[place])(**self.models[place].get_params())
        model.take(self.plans[place], stored)
        return model


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
        y: their classes, if ``X`` is an array.
        delta: the probability with which the promise may fail.
        score_rho: the part of each run that goes into its score.
        ledger: the ledger that pays, if ``X`` is an array.
        label: the target column, if ``X`` is a table.
        columns: the feature columns, if ``X`` is a table; all by default.
        mean: how many runs there are on average.
    """
    if not isinstance(candidates, Sequence):
        raise WrongKind(
            f"the candidates are a {type(candidates).__name__}, not a list of models: give "
            "candidates=[first, second]."
        )
    chosen = list(candidates)
    if not chosen or not all(type(m) in CLASSIFIERS and m.rho is not None for m in chosen):
        raise WrongKind(
            "a candidate is not one of our classifiers with a price in rho: give models such "
            "as LogisticRegression(rho='0.01', ...)."
        )
    share, chance = decimal(score_rho, name="score_rho"), decimal(delta, name="delta")
    if share <= 0 or not 0 < chance < 1:
        raise OutOfRange(
            "score_rho is not above zero, or delta not between 0 and 1: give score_rho='0.001' and "
            "delta='1e-6', say."
        )
    promise = share, chance, decimal(mean, name="mean")
    if is_table(X):
        refuse_ignored(table=True, y=y, ledger=ledger)
        for model in chosen:
            refuse_declared(model)
        draw, stored = _in_session(chosen, X, label, columns, promise)
    else:
        refuse_ignored(table=False, label=label, columns=columns)
        draw, stored = _tuned_on_arrays(chosen, X, y, ledger, promise)
    told = json.loads(stored.answer)
    model = draw.taken(told["candidate"], told["stored"].encode("ascii"))
    return Tuned(
        model=model,
        candidate=told["candidate"],
        right=told["score"],
        epsilon=draw.price.epsilon(chance),
        delta=chance,
    )


def _tuned_on_arrays(
    chosen: list[PrivateClassifier], X: Any, y: Any, ledger: Any, promise: Promise
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
    promise: Promise,
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
