"""The pictures of synthetic data, beside those of ``draw.py``."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.charts import Axis, Chart
from discreet.loss import ZeroConcentrated
from discreet.noise import KeyedEntropy, Uniform
from discreet.synthetic.dual_query.conjunctions import Conjunctions, random_conjunctions
from discreet.synthetic.dual_query.game import play
from discreet.synthetic.dual_query.oracle import LocalSearch
from discreet.synthetic.dual_query.query_counts import count_conjunctions
from discreet.synthetic.dual_query.settings import DualQuerySettings, default_settings
from discreet.synthetic.inference.values import CodedDomain

KINDS = (((1, 1, 0, 1), 400), ((0, 0, 1, 0), 350), ((1, 0, 0, 0), 150), ((0, 1, 0, 1), 100))
PUBLISHED = {0.25: 0.469, 0.5: 0.293, 0.75: 0.251, 1: 0.223, 2: 0.156, 3: 0.133, 4: 0.114, 5: 0.101}
"""Figure 2 of Gaboardi and others 2014: epsilon, and the largest error on the Adult table."""
SIZES = (7, 16, 7, 14, 6, 5, 2, 41, 27, 23, 22, 25, 22, 18)
"""As many values as the columns of that table have, 235 in all."""
PEOPLE, QUERIES, DELTA = 30_162, 10_000, Fraction(1, 1000)


def largest_error(
    queries: Conjunctions, held: NDArray[np.int64], rows: NDArray[np.int64], people: int
) -> float:
    """Return how far the worst query is off, as a share."""
    found, _ = count_conjunctions(queries, rows.T, np.ones(len(rows), np.int64))
    return float(np.abs(held / people - found / len(rows)).max())


def game_errors() -> Chart:
    """The largest error of the game on a thousand people, round by round, three times."""
    people = np.array([row for row, count in KINDS for _ in range(count)])
    pairs = [[(a, 1, True), (b, 1, True)] for a, b in itertools.combinations(range(4), 2)]
    queries = Conjunctions.of(CodedDomain(("a", "b", "c", "d"), (2, 2, 2, 2)), pairs)
    held, missed = count_conjunctions(queries, people.T, np.ones(len(people), np.int64))
    chart = Chart(
        title="DualQuery on 1,000 people: the worst of six pairs",
        x=Axis(label="rows released", low=1, high=60, ticks=(1, 10, 20, 30, 40, 50, 60)),
        y=Axis(label="largest error", low=0, high=0.6, ticks=(0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
    )
    for color, samples in enumerate((1, 5, 100)):
        settings = DualQuerySettings(rounds=60, samples=samples, rate=Fraction(1), rows=1000)
        rows = play(
            queries,
            held,
            missed,
            settings,
            oracle=LocalSearch(),
            stream=KeyedEntropy(key=bytes(32), label="the oracle"),
            entropy=KeyedEntropy(key=bytes(32), label=f"draws {samples}"),
        ).astype(np.int64)
        errors = [
            (float(count), min(0.6, largest_error(queries, held, rows[:count], 1000)))
            for count in range(1, 61)
        ]
        chart.line(errors, color=color, label=f"{samples} draw{'s' if samples > 1 else ''} a round")
    return chart


def made_up_adults() -> NDArray[np.int64]:
    """People of twelve hidden kinds, with as many columns and values as the Adult table has."""
    stream = KeyedEntropy(key=bytes(32), label="made-up adults")

    def levels(*shape: int) -> NDArray[np.float64]:
        """Return numbers from 0 to 1."""
        drawn = Uniform(below=1 << 32).sample(int(np.prod(shape)), stream)
        return (drawn / 2.0**32).reshape(shape)

    kinds = np.searchsorted(np.cumsum(1 / np.arange(1, 13)) / 3.103, levels(PEOPLE)).clip(0, 11)
    columns = []
    for size in SIZES:
        weights = levels(12, size) ** 6  # a few values are frequent in each kind, most are rare
        ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[kinds]
        columns.append((levels(PEOPLE, 1) > ends[:, :-1]).sum(axis=1))
    return np.stack(columns)


def rho_for(epsilon: float) -> Fraction:
    """Return the largest rho on a fine grid that is worth this epsilon."""
    low, high = 0, 1 << 16
    while high - low > 1:
        middle = (low + high) // 2
        fits = ZeroConcentrated(rho=Fraction(middle, 1 << 12)).epsilon(delta=DELTA) <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(low, 1 << 12)


def error_of_game(
    codes: NDArray[np.int64], sizes: tuple[int, ...], settings: DualQuerySettings, label: str
) -> float:
    """Play on random conjunctions of three bits, and return the largest error."""
    domain = CodedDomain(tuple(f"c{place}" for place in range(len(sizes))), sizes)
    public = KeyedEntropy(key=bytes(32), label="queries")
    queries = random_conjunctions(domain, count=QUERIES, stream=public)
    held, missed = count_conjunctions(queries, codes, np.ones(PEOPLE, np.int64))
    rows = play(
        queries,
        held,
        missed,
        settings,
        oracle=LocalSearch(),
        stream=KeyedEntropy(key=bytes(32), label="the oracle"),
        entropy=KeyedEntropy(key=bytes(32), label=label),
    ).astype(np.int64)
    return largest_error(queries, held, rows, PEOPLE)


def published_and_ours() -> Chart:
    """The published curve, and that of our defaults on a generated table of the same shape."""
    codes = made_up_adults()
    ours = []
    for epsilon in (0.25, 0.5, 1, 2, 5):
        settings = default_settings(rows=PEOPLE, rho=rho_for(epsilon), moved=1, replaces=True)
        ours.append((float(epsilon), error_of_game(codes, SIZES, settings, f"epsilon {epsilon}")))
    bits = np.concatenate(
        [codes[place] == np.arange(size)[:, None] for place, size in enumerate(SIZES)]
    ).astype(np.int64)
    theirs = DualQuerySettings(rounds=40, samples=488, rate=Fraction(6, 5), rows=PEOPLE)
    same = [(1.0, error_of_game(bits, (2,) * len(bits), theirs, "as published"))]
    chart = Chart(
        title="DualQuery, published and ours (δ = 0.001, 30,162 people, 235 bits)",
        x=Axis(label="ε", low=0.25, high=5, ticks=(0.25, 0.5, 1, 2, 5), log=True),
        y=Axis(label="largest error", low=0, high=0.5, ticks=(0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    )
    published = [(float(epsilon), error) for epsilon, error in PUBLISHED.items()]
    chart.line(published, color=1, label="paper, Adult", dashed=True)
    chart.dots(published, color=1)
    chart.dots(same, color=2, label="its settings, our table")
    chart.line(ours, color=0, label="ours, our table")
    chart.dots(ours, color=0)
    return chart


SYNTHETIC = {"dual-query-rounds": game_errors, "dual-query-curve": published_and_ours}
