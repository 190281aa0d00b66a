"""DualQuery on half a million conjunctions: as it was published, upgraded, and on very wide tables.

``python -m benchmarks.rows.synthetic_queries [ADULT]`` prints errors and CPU seconds; ADULT is the
file ``adult.data`` of the UCI repository, which the benchmark leaves in .venv.bench.
Without it the table is a generated twin: as many people, columns and codes, from a few hidden
classes.  With ``curve`` behind it, our errors are printed at every price of the paper's curve.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.loss import ZeroConcentrated
from discreet.noise import KeyedEntropy
from discreet.synthetic.dual_query.conjunctions import (
    Conjunctions,
    count_conjunctions,
    random_conjunctions,
)
from discreet.synthetic.dual_query.oracle import LocalSearch
from discreet.synthetic.dual_query.settings import DualQuerySettings, default_settings, play
from discreet.synthetic.inference.inference import CodedDomain

QUERIES: Final = 500_000
PEOPLE: Final = 30_162
SIZES: Final = (74, 7, 5, 16, 16, 7, 14, 6, 5, 2, 10, 10, 20, 41, 2)
"""Codes of the columns of Adult: 235 bits."""
PUBLISHED: Final = DualQuerySettings(rounds=40, samples=488, rate=Fraction(6, 5), rows=PEOPLE)
"""Priced at epsilon 1, delta 0.001 by advanced composition (Gaboardi et al. 2014)."""
RHO: Final = Fraction("0.0593")
"""Epsilon 1 at delta 0.001."""
PRICES: Final = (0.25, 0.5, 0.75, 1, 2, 3, 4, 5)
"""The epsilons of the paper's curve on Adult."""
WIDE_BITS: Final = 512_000
WIDE_PEOPLE: Final = 100_000
WIDE_QUERIES: Final = 100_000
_WORDS: Final = 16
_CHUNK: Final = 8192
_ONES: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

Codes = list[NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """How far the answers of rows are from those of the data, and the price that is proved."""

    largest: float
    average: float
    epsilon: float


def twin() -> Codes:
    """Draw people of a few hidden classes."""
    generator = np.random.default_rng(7)
    kinds = generator.choice(8, PEOPLE, p=generator.dirichlet(np.full(8, 0.8)))
    columns = []
    for size in SIZES:
        ends = np.cumsum(generator.dirichlet(np.full(size, 0.3), size=8), axis=1)
        columns.append((generator.random((PEOPLE, 1)) > ends[kinds][:, :-1]).sum(axis=1))
    return columns


def adult(path: Path) -> Codes:
    """Read people without unknown values; bins of numbers are fixed here, categories are sorted."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(SIZES)]
    columns = list(zip(*(row for row in rows if "?" not in row), strict=True))
    edges: dict[int, Sequence[int]] = {
        0: range(18, 91),
        2: range(100_000, 500_000, 100_000),
        10: (1, 2000, 4000, 6000, 8000, 10_000, 15_000, 20_000, 50_000),
        11: (1, 1000, 1400, 1600, 1700, 1800, 1900, 2000, 2200),
        12: range(5, 100, 5),
    }
    return [
        np.searchsorted(edges[place], np.array(values, np.int64), side="right")
        if place in edges
        else np.unique(values, return_inverse=True)[1]
        for place, values in enumerate(columns)
    ]


def faithful(codes: Codes, seed: int = 0) -> Answers:
    """Play as published: every bit is free, and settings are those of the paper."""
    offsets = np.cumsum((0, *SIZES[:-1]))
    bits = np.zeros((sum(SIZES), len(codes[0])), np.uint8)
    for offset, column in zip(offsets, codes, strict=True):
        bits[offset + column, np.arange(column.size)] = 1
    return _played(_free_queries(seed), bits, replace(PUBLISHED, rows=len(codes[0])), seed)


def upgraded(codes: Codes, seed: int = 0, rho: Fraction = RHO) -> Answers:
    """Play with one code a column, and the settings that are the default for this price.

    The defaults were fitted to settings that were found by search on Adult itself; the twin is the
    table that they have not seen.
    """
    free = _free_queries(seed)
    owners = np.repeat(np.arange(len(SIZES)), SIZES)
    places = np.concatenate([np.arange(size) for size in SIZES])
    bits = free.bit_columns[free.bits]
    domain = CodedDomain(tuple(f"c{place:02}" for place in range(len(SIZES))), SIZES)
    queries = Conjunctions.compiled(domain, owners[bits], places[bits], free.negated)
    settings = default_settings(rows=len(codes[0]), rho=rho, moved=1, replaces=True)
    return _played(queries, codes, settings, seed)


def wide(seed: int = 0) -> Answers:
    """Play on biased bits, with the settings that are the default; data is made in pieces."""
    domain = CodedDomain(tuple(map(str, range(WIDE_BITS))), (2,) * WIDE_BITS)
    queries = random_conjunctions(domain, count=WIDE_QUERIES, stream=_stream("queries", seed))
    held = _counts_of_biased_bits(queries, np.random.Generator(np.random.SFC64(seed)))
    settings = default_settings(rows=WIDE_PEOPLE, rho=RHO, moved=1, replaces=True)
    return _judged(queries, held, settings, seed)


def _counts_of_biased_bits(
    queries: Conjunctions, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Draw people whose bits have biases from 0/256 to 255/256, and count conjunctions among them.

    A word holds one bit of 64 people; they are drawn digit by digit of the bias, lowest first.
    """
    bias = generator.integers(0, 256, queries.bit_columns.size, dtype=np.uint64)
    flips = np.where(queries.negated, _ONES, np.uint64(0))
    held = np.zeros(queries.count, np.int64)
    table = np.empty((bias.size, _WORDS), np.uint64)
    for start in range(0, WIDE_PEOPLE, 64 * _WORDS):
        for first in range(0, bias.size, _CHUNK):
            part = table[first : first + _CHUNK]
            part[:] = 0
            for digit in range(8):
                words = generator.integers(0, _ONES, part.shape, dtype=np.uint64, endpoint=True)
                one = np.where(bias[first : first + _CHUNK] >> np.uint64(digit) & 1, _ONES, 0)
                either = (part ^ words) & one[:, None].astype(np.uint64)
                part &= words
                part |= either  # a bit below the bias: by this digit, or equal and by lower ones
        met = np.full((queries.count, _WORDS), _ONES)
        for place in range(queries.width):
            met &= table[queries.bits[:, place]] ^ flips[:, place, None]
        there = np.arange(64 * _WORDS) < WIDE_PEOPLE - start
        met &= np.packbits(there, bitorder="little").view(np.uint64)
        held += np.bitwise_count(met).sum(axis=1, dtype=np.int64)
    return held


def _free_queries(seed: int) -> Conjunctions:
    number = sum(SIZES)
    domain = CodedDomain(tuple(map(str, range(number))), (2,) * number)
    return random_conjunctions(domain, count=QUERIES, stream=_stream("queries", seed))


def _played(
    queries: Conjunctions,
    codes: Codes | NDArray[np.uint8],
    settings: DualQuerySettings,
    seed: int,
) -> Answers:
    held, _ = count_conjunctions(queries, codes, np.ones(settings.rows, np.int64))
    return _judged(queries, held, settings, seed)


def _judged(
    queries: Conjunctions, held: NDArray[np.int64], settings: DualQuerySettings, seed: int
) -> Answers:
    rows = play(
        queries,
        held,
        settings.rows - held,
        settings,
        oracle=LocalSearch(),
        stream=_stream("rows", seed),
        entropy=_stream("draws", seed),
    )
    answers = sum(queries.holds(row).astype(np.int64) for row in rows) / len(rows)
    errors = np.abs(answers - held / settings.rows)
    loss = ZeroConcentrated(rho=settings.rho(moved=1, replaces=True))
    return Answers(
        largest=float(errors.max()),
        average=float(errors.mean()),
        epsilon=loss.epsilon(delta=1e-3),
    )


def _stream(label: str, seed: int) -> KeyedEntropy:
    return KeyedEntropy(key=seed.to_bytes(32, "little"), label=label)


def curve(codes: Codes) -> None:
    """Print our largest error at every price of the paper's curve, the mean of three runs."""
    for epsilon in PRICES:
        rho = rho_for(epsilon)
        errors = [upgraded(codes, seed, rho).largest for seed in range(3)]
        print(f"epsilon {epsilon}: largest error {sum(errors) / 3:.4f}", flush=True)
    errors = [faithful(codes, seed).largest for seed in range(3)]
    print(f"as published, epsilon 1: largest error {sum(errors) / 3:.4f}")


def rho_for(epsilon: float) -> Fraction:
    """Return the largest rho on a fine grid that is worth this epsilon at delta 0.001."""
    low, high = 0, 1 << 20
    while high - low > 1:
        middle = (low + high) // 2
        fits = ZeroConcentrated(rho=Fraction(middle, 1 << 16)).epsilon(delta=1e-3) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(low, 1 << 16)


def main() -> int:
    """Play all three, and print how far answers are off."""
    codes = adult(Path(sys.argv[1])) if len(sys.argv) > 1 else twin()
    if sys.argv[2:] == ["curve"]:
        curve(codes)
        return 0
    works: dict[str, Callable[[], Answers]] = {
        "faithful": lambda: faithful(codes),
        "upgraded": lambda: upgraded(codes),
        "512,000 bits": wide,
    }
    for name, work in works.items():
        start = time.process_time()
        found = work()
        seconds = time.process_time() - start
        print(
            f"{name}: largest error {found.largest:.4f}, average {found.average:.4f}, "
            f"epsilon {found.epsilon:.4f}, {seconds:.1f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
