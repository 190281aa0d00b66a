"""What cannot be used is refused by the right error, in three sentences."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import (
    Box,
    Choice,
    Group,
    Leaf,
    Parallel,
    Post,
    Repeat,
    Sampled,
    Sequential,
    Shuffled,
    Where,
    exact_size,
)
from discreet.errors import DiscreetError, NotComposable, OutOfRange, WrongKind
from discreet.loss import Pure
from discreet.mechanisms import Exponential, FiniteMechanism, Gaussian, Laplace, RandomizedResponse
from discreet.units import person, row
from discreet_course.counting import Histogram

ONE = Leaf(Pure(epsilon=1))
LAPLACE = Laplace(scale=2)
HISTOGRAM = Histogram(cells=3, noise=LAPLACE, relation="add_remove")
SWAPPED = Histogram(cells=3, noise=LAPLACE, relation="replace")
NOT_NODES = [Pure(epsilon=1), LAPLACE, None, 3, "leaf", [ONE], Leaf]


def refused(call, error):
    with pytest.raises(DiscreetError) as caught:
        call()
    assert caught.type is error, f"{caught.type.__name__}: {caught.value}"
    for sentence in (caught.value.what, caught.value.why, caught.value.do):
        assert sentence.strip().endswith(".")


@pytest.mark.parametrize("other", NOT_NODES)
@pytest.mark.parametrize(
    "make",
    [
        Sequential,
        Choice,
        lambda node: ONE + node,
        lambda node: ONE | node,
        lambda node: Repeat(node, 2),
        lambda node: Parallel("ward", {"A": node}),
        lambda node: Where(Box.everything(), node),
        lambda node: Group(node, distance=1),
        lambda node: Sampled(node, rate="0.1"),
        lambda node: Shuffled(node, population=10),
        Post,
    ],
)
def test_children_are_nodes(make, other):
    refused(lambda: make(other), WrongKind)


def test_only_leaves_are_shuffled():
    refused(lambda: Shuffled(2 * ONE, population=10), WrongKind)


@pytest.mark.parametrize(
    ("count", "error"),
    [(-1, OutOfRange), (1.0, WrongKind), ("2", WrongKind), (True, WrongKind), (None, WrongKind),
     (10**13, OutOfRange), (ONE, WrongKind)],
)  # fmt: skip
def test_counts(count, error):
    refused(lambda: Repeat(ONE, count), error)
    refused(lambda: ONE * count, error)
    refused(lambda: Group(ONE, distance=count), error) if count is not None else None
    refused(lambda: Shuffled(ONE, population=count), error)
    refused(lambda: Sampled(ONE, size=count, population=10), error)
    refused(lambda: Sampled(ONE, size=1, population=count), error) if count is not None else None
    refused(lambda: Parallel("ward", {"A": ONE}, overlap=count), error)


@pytest.mark.parametrize("distance", [-math.inf, math.nan, 1.5])
def test_distances_of_preprocessing(distance):
    refused(lambda: Group(ONE, distance=distance), WrongKind)
    assert Group(ONE, distance=math.inf).distance is None
    assert Group(ONE, distance=0).distance == 0


def test_smallest_counts():
    refused(lambda: Shuffled(ONE, population=1), OutOfRange)
    refused(lambda: Parallel("ward", {"A": ONE}, overlap=0), OutOfRange)
    assert Repeat(ONE, 0).count == 0


@pytest.mark.parametrize("flag", [1, 0, None, "yes", np.bool_(True)])
def test_flags(flag):
    refused(lambda: Choice(ONE, adaptive=flag), WrongKind)
    refused(lambda: Parallel("ward", {"A": ONE}, routed=flag), WrongKind)
    refused(lambda: Leaf(Pure(epsilon=1), relation="replace", common_domain=flag), WrongKind)


@pytest.mark.parametrize("name", [None, 5, b"visits", "two\nlines", "bell\a", "x" * 201])
def test_names(name):
    refused(lambda: Leaf(Pure(epsilon=1), name=name), WrongKind)
    refused(lambda: Post(ONE, name=name), WrongKind)
    refused(lambda: exact_size(name), WrongKind)


def test_choices_have_alternatives():
    refused(Choice, OutOfRange)


@pytest.mark.parametrize("parts", [{}, [], None, [("A", ONE)], "AB", {"A"}])
def test_parts_are_a_mapping(parts):
    refused(lambda: Parallel("ward", parts), WrongKind)


@pytest.mark.parametrize("value", [math.nan, (1, 2), object(), 1j])
def test_parts_are_named_by_values(value):
    with pytest.raises(DiscreetError):
        Parallel("ward", {value: ONE})


@pytest.mark.parametrize("box", [None, {}, "age > 3", {"age": 3}])
def test_conditions_are_boxes(box):
    refused(lambda: Where(box, ONE), WrongKind)


@pytest.mark.parametrize(
    ("sample", "error"),
    [
        ({}, WrongKind),
        ({"rate": "0.1", "size": 3}, WrongKind),
        ({"rate": "0.1", "population": 3}, WrongKind),
        ({"rate": "0.1", "size": 1, "population": 3}, WrongKind),
        ({"size": 3}, WrongKind),
        ({"population": 3}, WrongKind),
        ({"size": 4, "population": 3}, OutOfRange),
        ({"rate": 0}, OutOfRange),
        ({"rate": 2}, OutOfRange),
        ({"rate": math.nan}, OutOfRange),
        ({"rate": "often"}, WrongKind),
        ({"rate": True}, WrongKind),
    ],
)
def test_samples(sample, error):
    refused(lambda: Sampled(ONE, **sample), error)


# --- leaves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [None, 1, "Laplace", Laplace, ONE, [LAPLACE], lambda: LAPLACE])
def test_sources(source):
    refused(lambda: Leaf(source), WrongKind)


@pytest.mark.parametrize(
    ("source", "facts", "error"),
    [
        (LAPLACE, {"relation": "swap"}, WrongKind),
        (LAPLACE, {"relation": 1}, WrongKind),
        (LAPLACE, {"unit": "person"}, WrongKind),
        (LAPLACE, {"unit": person("p"), "relation": "replace"}, WrongKind),
        (HISTOGRAM, {"relation": "replace"}, WrongKind),
        (HISTOGRAM.map(sum), {"relation": "replace"}, WrongKind),
        (HISTOGRAM, {"unit": person("p", relation="replace")}, WrongKind),
        (SWAPPED, {"unit": row()}, WrongKind),
        (LAPLACE, {"added": -1}, OutOfRange),
        (LAPLACE, {"added": math.nan}, OutOfRange),
        (LAPLACE, {"added": math.inf}, OutOfRange),
        (LAPLACE, {"added": "far"}, WrongKind),
        (LAPLACE, {"added": True}, WrongKind),
        (LAPLACE, {"added": None}, WrongKind),
        (Pure(epsilon=1), {"added": 2}, OutOfRange),
        (Pure(epsilon=1), {"added": 0}, OutOfRange),
        (HISTOGRAM, {"added": 2}, OutOfRange),
        (HISTOGRAM.map(sum), {"added": 2}, OutOfRange),
        (SWAPPED, {"added": Fraction(1, 2)}, OutOfRange),
        (LAPLACE, {"replaced": -1}, OutOfRange),
        (LAPLACE, {"replaced": "far"}, WrongKind),
        (LAPLACE, {"replaced": True}, WrongKind),
        (Pure(epsilon=1), {"replaced": 1}, WrongKind),
        (HISTOGRAM, {"replaced": 1}, WrongKind),
        (HISTOGRAM, {"replaced": 0}, WrongKind),
        (LAPLACE, {"relation": "replace", "replaced": 0}, WrongKind),
        (LAPLACE, {"relation": "either", "replaced": 0}, WrongKind),
        (LAPLACE, {"relation": "local", "replaced": Pure(epsilon=0)}, WrongKind),
        (LAPLACE, {"common_domain": True}, WrongKind),
        (LAPLACE, {"common_domain": True, "relation": "either"}, WrongKind),
        (LAPLACE, {"coordinates": 0}, OutOfRange),
        (LAPLACE, {"coordinates": 1.0}, WrongKind),
        (LAPLACE, {"coordinates": True}, WrongKind),
        (Pure(epsilon=1), {"coordinates": 2}, WrongKind),
        (HISTOGRAM, {"coordinates": 2}, WrongKind),
        (Exponential(candidates=3, scale=1), {"coordinates": 3}, WrongKind),
        (RandomizedResponse(epsilon=1), {"coordinates": 2}, WrongKind),
    ],
)
def test_facts_about_leaves(source, facts, error):
    refused(lambda: Leaf(source, **facts), error)


@pytest.mark.parametrize(
    ("moves", "error"),
    [((-1, 0), OutOfRange), ((0, -1), OutOfRange), ((1.0, 0), WrongKind), ((0, True), WrongKind),
     (("1", 0), WrongKind), ((None, 0), WrongKind)],
)  # fmt: skip
def test_moves(moves, error):
    for leaf in (ONE, Leaf(LAPLACE), exact_size()):
        refused(lambda leaf=leaf: leaf.price(*moves), error)
        refused(lambda leaf=leaf: leaf.price_up_to(*moves), error)


def test_wanted_relations():
    refused(lambda: ONE.price(1, 0, wanted="swap"), WrongKind)
    refused(lambda: ONE.price_up_to(1, 0, wanted=3), WrongKind)


def test_arguments_are_named():
    for call in (
        lambda: Leaf(Pure(epsilon=1), "visits"),
        lambda: Group(ONE, 3),
        lambda: Sampled(ONE, "0.1"),
        lambda: Shuffled(ONE, 10),
        lambda: Post(ONE, "rounded"),
        lambda: Parallel("ward", {"A": ONE}, 2),
    ):
        with pytest.raises(TypeError):
            call()


def test_no_message_shows_a_value_of_the_table():
    secret = "Mrs. Miller"  # noqa: S105  (no password)
    for call in (
        lambda: Parallel([secret], {"A": ONE}),
        lambda: Leaf(secret),
        lambda: Where({secret: 1}, ONE),
        lambda: Post(ONE, name=secret + "\n"),
    ):
        with pytest.raises(DiscreetError) as caught:
            call()
        assert secret not in str(caught.value)


def test_everything_is_an_input_error_that_names_its_theorem():
    with pytest.raises(NotComposable) as caught:
        Parallel(lambda record: record, {"A": ONE})
    assert caught.value.code == "E005"
    assert "key parallel" in str(caught.value)


def test_unhashable_sources_are_left_to_their_classes():
    coin = FiniteMechanism(matrix=[[1], [1]])
    assert hash(Leaf(coin)) == hash(Leaf(FiniteMechanism(matrix=[[1], [1]])))
    assert hash(Leaf(Gaussian(sigma=2))) == hash(Leaf(Gaussian(variance=4)))
