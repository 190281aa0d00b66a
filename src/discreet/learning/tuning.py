"""Tuning: the best of a random number of private runs, at its true price.

Trust: kernel.  How many runs there were stays secret, and only the best is told.

Theorem (key ``random-stopping``; Papernot and Steinke 2022, theorem 2 with eta = 0).  Let each run,
its score included, satisfy rho-zCDP, let K have the logarithmic law P[K = k] = c (1-g)**k / k, and
let the best of K independent runs be released.  For all orders a > 1 and b > 1 the Rényi divergence
of order a is at most
    rho a + (1 - 1/b) rho b + ln(1/g) / b + ln E[K] / (a - 1),   E[K] = (1/g - 1) / ln(1/g).
With b = sqrt(ln(1/g) / rho), if that is above 1, it is rho (a - 1) + 2 sqrt(rho ln(1/g)) +
ln E[K] / (a - 1).
Picking the candidate of a run at random is part of the run, which then is a mixture of runs that
all satisfy rho-zCDP, and satisfies it, too: the divergence is quasi-convex.

Theorem (key ``logarithmic-draw``).  Draw k from the geometric law g (1-g)**(k-1) and keep it with a
chance of 1/k, until one is kept: the kept k has the logarithmic law.
Proof.  The chance of keeping k is proportional to (1-g)**k / k.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.accounting import Leaf
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up
from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.fit_plans import FitPlan, drawn_bytes
from discreet.learning.models.paid_fit import opened, pay_and_store, unit_of_rows
from discreet.learning.models.row_sums import counts
from discreet.loss import Approximate, RenyiDP
from discreet.mechanisms import Gaussian
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform
from discreet.units import PrivacyUnit, Relation

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
                what="rho is not above zero, or the mean number of runs not above one.",
                why="a random number of runs is at least one, and more on average.",
                do="give mean=10, say.",
            )

    @property
    def stop(self) -> Fraction:
        """The parameter g of the logarithmic law, whose mean is at most the one asked for."""
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


def _mean_runs(stop: float) -> float:
    return (1 / stop - 1) / -math.log(stop)


def logarithmic(stop: Fraction, entropy: Entropy = SYSTEM) -> int:
    """Draw from the logarithmic law by exact coins (key ``logarithmic-draw``).

    >>> logarithmic(Fraction(1, 2)) >= 1
    True
    """
    while True:
        count = 1
        while not Bernoulli(p=stop).sample(1, entropy=entropy)[0]:
            count += 1
        if Bernoulli(p=Fraction(1, count)).sample(1, entropy=entropy)[0]:
            return count


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The best of the runs: a fitted model, its noisy score and what was paid."""

    model: PrivateModel
    candidate: int
    right: float
    epsilon: float
    delta: Fraction


def tune(  # noqa: PLR0913  candidates, rows and a price
    candidates: Sequence[PrivateModel],
    X: Any,
    y: Any,
    *,
    ledger: Any,
    delta: Any,
    score_rho: Any,
    mean: Any = 10,
) -> Tuned:
    """Fit a random candidate, again and again, and release the best by its noisy score.

    The price is that of :class:`TuningPrice` for the costliest candidate and the score, and is
    charged before anything is read.

    Args:
        candidates: classifiers with a price in rho, with the same bounds and classes.
        X: the rows.
        y: their classes.
        ledger: what pays.
        delta: the chance with which the promise may fail.
        score_rho: the part of each run that goes into its score.
        mean: how many runs there are on average.
    """
    chosen = list(candidates)
    if not chosen or not all(isinstance(m, PrivateModel) and m.rho is not None for m in chosen):
        raise WrongKind(
            what="a candidate is no model with a price in rho.",
            why="the price of tuning follows from the rho of each run.",
            do="give models such as LogisticRegression(rho='0.01', ...).",
        )
    columns, labels = chosen[0].checked(X, y)
    share = decimal(score_rho, name="score_rho")
    chance = decimal(delta, name="delta")
    if share <= 0 or not 0 < chance < 1:
        raise OutOfRange(
            what="score_rho is not above zero, or delta not between 0 and 1.",
            why="a score without noise would tell of people, and the price is about a delta.",
            do="give score_rho='0.001' and delta='1e-6', say.",
        )
    with opened(ledger) as record:
        unit = unit_of_rows(record)
        plans = [model.plan_for(columns.shape[1], unit) for model in chosen]
        rho = max(decimal(model.rho, name="rho") for model in chosen) + share
        price = TuningPrice(rho=rho, mean=mean)
        moved = 2 if unit.relation.replaces else 1
        noise = Gaussian(variance=moved / (2 * share))
        run = _Run(chosen, plans, noise)
        epsilon = price.epsilon(chance)
        loss = Approximate(epsilon=Fraction(float_up(Fraction(epsilon))), delta=chance)
        whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
        leaf = Leaf(loss, name="tuning", unit=whose, replaced=loss if moved > 1 else None)
        stored = pay_and_store(
            record, leaf, lambda: run.best(columns, labels, logarithmic(price.stop)), name="tuning"
        )
    told = json.loads(stored.answer)
    model = type(chosen[told["candidate"]])(**chosen[told["candidate"]].get_params())
    model.take(plans[told["candidate"]], told["stored"].encode("ascii"))
    return Tuned(
        model=model,
        candidate=told["candidate"],
        right=told["score"],
        epsilon=epsilon,
        delta=chance,
    )


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """Runs candidates; the best is what is stored."""

    models: list[PrivateModel]
    plans: list[FitPlan]
    noise: Gaussian

    def best(self, columns: Any, labels: Any, runs: int) -> bytes:
        top: dict[str, Any] | None = None
        for _ in range(runs):
            place = int(Uniform(below=len(self.models)).sample(1)[0])
            plan = self.plans[place]
            rows = plan.encoding.rows(columns, labels)
            stored = drawn_bytes(plan.recipe, plan.encoding, plan.schedule, rows, SYSTEM)
            model = type(self.models[place])(**self.models[place].get_params())
            model.take(plan, stored)
            right = np.asarray(model.predict(columns) == labels)  # type: ignore[attr-defined]
            total = counts(1 - right.astype(np.int64), 1)
            score = int(self.noise.run(total.values)[0])
            if top is None or score > top["score"]:
                top = {"candidate": place, "score": score, "stored": stored.decode("ascii")}
        return json.dumps(top, sort_keys=True).encode("ascii")
