"""The accountant against full enumeration of small domains: equal where it says so, never below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Box,
    Group,
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
from tests.accounting.oracle import Record, count, exact_delta

HALF, THIRDS, FIFTHS = Fraction(1, 2), Fraction(2, 3), Fraction(4, 5)
RATIOS = (Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5))
KEYS = {"ward": ("A", "B", "other"), "sex": ("f", "m", "other")}
RECORDS: list[Record] = [dict(zip(KEYS, each, strict=True)) for each in product(*KEYS.values())]


def check(
    tree: Node,
    records: Sequence[Record],
    relation: str,
    impossible: Sequence[dict[str, object]] = (),
    *,
    tight: bool = True,
) -> None:
    statement = account(tree, relation=relation, impossible=impossible)
    exact = exact_delta(tree, records, RATIOS, relation)
    for ratio, true in zip(RATIOS, exact, strict=True):
        # epsilon is rounded down to a float, so the claim may be larger by that much
        claimed = statement.delta(epsilon=Fraction(math.log(ratio)))
        assert claimed >= float(true) - 1e-12, (ratio, claimed, float(true))
        if tight:
            assert claimed <= float(true) + 1e-12, (ratio, claimed, float(true))


@pytest.mark.theorem("scenario-accounting")
@pytest.mark.theorem("parallel")
@pytest.mark.theorem("bounded-parallel")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_two_keys_with_an_impossible_combination(relation: str) -> None:
    tree = Sequential(
        count("all", FIFTHS),
        Parallel("ward", {"A": count("a", HALF), "B": count("b", THIRDS)}),
        Parallel("sex", {"f": count("f", THIRDS), "m": count("m", HALF)}),
    )
    impossible = {"ward": "A", "sex": "m"}
    records = [r for r in RECORDS if r != impossible]
    check(tree, records, relation, [impossible])
    free = account(tree, relation="add_remove")
    told = account(tree, relation="add_remove", impossible=[impossible])
    assert told.epsilon(delta=0) < free.epsilon(delta=0)


@pytest.mark.theorem("scenario-accounting")
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_parallel_in_sequence_in_parallel(relation: str) -> None:
    inner = Sequential(
        count("n", FIFTHS), Parallel("sex", {"f": count("f", HALF), "m": count("m", THIRDS)})
    )
    tree = Parallel("ward", {"A": inner, "B": count("b", HALF)})
    check(tree, RECORDS, relation)


@pytest.mark.theorem("scenario-accounting")
@pytest.mark.parametrize(("relation", "sides"), [("add_remove", 1), ("replace", 2)])
def test_equal_parts_of_two_sizes(relation: str, sides: int) -> None:
    """A record that moves to the next part stays in the larger one, and another one does not."""
    single = Parallel("x", dict.fromkeys(range(4), count("one", HALF)))
    wide = Parallel("x", dict.fromkeys([one_of(0, 1), one_of(2, 3)], count("two", THIRDS)))
    for tree in (Sequential(single, wide), Sequential(wide, single)):
        price = account(tree, relation=relation)
        assert price.epsilon(delta=0) == pytest.approx(sides * math.log(3))  # of 2 and 3/2


@pytest.mark.theorem("poisson-sampling")
def test_a_sample_of_parts() -> None:
    parts = Parallel("ward", {"A": count("a", HALF), "B": count("b", THIRDS)})
    tree = Sequential(count("all", FIFTHS), Sampled(parts, rate=Fraction(1, 4)))
    check(tree, RECORDS, "add_remove")


def test_a_sample_where_records_are_replaced_is_never_priced_too_low() -> None:
    parts = Parallel("ward", {"A": count("a", HALF), "B": count("b", THIRDS)})
    tree = Sequential(count("all", FIFTHS), Sampled(parts, rate=Fraction(1, 4)))
    check(tree, RECORDS, "replace", tight=False)


LEAVES = st.builds(count, st.sampled_from("xyz"), st.sampled_from([HALF, THIRDS, FIFTHS]))


def parallel(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    def build(key: str, left: Node, right: Node | None) -> Node:
        first, second, _ = KEYS[key]
        return Parallel(key, {first: left} if right is None else {first: left, second: right})

    return st.builds(build, st.sampled_from(sorted(KEYS)), children, st.none() | children)


def where(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    boxes = [
        Box({"ward": equals("A")}),
        Box({"ward": one_of("A", "B"), "sex": equals("f")}),
        Box({"ward": equals("B"), "sex": equals("m")}),
    ]
    return st.builds(Where, st.sampled_from(boxes), children)


def grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(
        st.builds(Sequential, children, children),
        parallel(children),
        where(children),
        st.builds(Post, children),
    )


TREES = st.recursive(LEAVES, grown, max_leaves=5)
IMPOSSIBLE = st.lists(
    st.sampled_from([{"ward": "A", "sex": "m"}, {"ward": "B", "sex": "m"}, {"sex": "f"}]),
    max_size=2,
    unique_by=str,
)
SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.theorem("scenario-accounting")
@SLOW
@given(tree=TREES, impossible=IMPOSSIBLE, relation=st.sampled_from(["add_remove", "replace"]))
def test_random_trees_cost_exactly_what_enumeration_says(
    tree: Node, impossible: list[dict[str, object]], relation: str
) -> None:
    records = [r for r in RECORDS if not any(each.items() <= r.items() for each in impossible)]
    check(tree, records, relation, impossible)


@settings(SLOW, max_examples=25)
@given(tree=TREES, rate=st.sampled_from([Fraction(1, 10), HALF]), more=LEAVES)
def test_random_samples_cost_at_least_what_enumeration_says(
    tree: Node, rate: Fraction, more: Leaf
) -> None:
    check(Sampled(tree, rate=rate) + more, RECORDS, "add_remove", tight=False)


@pytest.mark.theorem("group-profile")
def test_a_row_that_becomes_two_costs_the_distance_of_two() -> None:
    tree = Sequential(Group(count("pairs", THIRDS), distance=2), count("n", HALF))
    exact = exact_delta(tree, [{}], RATIOS, "add_remove", most=1)
    statement = account(tree, relation="add_remove")
    for ratio, true in zip(RATIOS, exact, strict=True):
        claimed = statement.delta(epsilon=Fraction(math.log(ratio)))
        assert claimed == pytest.approx(float(true), abs=1e-12)


def test_repetition_is_a_sequence() -> None:
    check(Repeat(count("n", THIRDS), 3), [{}], "add_remove")
