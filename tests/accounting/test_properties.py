"""Laws of composition trees: what must hold whatever the leaves are."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Choice,
    Leaf,
    Node,
    Parallel,
    Post,
    Repeat,
    Sampled,
    Sequential,
    Where,
    account,
    equals,
    one_of,
)
from discreet.loss import Approximate, GaussianDP, PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from tests.accounting.games import Ask, response, two_point, value

EPSILONS = (0.0, 0.3, 1.0, 2.0)
RELATIONS = st.sampled_from(["add_remove", "replace", "either"])
SOME = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PURE = st.sampled_from([Pure(epsilon=e) for e in ("0.1", "0.5", "1")])
LOSSES = PURE | st.sampled_from(
    [GaussianDP(mu="0.5"), GaussianDP(mu=1), Approximate(epsilon="0.5", delta="0.001")]
)


def leaves(losses: st.SearchStrategy[PrivacyLoss]) -> st.SearchStrategy[Node]:
    return st.builds(
        lambda loss, free: Leaf(loss, replaced=0 if free else None), losses, st.booleans()
    )


def grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    boxes = st.sampled_from([Box({"ward": one_of("A", "B")}), Box({"sex": equals("f")})])
    return st.one_of(
        st.builds(Sequential, children, children),
        st.builds(lambda a, b: Parallel("ward", {"A": a, "B": b}), children, children),
        st.builds(lambda a, b: Parallel("sex", {"f": a, "m": b}), children, children),
        st.builds(Where, boxes, children),
        st.builds(Post, children),
        st.builds(Choice, children, children, adaptive=st.booleans()),
        st.builds(Repeat, children, st.integers(0, 2)),
    )


TREES = st.recursive(leaves(LOSSES), grown, max_leaves=5)
PURE_TREES = st.recursive(leaves(PURE), grown, max_leaves=6)


def deltas(tree: Node, relation: str) -> list[float]:
    statement = account(tree, relation=relation)
    return [statement.delta(epsilon=Fraction(e)) for e in EPSILONS]


def same(one: list[float], two: list[float]) -> bool:
    """Whether two prices agree, but for the rounding of a composition in another order."""
    return all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in zip(one, two, strict=True)
    )


# Shape does not matter


@pytest.mark.theorem("scenario-accounting")
@SOME
@given(a=TREES, b=TREES, relation=RELATIONS)
def test_the_order_of_releases_does_not_matter(a: Node, b: Node, relation: str) -> None:
    assert same(deltas(Sequential(a, b), relation), deltas(Sequential(b, a), relation))


@SOME
@given(a=TREES, b=TREES, relation=RELATIONS)
def test_the_order_of_parts_and_alternatives_does_not_matter(
    a: Node, b: Node, relation: str
) -> None:
    one, two = Parallel("key", {1: a, 2: b}), Parallel("key", {2: b, 1: a})
    other = Parallel("key", {1: b, 2: a})
    found = deltas(one, relation)
    assert same(found, deltas(two, relation))
    assert same(found, deltas(other, relation))
    assert same(deltas(Choice(a, b), relation), deltas(Choice(b, a), relation))


@SOME
@given(tree=TREES, relation=RELATIONS, count=st.integers(0, 3))
def test_repeating_is_a_sequence_of_copies(tree: Node, relation: str, count: int) -> None:
    copies = Sequential(*[tree] * count)
    assert same(deltas(Repeat(tree, count), relation), deltas(copies, relation))


# More is never cheaper


@pytest.mark.theorem("scenario-accounting")
@SOME
@given(tree=TREES, leaf=leaves(LOSSES), relation=RELATIONS)
def test_another_release_never_lowers_a_delta(tree: Node, leaf: Node, relation: str) -> None:
    alone, more = deltas(tree, relation), deltas(Sequential(tree, leaf), relation)
    assert all(b >= a * (1 - 1e-6) - 1e-9 for a, b in zip(alone, more, strict=True))


@SOME
@given(tree=TREES, leaf=leaves(LOSSES), relation=RELATIONS)
def test_a_condition_or_another_alternative(tree: Node, leaf: Node, relation: str) -> None:
    whole = deltas(tree, relation)
    wider = deltas(Choice(tree, leaf), relation)
    assert all(b >= a * (1 - 1e-6) - 1e-9 for a, b in zip(whole, wider, strict=True))
    if relation == "add_remove":  # elsewhere a condition turns replaced records into added ones
        fewer = deltas(Where(Box({"key": equals(1)}), tree), relation)
        assert all(b <= a * (1 + 1e-6) + 1e-9 for a, b in zip(whole, fewer, strict=True))


Law = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


def two_answers(a: int, b: int, c: int, d: int) -> Law:
    """Return two laws over two answers, from weights that may be zero."""
    return (Fraction(a, a + b), Fraction(b, a + b)), (Fraction(c, c + d), Fraction(d, c + d))


def _delta(laws: list[Law], ratio: float) -> float:
    """Return the delta of independent releases, in the worse direction."""
    p, q = np.ones(1), np.ones(1)
    for one, two in laws:
        p, q = (np.outer(x, np.array(y, float)).ravel() for x, y in ((p, one), (q, two)))
    return float(max(np.maximum(p - ratio * q, 0).sum(), np.maximum(q - ratio * p, 0).sum()))


LAWS = st.builds(
    two_answers, st.integers(0, 9), st.integers(1, 9), st.integers(1, 9), st.integers(0, 9)
)
ALARM, HINT = two_answers(19, 181, 0, 1), two_answers(1, 19, 1, 1)


@pytest.mark.theorem("dominance")
@settings(SOME, max_examples=30)
@given(parts=st.lists(LAWS, min_size=1, max_size=3), beside=LAWS, pure=st.sampled_from([1, 2]))
@example(parts=[ALARM], beside=HINT, pure=1)
def test_no_part_that_is_worst_somewhere_is_forgotten(
    parts: list[Law], beside: Law, pure: int
) -> None:
    leaves = [Leaf(Profile.of(FinitePair(*law))) for law in parts]
    key = Parallel("key", dict(enumerate([*leaves, Leaf(Pure(epsilon=pure))])))
    statement = account(Leaf(Profile.of(FinitePair(*beside))) + key, relation="add_remove")
    for ratio in (1.3, 3.0, 8.0):
        claimed = statement.delta(epsilon=Fraction(math.log(ratio)))
        assert claimed >= max(_delta([beside, law], ratio) for law in parts) - 1e-9


@pytest.mark.theorem("bounded-parallel")
@SOME
@given(tree=PURE_TREES)
def test_replaced_records_cost_at_most_twice_as_much_as_added_ones(tree: Node) -> None:
    added, replaced = (
        account(tree, relation=r).epsilon(delta=0) for r in ("add_remove", "replace")
    )
    assert replaced <= 2 * added * (1 + 1e-12)
    either = account(tree, relation="either").epsilon(delta=0)
    assert either == pytest.approx(max(added, replaced), rel=1e-12)


@settings(SOME, max_examples=12)
@given(tree=PURE_TREES, rate=st.sampled_from([Fraction(1, 100), Fraction(1, 2)]))
def test_a_sample_is_never_dearer_than_the_whole(tree: Node, rate: Fraction) -> None:
    for relation in ("add_remove", "replace"):
        whole = account(tree, relation=relation).epsilon(delta=0)
        sampled = account(Sampled(tree, rate=rate), relation=relation).epsilon(delta=0)
        assert sampled <= whole + 1e-9


# The loss of a statement can be used further


@settings(SOME, max_examples=8)
@given(a=TREES, b=TREES, relation=RELATIONS)
def test_composing_prices_is_never_below_the_price_of_the_composition(
    a: Node, b: Node, relation: str
) -> None:
    apart = account(a, relation=relation).loss.compose(account(b, relation=relation).loss)
    both = deltas(Sequential(a, b), relation)
    for epsilon, whole in zip(EPSILONS, both, strict=True):
        assert apart.delta(epsilon=Fraction(epsilon)) >= whole * (1 - 1e-6) - 1e-9


@SOME
@given(tree=TREES, relation=st.sampled_from(["add_remove", "replace"]))
def test_a_price_as_a_leaf_is_the_price(tree: Node, relation: str) -> None:
    loss = account(tree, relation=relation).loss
    assert same(deltas(Leaf(loss, relation=relation), relation), deltas(tree, relation))


# Choices are games


@pytest.mark.theorem("adaptive-choice")
@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)])
@pytest.mark.parametrize(
    "laws",
    [
        (response(3), two_point(Fraction(1, 20), 8)),
        (response(2), two_point(Fraction(1, 4), 3)),
        (response(2), response(Fraction(3, 2)), two_point(Fraction(1, 100), 50)),
    ],
)
def test_static_choices_games_and_joins_in_this_order(
    ratio: Fraction, laws: tuple[tuple[tuple[Fraction, Fraction], ...], ...]
) -> None:
    leaves = [Leaf(Profile.of(FinitePair(*zip(*law, strict=True)))) for law in laws]
    at = Fraction(math.log(ratio))
    fixed = account(Repeat(Choice(*leaves), 2), relation="add_remove").delta(epsilon=at)
    joined = account(Repeat(Choice(*leaves, adaptive=True), 2), relation="add_remove")
    menu = [Ask(law, (1,)) for law in laws]
    turned = [ask.swapped() for ask in menu]
    game = max(value(each, lambda total: total[0] <= 2, ratio, 1) for each in (menu, turned))
    assert fixed <= float(game) + 1e-9
    assert float(game) <= joined.delta(epsilon=at) + 1e-9


# Random mechanisms


def _losses(laws: np.ndarray) -> np.ndarray:
    """Return the largest absolute log ratio of each two rows."""
    logs = np.log(laws)
    return np.abs(logs[:, None] - logs[None, :]).max(axis=2)


def _closed(distances: np.ndarray) -> np.ndarray:
    """Return the shortest ways."""
    found = distances.copy()
    for middle in range(len(found)):
        found = np.minimum(found, found[:, middle, None] + found[None, middle])
    return found


def _random_law(rng: np.random.Generator, inputs: int, answers: int = 3) -> np.ndarray:
    laws = rng.dirichlet(np.ones(answers), size=inputs) + 0.02
    return laws / laws.sum(axis=1, keepdims=True)


@pytest.mark.theorem("general-composition")
def test_releases_that_depend_on_parts_of_the_table_cost_the_sum_of_shortest_ways() -> None:
    rng = np.random.default_rng(20)
    attained = 0.0
    for _ in range(60):
        tables = 6
        graph = np.where(rng.random((tables, tables)) < 0.4, 1.0, np.inf)
        graph = np.minimum(graph, graph.T)
        np.fill_diagonal(graph, 0.0)
        steps = _closed(graph)
        bound, exact = np.zeros((tables, tables)), np.zeros((tables, tables))
        for _ in range(3):
            seen = rng.integers(0, 3, size=tables)  # what the release can tell apart
            loss = _losses(_random_law(rng, 3)[seen])
            unit = max(loss[graph == 1], default=0.0)
            certified = np.where(steps > 0, unit * steps, 0.0)
            certified[np.isnan(certified)] = np.inf
            alike = seen[:, None] == seen[None, :]
            near = np.array(
                [
                    [certified[np.ix_(alike[a], alike[b])].min() for b in range(tables)]
                    for a in range(tables)
                ]
            )
            bound += _closed(near)
            exact += loss
        assert np.all(exact <= bound + 1e-9)
        told = (graph == 1) & (bound > 0)
        if told.any():
            attained = max(attained, float((exact[told] / bound[told]).max()))
    assert attained > 0.9


@pytest.mark.theorem("bounded-parallel")
def test_parts_that_change_together_cost_two_and_never_more() -> None:
    """Random releases of two parts, each certified for records replaced anywhere."""
    rng = np.random.default_rng(7)
    records = [(part, bit) for part in range(2) for bit in range(2)]
    tables = list(combinations_with_replacement(records, 2))
    near = [(a, b) for a, b in product(tables, repeat=2) if _replaced(a, b)]
    naive = 0
    for _ in range(30):
        laws: list[dict[tuple[tuple[int, int], ...], np.ndarray]] = []
        for part in range(2):
            inputs = sorted({_part(table, part) for table in tables})
            law = _random_law(rng, len(inputs))
            laws.append(dict(zip(inputs, law, strict=True)))

        def loss(a: object, b: object, of: Callable[[int], bool], laws: list = laws) -> float:
            both = [(law[_part(a, i)], law[_part(b, i)]) for i, law in enumerate(laws) if of(i)]
            return sum(float(np.log(p / q).max()) for p, q in both)

        certified = [max(loss(a, b, lambda i, j=j: i == j) for a, b in near) for j in range(2)]
        exact = max(loss(a, b, lambda i: True) for a, b in near)
        leaves = [Leaf(Pure(epsilon=e), relation="replace", common_domain=True) for e in certified]
        tree = Parallel("part", dict(enumerate(leaves)))
        assert exact <= account(tree, relation="replace").epsilon(delta=0) * (1 + 1e-12)
        naive += exact > max(certified) * (1 + 1e-9)
    assert naive > 20  # the largest part alone is too little nearly always


def _part(table: object, part: int) -> tuple[tuple[int, int], ...]:
    assert isinstance(table, tuple)
    return tuple(record for record in table if record[0] == part)


def _replaced(a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]) -> bool:
    left, right = list(a), list(b)
    for record in a:
        if record in right:
            right.remove(record)
            left.remove(record)
    return len(left) == len(right) == 1
