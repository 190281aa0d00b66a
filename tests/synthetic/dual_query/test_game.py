"""The game: exact laws of its draws, what its rows answer, and that it repeats."""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import exact_law
from discreet.certified import exp_neg
from discreet.mechanisms import Exponential
from discreet.noise import KeyedEntropy, exponential_weights
from discreet.noise.bernoulli import CoinSizes
from discreet.synthetic.dual_query.conjunctions import (
    Conjunctions,
    count_conjunctions,
    random_conjunctions,
)
from discreet.synthetic.dual_query.oracle import LocalSearch
from discreet.synthetic.dual_query.settings import DualQuerySettings, play, query_scores
from discreet.synthetic.inference.inference import CodedDomain

DOMAIN = CodedDomain(("a", "b"), (2, 2))
PAIR = Conjunctions.of(DOMAIN, [[(0, 1, True), (1, 1, True)], [(0, 1, True), (1, 1, False)]])


def stream(label):
    return KeyedEntropy(key=bytes(range(32)), label=label)


def counts_of(queries, rows):
    codes = list(np.array(rows).T)
    return count_conjunctions(queries, codes, np.ones(len(rows), np.int64))


class Recorded:
    """An oracle that returns given rows, and keeps what it was asked."""

    def __init__(self, rows):
        self.rows, self.samples = list(rows), []

    def best(self, sample, _):
        self.samples.append(sample)
        return np.array(self.rows[len(self.samples) - 1])


def scores_by_definition(written, table, released, rows):
    """k c_q - N (q(x_1) + ... + q(x_k)), for all conjunctions, then for their negations."""
    holds = lambda query, row: all((row[c] == v) == w for c, v, w in query)  # noqa: E731
    queries = [lambda row, q=q: holds(q, row) for q in written]
    queries += [lambda row, q=q: not holds(q, row) for q in written]
    return [
        len(released) * sum(q(row) for row in table) - rows * sum(q(row) for row in released)
        for q in queries
    ]


def test_every_round_draws_by_the_scores_of_the_definition():
    written = [
        [(0, 1, True), (1, 1, True), (2, 0, True)],
        [(0, 1, True), (1, 1, False), (2, 2, True)],
        [(0, 0, True), (2, 1, False), (2, 2, False)],
    ]
    domain = CodedDomain(("a", "b", "c"), (2, 2, 3))
    queries = Conjunctions.of(domain, written)
    generator = np.random.default_rng(5)
    table = [tuple(int(generator.integers(0, s)) for s in domain.sizes) for _ in range(20)]
    released = [(0, 1, 2), (1, 1, 0), (1, 0, 2), (0, 0, 0)]
    settings = DualQuerySettings(rounds=4, samples=6, rate=Fraction(9), rows=23)
    oracle = Recorded(released)
    made = play(
        queries,
        *counts_of(queries, table),
        settings,
        oracle=oracle,
        stream=stream("public"),
        entropy=stream("private"),
    )
    assert made.tolist() == [list(row) for row in released]
    source = stream("private")
    for earlier, sample in enumerate(oracle.samples):
        drawn = exponential_weights(
            scores=scores_by_definition(written, table, released[:earlier], 23),
            rate=Fraction(9, 23),
            count=6,
            entropy=source,
        )
        assert sample.signs.tolist() == [1 if number < 3 else -1 for number in drawn]
        wanted = [[list(literal[:2]) for literal in written[number % 3]] for number in drawn]
        assert np.stack([sample.columns, sample.codes], axis=2).tolist() == wanted


ROWS = list(itertools.product(range(2), range(2)))


@pytest.mark.theorem("dual-query")
@pytest.mark.parametrize("replaces", [False, True])
def test_the_law_of_a_draw_is_private_on_all_tables_of_three_rows(replaces):
    """Enumerate all words of a draw after two rows; compare exact laws of all neighbors."""
    settings = DualQuerySettings(rounds=3, samples=1, rate=Fraction(2), rows=3)
    released = np.array([[1, 1], [1, 0]])
    answered = sum(PAIR.holds(row).astype(np.int64) for row in released)

    @functools.cache
    def law(table):
        held, missed = counts_of(PAIR, table)
        scores = query_scores(held, missed, answered, earlier=2, rows=3)
        reference = Exponential(candidates=4, scale=Fraction(3, 2)).reference_pmf(scores)
        found = exact_law(
            lambda entropy: int(
                exponential_weights(
                    scores=scores,
                    rate=Fraction(2, 3),
                    count=1,
                    entropy=entropy,
                    sizes=CoinSizes(word_bits=6, step_bits=6),
                )[0]
            ),
            unexplored=Fraction(1, 1000),
        )
        for outcome, mass in found.mass.items():
            assert mass <= reference[outcome].high
            assert mass + found.unexplored >= reference[outcome].low
        return reference

    tables = [*itertools.combinations_with_replacement(ROWS, 3)]
    epsilon = settings.draw_range(2, moved=1, replaces=replaces)
    low, _ = exp_neg(epsilon, 100)
    factor = Fraction(1 << 100, low) * (1 + Fraction(1, 10**9))
    for table in tables[::3]:
        near = [(*table[:2], row) for row in ROWS] if replaces else [table[:2]]
        one = law(table)
        for other in near:
            two = law(other)
            for query in range(4):
                assert one[query].low <= factor * two[query].high
                assert two[query].low <= factor * one[query].high


def skewed(rows):
    generator = np.random.default_rng(3)
    weights = generator.dirichlet(np.ones(4) * 0.5, size=6)
    return np.stack([generator.choice(4, rows, p=weight) for weight in weights], axis=1)


def errors(queries, data, rows):
    truth = counts_of(queries, data)[0] / len(data)
    return np.abs(truth - counts_of(queries, rows)[0] / len(rows))


def played(data, queries, settings, *, label="game", turned=False):
    held, missed = counts_of(queries, data)
    if turned:  # the printed listing, with its signs reversed
        held, missed = missed, held
    return play(
        queries,
        held,
        missed,
        settings,
        oracle=LocalSearch(),
        stream=stream("public " + label),
        entropy=stream(label),
    )


def test_rows_answer_the_queries_and_reversed_signs_do_not():
    data = skewed(3000)
    domain = CodedDomain(tuple("abcdef"), (4,) * 6)
    queries = random_conjunctions(domain, count=2000, stream=stream("queries"))
    settings = DualQuerySettings(rounds=60, samples=200, rate=Fraction(2), rows=3000)
    found = errors(queries, data, played(data, queries, settings)).max()
    assert found < 0.2
    flat = np.random.default_rng(1).integers(0, 4, (60, 6))
    assert found < 0.6 * errors(queries, data, flat).max()
    turned = played(data, queries, settings, turned=True)
    assert errors(queries, data, turned).max() > 2 * found


def test_the_same_words_give_the_same_rows():
    data = skewed(200)
    domain = CodedDomain(tuple("abcdef"), (4,) * 6)
    queries = random_conjunctions(domain, count=50, stream=stream("queries"))
    settings = DualQuerySettings(rounds=10, samples=20, rate=Fraction(2), rows=200)
    one, same, other = (played(data, queries, settings, label=label) for label in ("a", "a", "b"))
    assert one.tobytes() == same.tobytes() != other.tobytes()
    assert one.dtype == np.uint8


def test_columns_that_no_drawn_query_names_keep_their_code():
    domain = CodedDomain(tuple("abcdef"), (3,) * 6)
    queries = Conjunctions.of(domain, [[(0, 1, True), (1, 1, True)], [(2, 1, True), (3, 1, True)]])
    generator = np.random.default_rng(2)
    offered = generator.integers(0, 3, (12, 6))
    oracle = Recorded(offered)
    settings = DualQuerySettings(rounds=12, samples=1, rate=Fraction(1), rows=10)
    held = np.array([3, 4])
    made = play(
        queries,
        held,
        10 - held,
        settings,
        oracle=oracle,
        stream=stream("public"),
        entropy=stream("private"),
    )
    assert made[0].tolist() == offered[0].tolist()
    for number in range(1, 12):
        named = set(oracle.samples[number].columns.ravel().tolist())
        for column in range(6):
            source = offered[number] if column in named else made[number - 1]
            assert made[number][column] == source[column]


def test_rows_remember_what_earlier_draws_said():
    """Queries that share no column; with fresh codes in each row, this fails."""
    count, rows = 400, 10**5
    domain = CodedDomain(tuple(map(str, range(3 * count))), (2,) * (3 * count))
    queries = Conjunctions.of(
        domain, [[(3 * one + part, 1, True) for part in range(3)] for one in range(count)]
    )
    shares = np.random.default_rng(3).uniform(0, 1, count)
    held = (rows * shares).astype(np.int64)
    settings = DualQuerySettings(rounds=60, samples=40, rate=Fraction(2), rows=rows)
    made = play(
        queries,
        held,
        rows - held,
        settings,
        oracle=LocalSearch(),
        stream=stream("public"),
        entropy=stream("private"),
    )
    answers = sum(queries.holds(row).astype(np.int64) for row in made) / len(made)
    assert np.abs(answers - shares).max() < 0.25
