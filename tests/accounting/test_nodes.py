"""Nodes: frozen values, built by constructors or operators."""

import dataclasses
import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction

import pytest

import discreet.accounting
from discreet.accounting import (
    Box,
    Choice,
    Group,
    Leaf,
    Node,
    Parallel,
    Post,
    Repeat,
    Sampled,
    Sequential,
    Shuffled,
    Where,
    at_least,
)
from discreet.loss import Approximate, GaussianDP, Profile, Pure, RenyiDP, ZeroConcentrated
from discreet.mechanisms import Gaussian, Laplace, RandomizedResponse
from discreet.units import PrivacyUnit, person

A, B, C = (Leaf(Pure(epsilon=k)) for k in (1, 2, 3))
EVERY = [
    A,
    Sequential(A, B),
    Repeat(A, 3),
    Choice(A, B, adaptive=True),
    Parallel("ward", {"A": A, "B": B}, overlap=2),
    Where(Box({"age": at_least(18)}), A),
    Group(A, distance=2),
    Group(A, distance=math.inf),
    Sampled(A, rate="0.1"),
    Sampled(A, size=1, population=10),
    Shuffled(A, population=10),
    Post(A, name="rounded"),
]


def test_plus_makes_one_flat_sequence():
    assert Sequential(A, B) == A + B
    assert A + B + C == A + (B + C) == Sequential(A, B, C)
    assert Sequential() + A == Sequential(A)
    assert Sequential(Sequential(A), B).children == (Sequential(A), B)


def test_times_repeats():
    assert 3 * A == A * 3 == Repeat(A, 3)
    assert Repeat(Repeat(A, 3), 2) == 2 * (3 * A)


def test_or_makes_one_choice_in_advance():
    assert A | B | C == A | (B | C) == Choice(A, B, C)
    answers_decide = Choice(A, B, adaptive=True)
    assert answers_decide | C == Choice(answers_decide, C)
    assert not (A | B).adaptive


@pytest.mark.parametrize("node", EVERY, ids=repr)
def test_nodes_are_frozen_hashable_and_closed(node):
    assert isinstance(node, Node)
    assert type(node).__final__
    assert not hasattr(node, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(node, dataclasses.fields(node)[0].name, A)
    assert len({node, dataclasses.replace(A, name="other") if node is A else A}) == (
        1 if node == A and node is not A else 2
    )
    assert pickle.loads(pickle.dumps(node)) == node  # noqa: S301  our own bytes


@pytest.mark.parametrize("node", EVERY, ids=repr)
def test_every_field_tells_nodes_apart(node):
    assert len({repr(other) for other in EVERY}) == len(EVERY)
    assert [other for other in EVERY if other == node] == [node]


def named_constructors():
    names = {name: getattr(discreet.accounting, name) for name in discreet.accounting.__all__}
    losses = (Approximate, GaussianDP, Profile, Pure, RenyiDP, ZeroConcentrated)
    mechanisms = (Gaussian, Laplace, RandomizedResponse)
    more = {kind.__name__: kind for kind in (*losses, *mechanisms, PrivacyUnit, Fraction)}
    return {**names, **more, "math": math, "inf": math.inf}


@pytest.mark.parametrize(
    "node",
    [
        *EVERY[:4],
        *EVERY[6:],
        Leaf(Laplace(scale=2), name="visits", added=5, replaced=Fraction(1, 2)),
        Leaf(Gaussian(sigma=2), coordinates=4),
        Leaf(Pure(epsilon=1), relation="replace", common_domain=True),
        Leaf(Pure(epsilon=1), unit=person("patient", relation="replace")),
        Leaf(Pure(epsilon=1), replaced=Pure(epsilon="1/3")),
    ],
    ids=repr,
)
def test_a_representation_is_how_to_make_the_node_again(node):
    assert eval(repr(node), named_constructors()) == node  # noqa: S307  our own text


def test_walks_go_through_every_node_before_those_below_it():
    tree = (A + 2 * B) + Parallel("ward", {"A": C, "B": A | B})
    walked = list(tree.walk())
    assert walked[0] is tree
    assert [node for node in walked if isinstance(node, Leaf)] == [A, B, C, A, B]
    assert len(walked) == 1 + 5 + 3


@pytest.mark.theorem("where-stable")
def test_a_condition_keeps_distances():
    """All tables of up to three rows over three values, and every condition on them."""
    rows = (0, 1, 2)
    tables = [t for n in range(4) for t in itertools.combinations_with_replacement(rows, n)]

    def moves(left, right):
        here, there = Counter(left), Counter(right)
        return (here - there).total(), (there - here).total()

    for kept in itertools.chain.from_iterable(itertools.combinations(rows, n) for n in range(4)):
        for left, right in itertools.product(tables, repeat=2):
            before = moves(left, right)
            after = moves(
                [row for row in left if row in kept], [row for row in right if row in kept]
            )
            assert after[0] <= before[0]
            assert after[1] <= before[1]
    assert moves([0], []) == (1, 0)  # what the condition row < 1 makes of a replaced row


@pytest.mark.theorem("preprocessing")
def test_preprocessing_multiplies_distances():
    """Every function of one row of three into up to two rows of three."""
    rows, images = (0, 1, 2), [(), (0,), (1, 1), (0, 2)]
    tables = [t for n in range(3) for t in itertools.combinations_with_replacement(rows, n)]
    attained = set()
    for images_of in itertools.product(images, repeat=3):
        for left, right in itertools.product(tables, repeat=2):
            here, there = Counter(left), Counter(right)
            before = (here - there).total(), (there - here).total()
            seen = [
                Counter(row for each in table for row in images_of[each]) for table in (left, right)
            ]
            after = (seen[0] - seen[1]).total(), (seen[1] - seen[0]).total()
            assert after[0] <= 2 * before[0]
            assert after[1] <= 2 * before[1]
            if before == (1, 1):
                attained.add(after)
    assert {(2, 2), (2, 1), (1, 2), (2, 0), (0, 0)} <= attained  # at most, and not exactly


def test_a_replaced_row_may_become_one_that_only_leaves():
    """Behind preprocessing a count is no longer free where rows are replaced."""
    count = Leaf(Pure(epsilon=1), replaced=0)
    assert count.price(2, 2) == Pure(epsilon=0)
    assert count.price_up_to(2, 2) == Pure(epsilon=2)
