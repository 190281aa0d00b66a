"""Synthetic tables by us and by others: how far off, and in how much CPU time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import discreet as dp
from benchmarks.peers.environment import Peers, PeersUnavailable, make_environment
from benchmarks.rows.synthetic_tables import (
    CodedTable,
    Distance,
    distance,
    rows_distance,
    triples,
)
from benchmarks.time_limits import TookTooLong, within
from discreet.synthetic.release import SyntheticRelease

EPSILON, DELTA = "1", "1e-9"
RHO: Final = 0.01497
"""What epsilon 1 at delta 1e-9 is worth."""
ROUNDS: Final = 32
"""Nominal rounds of AIM where others are compared: with more they do not end."""
LIMIT: Final = 90
"""CPU seconds that another library may take: many times what the bars ask of ours."""
PATIENCE: Final = 900
"""Seconds by the clock that a row, or setting up another library, may take."""
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
    versions: dict[str, str] = field(default_factory=dict)
    """Of the packages that made it, where these are others'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One row of ours: a method, and what bars know it by."""

    kind: str
    method: Callable[[], Any]
    price: dict[str, Any] = field(default_factory=lambda: {"epsilon": EPSILON, "delta": DELTA})
    ways: int = 3
    runs: int | None = None
    """How many runs at most, for rows that take long."""


def works(*, quick: bool) -> Iterator[Work]:
    """Yield our rows."""
    yield Work(kind="product", method=dp.synthetic.Independent)
    yield Work(kind="mst", method=dp.synthetic.MST)
    yield Work(kind="mwem", method=lambda: dp.synthetic.MWEM(rounds=120), runs=1)
    yield Work(kind="aim, 32 rounds", method=lambda: dp.synthetic.AIM(rounds=ROUNDS))
    if not quick:
        yield Work(kind="aim", method=dp.synthetic.AIM)


def survey_works() -> Iterator[Work]:
    """Yield our rows on NLTCS."""
    yield Work(kind="nltcs, product", method=dp.synthetic.Independent)
    yield Work(kind="nltcs, mwem", method=lambda: dp.synthetic.MWEM(rounds=120), runs=1)
    yield Work(kind="nltcs, aim", method=dp.synthetic.AIM)


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
    """Make tables several times, and average; say so if that takes too long."""
    try:
        with within(PATIENCE):
            return _run(table, work, min(runs, work.runs or runs))
    except TookTooLong as failure:
        return Made(kind=work.kind, contender=OURS, why=str(failure))


def _run(table: CodedTable, work: Work, runs: int) -> Made:
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
            yield from _library(
                table,
                name,
                [
                    (
                        kind,
                        {"path": str(path), "out": str(Path(folder) / "out.npz"), **price, **more},
                    )
                    for kind, more in requests
                ],
            )


def _library(
    table: CodedTable, name: str, requests: Sequence[tuple[str, dict[str, object]]]
) -> Iterator[Made]:
    """Set a library up, and ask it; nothing waits longer than its limit."""
    contender = name.partition("_")[2]
    try:
        with within(PATIENCE):
            make_environment(name)
    except (PeersUnavailable, TookTooLong) as failure:
        for kind, _ in requests:
            yield Made(kind=kind, contender=contender, why=f"not set up: {failure}")
        return
    for kind, request in requests:
        yield _asked(table, name, kind, contender, request)


def _asked(
    table: CodedTable, name: str, kind: str, contender: str, request: dict[str, object]
) -> Made:
    """Ask for one table, in a process of its own."""
    spent, versions = 0.0, dict[str, str]()
    try:
        with within(PATIENCE), Peers(name) as peers:
            before, versions = peers.seconds(), peers.versions
            try:
                answer = peers.ask(**request)
            except TookTooLong:
                spent = peers.seconds() - before
                raise
    except TookTooLong as failure:
        why = f"{failure}, with {spent:.0f} s of CPU time"
        return Made(kind=kind, contender=contender, why=why, limit=spent, versions=versions)
    except PeersUnavailable as failure:
        return Made(kind=kind, contender=contender, why=str(failure))
    return _other(table, kind, contender, answer, versions)


def _other(
    table: CodedTable,
    kind: str,
    contender: str,
    answer: dict[str, Any],
    versions: dict[str, str],
) -> Made:
    if "why" in answer:
        limit = answer.get("limit")
        return Made(
            kind=kind, contender=contender, why=answer["why"], limit=limit, versions=versions
        )
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
        versions=versions,
    )


def _mean(found: list[Distance]) -> Distance:
    return Distance(
        mean=float(np.mean([each.mean for each in found])),
        worst=float(np.mean([each.worst for each in found])),
        cell=float(np.mean([each.cell for each in found])),
    )
