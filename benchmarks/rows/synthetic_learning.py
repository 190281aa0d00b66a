"""A classifier trained on synthetic rows and tested on real ones, beside one trained on real rows.

The classifier is logistic regression on one bit for each value of each column, with a fixed
penalty; its last column is what it learns.  Real people are split before anything else: synthetic
tables are made from the first part alone, and everything is tested on the second.  Beside them is
the same model, itself trained privately on the real rows.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.stats import rankdata  # type: ignore[import-untyped]

import discreet as dp
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.rows.synthetic import PATIENCE, Work, synthesized
from benchmarks.rows.synthetic_tables import CodedTable, Codes, latent
from benchmarks.time_limits import TookTooLong, within

PENALTY: Final = 1.0
TESTED: Final = 4
"""One row of so many is kept for the test."""
PRICES: Final = ("1", "4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """How well a classifier does on real people that it has not seen."""

    table: str
    trained_on: str
    area: float | None = None
    accuracy: float | None = None


def learned(*, peers: bool, runs: int) -> Iterator[Learned]:
    """Teach and test on every table."""
    for name, table in _tables(peers=peers):
        order = np.random.default_rng(11).permutation(len(table.codes))
        tested = table.codes[order[::TESTED]]
        taught = np.delete(table.codes[order], np.s_[::TESTED], axis=0)
        yield _tested(name, "real rows, not private", taught, tested, table.sizes)
        guess = np.full(len(tested), float(taught[:, -1].mean()))
        yield _scored(name, "nothing but the share", guess, tested[:, -1])
        for trained_on, teach in _private_ways():
            yield _several(name, trained_on, teach, CodedTable(taught, table.sizes), tested, runs)


Teacher = Callable[[CodedTable, Codes], NDArray[Any]]
"""Learns from private rows at a price, and returns a score for each tested row."""


def _several(  # noqa: PLR0913, PLR0917  a row of the report, and how it is found
    name: str, trained_on: str, teach: Teacher, taught: CodedTable, tested: Codes, runs: int
) -> Learned:
    """Teach and test several times, and average; say so if that takes too long."""
    try:
        with within(PATIENCE):
            results = [_scored(name, "", teach(taught, tested), tested[:, -1]) for _ in range(runs)]
    except TookTooLong as failure:
        return Learned(table=name, trained_on=f"{trained_on}: {failure}")
    return Learned(
        table=name,
        trained_on=trained_on,
        area=float(np.mean([each.area for each in results])),
        accuracy=float(np.mean([each.accuracy for each in results])),
    )


def _private_ways() -> Iterator[tuple[str, Teacher]]:
    """Yield each private way to a classifier, with its name, at every price."""
    for epsilon in PRICES:
        price = {"epsilon": epsilon, "delta": "1e-9"}
        for kind, method in (("mst", dp.synthetic.MST), ("aim", dp.synthetic.AIM)):
            work = Work(kind=kind, method=method, price=price, ways=2)
            yield f"rows of {kind}, epsilon {epsilon}", partial(_from_synthetic_rows, work)
        yield f"real rows, privately, epsilon {epsilon}", partial(_from_private_training, price)


def _from_private_training(
    price: Mapping[str, str], taught: CodedTable, tested: Codes
) -> NDArray[Any]:
    """Train the classifier itself privately, with the defaults of its room."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = dp.ledger.Ledger.open(
            f"{folder}/learned.ledger", unit=dp.row(), budget=dp.Budget(epsilon=50, delta="1e-6")
        )
        model = dp.models.LogisticRegression(**price, bounds=(0, 1), classes=(0, 1), ledger=ledger)
        model.fit(_bits(taught.codes, taught.sizes)[:, :-1], taught.codes[:, -1].astype(np.int64))
    scores: NDArray[Any] = model.decision_function(_bits(tested, taught.sizes)[:, :-1])
    return scores


def _from_synthetic_rows(work: Work, taught: CodedTable, tested: Codes) -> NDArray[Any]:
    made = synthesized(taught, work).table(len(taught.codes))
    columns = [made.column(each).to_numpy() for each in taught.names]
    rows = np.stack(columns, axis=1).astype(np.uint8)
    weights = _fitted(_bits(rows, taught.sizes), rows[:, -1].astype(np.float64))
    scores: NDArray[Any] = _bits(tested, taught.sizes) @ weights
    return scores


def _tables(*, peers: bool) -> Iterator[tuple[str, CodedTable]]:
    yield "the twin, its last bit from the others", latent()
    if peers:
        try:
            with within(PATIENCE):
                survey = _survey()
        except (PeersUnavailable, TookTooLong) as failure:
            print(f"Fair's survey: {failure}", file=sys.stderr)
        else:
            yield "Fair's survey: affairs from eight answers", survey


def _survey() -> CodedTable:
    """Return a public table that another library's environment has."""
    with tempfile.TemporaryDirectory() as folder, Peers("synthetic_smartnoise") as others:
        answer = others.ask(method="table", out=str(Path(folder) / "fair.npz"), limit=60)
        if "path" not in answer:
            raise PeersUnavailable(str(answer.get("why")))
        with np.load(answer["path"]) as found:
            return CodedTable(found["codes"], tuple(int(size) for size in found["sizes"]))


def _tested(
    name: str, trained_on: str, taught: Codes, tested: Codes, sizes: tuple[int, ...]
) -> Learned:
    weights = _fitted(_bits(taught, sizes), taught[:, -1].astype(np.float64))
    return _scored(name, trained_on, _bits(tested, sizes) @ weights, tested[:, -1])


def _scored(name: str, trained_on: str, scores: NDArray[Any], truth: Codes) -> Learned:
    ones = truth == 1
    ranks = rankdata(scores)
    count = int(ones.sum())
    area = (ranks[ones].sum() - count * (count + 1) / 2) / (count * (len(truth) - count))
    half = 0.5 if "share" in trained_on else 0.0
    accuracy = float(((scores > half) == ones).mean())
    return Learned(table=name, trained_on=trained_on, area=float(area), accuracy=accuracy)


def _bits(codes: Codes, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Return one bit for each value of each column but the last, and a constant."""
    parts = [np.eye(size)[codes[:, place]] for place, size in enumerate(sizes[:-1])]
    return np.concatenate([*parts, np.ones((len(codes), 1))], axis=1)


def _fitted(bits: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    def objective(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = bits @ weights
        value = np.logaddexp(0, scores).sum() - truth @ scores + PENALTY * weights @ weights / 2
        chances = 1 / (1 + np.exp(-np.clip(scores, -40, 40)))
        return float(value), bits.T @ (chances - truth) + PENALTY * weights

    found = minimize(objective, np.zeros(bits.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x)
