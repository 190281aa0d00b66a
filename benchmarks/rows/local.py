"""What ``benchmarks/local.py`` races: randomizers and collectors against two other libraries."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Contender, Race, timed
from benchmarks.peers.environment import Peers
from benchmarks.report import OURS
from discreet.local import Direct, Form, FrequencyOracle, Hadamard, NumberRange, Subset, Unary

if TYPE_CHECKING:
    from discreet.local import NumberRandomizer

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"
VALUES, MANY = 128, 1 << 16
EPSILON = 1
ORACLES: dict[str, Callable[[int], FrequencyOracle]] = {
    "direct": lambda values: Direct(epsilon=EPSILON, values=values),
    "unary": lambda values: Unary(epsilon=EPSILON, values=values),
    "subset": lambda values: Subset(epsilon=EPSILON, values=values),
    "hadamard": lambda values: Hadamard(epsilon=EPSILON, values=values),
}
HYBRID = {1: 4.289, 2: 1.042, 4: 0.2190}
"""Worst variance of the hybrid mechanism (Wang et al. 2019), by epsilon."""
IN_PEERS = {PURE: ("direct", "unary", "hadamard"), MULTI: ("direct", "unary", "subset")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many people report. Peers get fewer; all figures are per report."""

    people: int = 200_000
    crowd: int = 10**7
    chunk: int = 1 << 20
    peers: int = 20_000
    runs: int = 300  # of the errors
    peer_runs: int = 20


QUICK = Sizes(people=50_000, crowd=10**6, chunk=1 << 18, peers=2_000, runs=40, peer_runs=2)


@dataclass(frozen=True, slots=True)
class Errors:
    """The mean squared error of estimated shares, times the number of reports."""

    oracle: str
    formula: float
    measured: dict[str, float]
    runs: dict[str, int]


@dataclass(frozen=True, slots=True)
class Field:
    """Makes races of one size, with or without peers."""

    sizes: Sizes
    peers: dict[str, Peers]

    def races(self) -> Iterator[Race]:
        """Yield all races, building the data of each only when its turn comes."""
        for name in ("direct", "unary", "subset", "hadamard"):
            yield from self.sides(name)
        for values in (VALUES, MANY):
            yield self.end_to_end(values)

    def sides(self, name: str) -> Iterator[Race]:
        """One oracle, client and server each."""
        oracle, people = ORACLES[name](VALUES), zipf(self.sizes.people, VALUES)
        reports = oracle.run_each(people)
        work: dict[str, Callable[[], object]] = {
            "client": lambda: oracle.run_each(people),
            "server": lambda: shares(oracle, oracle.tally(reports), len(people)),
        }
        for side, ours in work.items():
            yield Race(
                kind=f"{name} {side}",
                name=f"{name}, {VALUES} values, {side}",
                size=VALUES,
                contenders={
                    OURS: timed(ours, units=len(people)),
                    **self._peers(name, side, VALUES),
                },
            )

    def end_to_end(self, values: int) -> Race:
        """Ten million Hadamard reports: randomize, pack, unpack, aggregate, estimate."""
        sizes, oracle = self.sizes, ORACLES["hadamard"](values)
        others = self._peers("hadamard", "both", values) if PURE in self.peers else {}
        return Race(
            kind="end to end",
            name=f"hadamard, {values} values, end to end",
            size=values,
            contenders={
                OURS: timed(lambda: collect(oracle, sizes.crowd, sizes.chunk), units=sizes.crowd),
                **others,
            },
            rounds=3,
        )

    def _peers(self, name: str, side: str, values: int) -> dict[str, Contender]:
        people = zipf(self.sizes.peers, values).tolist()
        request = {"oracle": name, "side": side, "values": values, "epsilon": EPSILON}
        return {
            library: self.peers[library].contender(people=people, **request)
            for library, names in IN_PEERS.items()
            if library in self.peers and name in names
        }

    def errors(self) -> Iterator[Errors]:
        """Compare errors on Zipf's law, at the same epsilon and the same number of reports."""
        people = zipf(self.sizes.peers, VALUES)
        truth = np.bincount(people, minlength=VALUES) / len(people)
        for name, make in ORACLES.items():
            oracle = make(VALUES)
            formula = float(np.mean([oracle.variance(float(f)).nearest() for f in truth]))
            squares = []
            for _ in range(self.sizes.runs):
                found = shares(oracle, oracle.tally(oracle.run_each(people)), len(people))
                squares.append(len(people) * np.mean((found - truth) ** 2))
            measured, runs = {OURS: float(np.mean(squares))}, {OURS: self.sizes.runs}
            for library, names in IN_PEERS.items():
                if library in self.peers and name in names:
                    answer = self.peers[library].ask(
                        oracle=name,
                        side="errors",
                        values=VALUES,
                        epsilon=EPSILON,
                        people=people.tolist(),
                        runs=self.sizes.peer_runs,
                    )
                    measured[library] = float(answer["value"])
                    runs[library] = self.sizes.peer_runs
            yield Errors(name, formula, measured, runs)

    def beyond_a_chunk(self) -> int:
        """Return the most bytes that collecting all reports holds beyond one chunk of people."""
        sizes, oracle = self.sizes, ORACLES["hadamard"](MANY)
        collect(oracle, 1000, 1000)
        tracemalloc.start()
        collect(oracle, sizes.crowd, sizes.chunk)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        codes = sizes.chunk * zipf(1, MANY).itemsize
        return peak - codes


def mean_variances() -> dict[int, float]:
    """Return the worst variance of a number in [-1, 1], by epsilon, as forms report it."""
    numbers = NumberRange(low=-1, high=1)
    chosen = {e: cast("NumberRandomizer", Form.of(numbers, epsilon=e).randomizer) for e in HYBRID}
    return {e: randomizer.variance().nearest() for e, randomizer in chosen.items()}


def zipf(people: int, values: int) -> NDArray[np.int64]:
    """Return the codes of people whose values follow Zipf's law, rounded down."""
    weights = 1 / np.arange(1, values + 1)
    ends = np.floor(np.cumsum(weights) / weights.sum() * people)
    return np.searchsorted(ends, np.arange(people), side="right").clip(0, values - 1)


def shares(oracle: FrequencyOracle, tally: NDArray[np.int64], people: int) -> NDArray[np.float64]:
    """Return the unbiased estimates of all shares."""
    p, q = (float(chance) for chance in oracle.exact_chances())
    return (oracle.supports(tally) / people - q) / (p - q)


def collect(oracle: FrequencyOracle, people: int, chunk: int) -> NDArray[np.float64]:
    """Let people report in chunks, as bytes without gaps, and estimate all shares."""
    codes = zipf(min(people, chunk), oracle.values)
    total = oracle.tally(oracle.run_each(codes[:0]))
    for start in range(0, people, chunk):
        here = codes[: min(chunk, people - start)]
        batch = oracle.pack_batch(oracle.run_each(here))
        reports, _ = oracle.unpack_batch(batch, count=len(here))
        total += oracle.tally(reports)
    return shares(oracle, total, people)
