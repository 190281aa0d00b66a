"""Tuning: the best of a random number of private runs, at its true price.

Trust: kernel.  A run picks a candidate at random, fits it and scores it by a noisy count of right
answers, and costs at most rho; how many runs there are follows the logarithmic law, and the best of
them is told (keys ``random-stopping``, ``logarithmic-draw``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.learning.models.paid_fit import opened, pay_and_store, unit_of_rows
from discreet.learning.models.rows.given import refuse_declared, refuse_ignored
from discreet.learning.models.session_rows import is_table, plan_in_session
from discreet.learning.tuning.evaluation import CLASSIFIERS
from discreet.learning.tuning.tuned_draw import Promise, TunedDraw
from discreet.ledger.values import StoredAnswer
from discreet.noise import SYSTEM
from discreet.session.inquiry import Inquiry
from discreet.session.programs import Program

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
    if not isinstance(candidates, Sequence):
        raise WrongKind(
            what=f"the candidates are a {type(candidates).__name__}, not a list of models.",
            why="each run picks one of them at random.",
            do="give candidates=[first, second].",
        )
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
        refuse_ignored(table=True, y=y, ledger=ledger)
        for model in chosen:
            refuse_declared(model)
        draw, stored = _in_session(chosen, X, label, columns, promise)
    else:
        refuse_ignored(table=False, label=label, columns=columns)
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


def _on_arrays(
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
