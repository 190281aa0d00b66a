"""Synthetic tables by us and by others: how far off, and in how much CPU time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import discreet as dp
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.rows.synthetic_tables import (
    CodedTable,
    Distance,
    distance,
    rows_distance,
    triples,
)
from discreet.synthetic.release import SyntheticRelease

EPSILON, DELTA = "1", "1e-9"
RHO: Final = 0.01497
"""What epsilon 1 at delta 1e-9 is worth."""
ROUNDS: Final = 32
"""Nominal rounds of AIM where others are compared: with more they do not end."""
LIMIT: Final = 600
"""CPU seconds that another library may take."""
OURS: Final = "discreet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What one contender made of the twin, on average over its runs."""

    kind: str
    contender: str
    plan_seconds: float | None = None
    seconds: float | None = None
    rows_seconds: float | None = None
    model: Distance | None = None
    rows: Distance | None = None
    expected: float | None = None
    """The distance between a model and independent draws from it."""
    from_model: float | None = None
    """The distance between a model and its rows."""
    why: str = ""
    limit: float | None = None
    """The CPU seconds after which it was broken off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One row of ours: a method, and what bars know it by."""

    kind: str
    method: Callable[[], Any]
    price: dict[str, Any] = field(default_factory=lambda: {"epsilon": EPSILON, "delta": DELTA})
    ways: int = 3


def works(*, quick: bool) -> Iterator[Work]:
    """Yield our rows."""
    yield Work(kind="product", method=dp.synthetic.Independent)
    yield Work(kind="mst", method=dp.synthetic.MST)
    yield Work(kind="mwem", method=lambda: dp.synthetic.MWEM(rounds=120))
    yield Work(kind="aim, 32 rounds", method=lambda: dp.synthetic.AIM(rounds=ROUNDS))
    if not quick:
        yield Work(kind="aim", method=dp.synthetic.AIM)


def synthesized(
    table: CodedTable, work: Work, planned: Callable[[], object] = lambda: None
) -> SyntheticRelease:
    """Make a synthetic table through a session and a ledger of its own.

    ``planned`` is called in between, once everything is priced.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        dp.open(
            {"people": table.arrow}, policy=table.policy, ledger=Path(folder) / "bench.ledger"
        ) as session,
    ):
        plan = dp.plan_synthesis(
            session,
            "people",
            workload=dp.synthetic.marginals(work.ways),
            method=work.method(),
            anyway=True,
            **work.price,
        )
        planned()
        return dp.synthesize(session, plan)


def run(table: CodedTable, work: Work, runs: int) -> Made:
    """Make tables several times, and average."""
    plans: list[float] = []
    seconds: list[float] = []
    rows_seconds: list[float] = []
    models, rows, own = [], [], []
    expected = 0.0
    for _ in range(runs):
        times = [time.process_time()]

        def tick(times: list[float] = times) -> None:
            times.append(time.process_time())

        release = synthesized(table, work, tick)
        model = release.model
        tick()
        made = release.table(len(table.codes))
        tick()
        for spent, since, until in zip(
            (plans, seconds, rows_seconds), times[:-1], times[1:], strict=True
        ):
            spent.append(until - since)
        found = {marginal: model.marginal(marginal) for marginal in triples(len(table.sizes))}
        models.append(distance(table, found))
        codes = np.stack([made.column(name).to_numpy() for name in table.names], axis=1)
        rows.append(rows_distance(table, codes.astype(np.uint8)))
        copy = CodedTable(codes.astype(np.uint8), table.sizes)
        own.append(distance(copy, found).mean)
        expected = _expected(found, len(codes))
    return Made(
        kind=work.kind,
        contender=OURS,
        plan_seconds=min(plans),
        seconds=min(seconds),
        rows_seconds=min(rows_seconds),
        model=_mean(models),
        rows=_mean(rows),
        expected=expected,
        from_model=float(np.mean(own)),
    )


def _expected(found: dict[tuple[int, ...], Any], count: int) -> float:
    """Return how far independent draws are from the model they come from, in the mean."""
    generator = np.random.default_rng(5)
    halves = []
    for counts in found.values():
        shares = np.maximum(np.asarray(counts).ravel(), 0)
        shares /= shares.sum()
        drawn = generator.multinomial(count, shares) / count
        halves.append(float(np.abs(drawn - shares).sum()) / 2)
    return float(np.mean(halves))


def others(table: CodedTable, *, limit: int = LIMIT) -> Iterator[Made]:
    """Let the other libraries make tables, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "twin.npy"
        np.save(path, table.codes)
        asked: dict[str, list[tuple[str, dict[str, object]]]] = {
            "synthetic_smartnoise": [
                ("mst", {"method": "mst"}),
                ("aim, 32 rounds", {"method": "aim", "rounds": ROUNDS}),
            ],
            "synthetic_mbi": [("aim, 32 rounds", {"rounds": ROUNDS, "rho": RHO, "seed": 1})],
        }
        price = {"epsilon": float(EPSILON), "delta": float(DELTA), "values": 2, "limit": limit}
        for name, requests in asked.items():
            contender = name.partition("_")[2]
            try:
                with Peers(name) as peers:
                    for kind, more in requests:
                        answer = peers.ask(
                            path=str(path), out=str(Path(folder) / "out.npz"), **price, **more
                        )
                        yield _other(table, kind, contender, answer)
            except PeersUnavailable as failure:
                yield Made(kind=requests[0][0], contender=contender, why=str(failure))


def _other(table: CodedTable, kind: str, contender: str, answer: dict[str, Any]) -> Made:
    if "why" in answer:
        limit = answer.get("limit")
        return Made(kind=kind, contender=contender, why=answer["why"], limit=limit)
    with np.load(answer["path"]) as made:
        marginals = triples(len(table.sizes))
        model = distance(table, dict(zip(marginals, made["marginals"], strict=True)))
        rows = rows_distance(table, made["rows"])
    return Made(
        kind=kind,
        contender=contender,
        seconds=answer["seconds"],
        rows_seconds=answer["rows_seconds"],
        model=model,
        rows=rows,
    )


def _mean(found: list[Distance]) -> Distance:
    return Distance(
        mean=float(np.mean([each.mean for each in found])),
        worst=float(np.mean([each.worst for each in found])),
        cell=float(np.mean([each.cell for each in found])),
    )
