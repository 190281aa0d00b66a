"""Errors at one price: what plans promise, what answers show, and what others add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa

import discreet as dp
from benchmarks.peers.environment import Peers
from benchmarks.rows.ask_others import (
    COUNT,
    MEAN,
    MOST,
    PEOPLE,
    SHOWN,
    SIZE,
    SUM,
    Case,
    Law,
    by_google,
    by_opendp,
    by_tumult,
    width,
)
from discreet.aggregates.mean import Mean
from discreet.mechanisms import NoisyKeys
from discreet.plan.plan import Plan
from discreet.session import Session

PLACES: Final = 100
HALF: Final = Fraction(1, 2)
NEARLY: Final = 1e-3
"""Errors that differ by less, in proportion, are equal: our intervals cover the rounding of floats
to the grid, which the formulas of others leave out."""
DELTA: Final = Fraction(1, 10**9)
OUTPUTS: Final = {
    COUNT: "COUNT(*)",
    PEOPLE: "COUNT(DISTINCT person)",
    SUM: "SUM(amount)",
    MEAN: "AVG(amount)",
}
OPENDP_EPSILON, OPENDP_RHO, TUMULT, GOOGLE = "OpenDP", "OpenDP, rho", "Tumult", "GoogleSQL"
OTHERS: Final = (OPENDP_EPSILON, OPENDP_RHO, TUMULT, GOOGLE)


def cases() -> Iterator[Case]:
    """Yield all questions."""
    several = (COUNT, SUM, MEAN)
    for groups in (1, 10):
        for delta in (Fraction(0), DELTA):
            for asked in ((COUNT,), (SUM,), (MEAN,), several):
                yield Case(asked=asked, groups=groups, public=True, delta=delta)
    for groups in (1, 10):
        for asked in ((PEOPLE,), (COUNT,), (SUM,), several):
            yield Case(asked=asked, groups=groups, public=False, delta=DELTA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One error: half widths at 95 %, or the size from which every other group is shown."""

    case: Case
    judged: str
    predicted: float
    measured: float | None
    within: float | None
    """The share of errors that are within what the plan promises, where they were measured."""
    drawn: int
    others: dict[str, float]

    @property
    def worse_than(self) -> list[str]:
        """Who errs less than we do, or shows smaller groups."""
        return [who for who, error in self.others.items() if error < self.predicted * (1 - NEARLY)]


@dataclass(slots=True)
class Errors:
    """Makes the rows, with or without OpenDP."""

    opendp: Peers | None
    repeats: int
    notes: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        for case in cases():
            with opened(case) as session:
                plan = planned(session, case)
            drawn = self._drawn(case)
            predicted, others = predictions(case, plan), self._others(case)
            promised = {each.output: each.half_width for each in plan.predicted}
            for name in case.judged:
                errors, measured, within = drawn.get(name), None, None
                if errors is not None:
                    measured = float(np.quantile(errors, 0.95, method="inverted_cdf"))
                    within = float(np.mean(errors <= float(promised[name] or 0)))
                yield Row(
                    case=case,
                    judged=name,
                    predicted=predicted[name],
                    measured=measured,
                    within=within,
                    drawn=0 if errors is None else len(errors),
                    others={who: found[name] for who, found in others.items()},
                )

    def _others(self, case: Case) -> dict[str, dict[str, float]]:
        found = {}
        for who, rho in ((OPENDP_EPSILON, False), (OPENDP_RHO, True)):
            if self.opendp is None or (rho and not case.delta):
                continue
            try:
                found[who] = by_opendp(case, self.opendp, rho=rho)
            except RuntimeError as failure:
                self.notes.append(f"{who}: {case.name}: {failure}")
        return {**found, TUMULT: by_tumult(case), GOOGLE: by_google(case)}

    def _drawn(self, case: Case) -> dict[str, np.ndarray]:
        """Return how far answers are off, for all places and some answers.

        Each is asked in a session of its own: another one would give the same answer again.
        Places are so full that private ones are shown as well.
        """
        errors: dict[str, list[np.ndarray]] = {name: [] for name in case.asked}
        truth = truths(visits(case.groups))
        for _ in range(self.repeats):
            with opened(case) as session:
                answer = session.ask(planned(session, case)).to_arrow()
            for name in case.asked:
                values = np.asarray(answer.column(name).to_pylist(), dtype=np.float64)
                places = answer.column("place").to_numpy()
                errors[name].append(np.abs(values - truth[name][places]))
        return {name: np.concatenate(found) for name, found in errors.items()}


def opened(case: Case) -> Session:
    """Open a table of visits that needs no bounding, so that errors are those of noise."""
    places = f"categories = {[*range(PLACES)]}\nnullable = false" if case.public else ""
    policy = f"""
format = 1
unit = "person"
[limits]
max_groups = {case.groups}
max_rows = 1
[tables.visits.columns.place]
type = "integer"
{places}
[tables.visits.columns.amount]
type = "integer"
low = "0"
high = "{MOST}"
nullable = false
"""
    return dp.open({"visits": visits(case.groups)}, policy=policy, test_mode=True)


def planned(session: Session, case: Case) -> Plan:
    """Plan a question at its price."""
    outputs = ", ".join(f"{OUTPUTS[name]} AS {name}" for name in case.asked)
    question = f"SELECT place, {outputs} FROM visits GROUP BY place"  # noqa: S608 (ours)
    return session.plan(question, epsilon=case.epsilon, delta=case.delta, size=SIZE)


def visits(groups: int) -> pa.Table:
    """Return a table in which every person is in so many places, once, and all are equally full."""
    rows = PLACES * SIZE
    numbers = np.arange(rows)
    amount = np.random.default_rng(groups).integers(0, MOST // 5, rows)
    return pa.table({"person": numbers // groups, "place": numbers % PLACES, "amount": amount})


def truths(table: pa.Table) -> dict[str, np.ndarray]:
    """Return the answers without noise, in the order of places."""
    place, amount = table.column("place").to_numpy(), table.column("amount").to_numpy()
    counts, sums = np.bincount(place), np.bincount(place, weights=amount)
    return {COUNT: counts, PEOPLE: counts, SUM: sums, MEAN: sums / counts}


def predictions(case: Case, plan: Plan) -> dict[str, float]:
    """Return what a plan promises: half widths, and the size from which groups are shown."""
    widths = {each.output: each.half_width for each in plan.predicted}
    found = {name: float(half) for name, half in widths.items() if half is not None}
    laws: dict[str, Law] = {noise.measure: noise.mechanism for noise in plan.noises}
    if isinstance(plan.selection, NoisyKeys):
        laws[plan.chosen_by] = plan.selection.noise
    for estimate in plan.estimates:
        mean = estimate.estimator
        if isinstance(mean, Mean) and mean.measure in laws:  # else one noise for all its parts
            reach = max(mean.center - mean.low, mean.high - mean.center)
            found[MEAN] = width((mean.step, laws[mean.measure]), (reach, laws[mean.count])) / SIZE
    if plan.selection is not None:
        found[SHOWN] = plan.selection.smallest(HALF)
    return {name: found[name] for name in case.judged}
