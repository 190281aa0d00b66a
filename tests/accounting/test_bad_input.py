"""What cannot be used is refused by the right error, in three sentences."""

import math

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
from discreet.mechanisms import Exponential, Laplace
from discreet.units import person, row
from discreet_course.counting import Histogram

ONE = Leaf(Pure(epsilon=1))
LAPLACE = Laplace(scale=2)
HISTOGRAM = Histogram(cells=3, noise=LAPLACE, relation="add_remove")
SWAPPED = Histogram(cells=3, noise=LAPLACE, relation="replace")


def refused(call, error):
    with pytest.raises(DiscreetError) as caught:
        call()
    assert caught.type is error, f"{caught.type.__name__}: {caught.value}"
    for sentence in (caught.value.what, caught.value.why, caught.value.do):
        assert sentence.strip().endswith(".")


@pytest.mark.parametrize("other", [Pure(epsilon=1), LAPLACE, None, "leaf", [ONE], Leaf])
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


@pytest.mark.parametrize(
    ("count", "error"),
    [(-1, OutOfRange), (1.0, WrongKind), ("2", WrongKind), (True, WrongKind), (10**13, OutOfRange)],
)
def test_counts(count, error):
    refused(lambda: Repeat(ONE, count), error)
    refused(lambda: Group(ONE, distance=count), error)
    refused(lambda: Shuffled(ONE, population=count), error)
    refused(lambda: Sampled(ONE, size=count, population=10), error)
    refused(lambda: Parallel("ward", {"A": ONE}, overlap=count), error)


@pytest.mark.parametrize("flag", [1, None, "yes", np.bool_(True)])
def test_flags(flag):
    refused(lambda: Choice(ONE, adaptive=flag), WrongKind)
    refused(lambda: Leaf(Pure(epsilon=1), relation="replace", common_domain=flag), WrongKind)


@pytest.mark.parametrize("name", [None, 5, b"visits", "two\nlines", "bell\a", "x" * 201])
def test_names(name):
    refused(lambda: Leaf(Pure(epsilon=1), name=name), WrongKind)
    refused(lambda: Post(ONE, name=name), WrongKind)
    refused(lambda: exact_size(name), WrongKind)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Shuffled(2 * ONE, population=10), WrongKind),
        (lambda: Shuffled(ONE, population=1), OutOfRange),
        (lambda: Parallel("ward", {"A": ONE}, overlap=0), OutOfRange),
        (lambda: Parallel("ward", {}), WrongKind),
        (lambda: Parallel("ward", [("A", ONE)]), WrongKind),
        (lambda: Parallel("ward", {math.nan: ONE}), OutOfRange),
        (lambda: Parallel("ward", {(1, 2): ONE}), WrongKind),
        (lambda: Parallel("age", {1: ONE, "A": ONE}), WrongKind),
        (lambda: Parallel("", {"A": ONE}), WrongKind),
        (lambda: Group(ONE, distance=-math.inf), WrongKind),
        (lambda: Group(ONE, distance=math.nan), WrongKind),
        (lambda: Group(ONE, distance=1.5), WrongKind),
        (Choice, OutOfRange),
        (lambda: Where("age > 3", ONE), WrongKind),
        (lambda: Where({"age": 3}, ONE), WrongKind),
        (lambda: Sampled(ONE), WrongKind),
        (lambda: Sampled(ONE, rate="0.1", size=1, population=3), WrongKind),
        (lambda: Sampled(ONE, rate="0.1", population=3), WrongKind),
        (lambda: Sampled(ONE, size=3), WrongKind),
        (lambda: Sampled(ONE, size=4, population=3), OutOfRange),
        (lambda: Sampled(ONE, rate=0), OutOfRange),
        (lambda: Sampled(ONE, rate=math.nan), OutOfRange),
        (lambda: Sampled(ONE, rate="often"), WrongKind),
        (lambda: Leaf("Laplace"), WrongKind),
        (lambda: Leaf(Laplace), WrongKind),
        (lambda: Leaf(ONE), WrongKind),
        (lambda: Leaf(LAPLACE, relation="swap"), WrongKind),
        (lambda: Leaf(LAPLACE, unit="person"), WrongKind),
        (lambda: Leaf(LAPLACE, unit=person("p"), relation="replace"), WrongKind),
        (lambda: Leaf(HISTOGRAM, relation="replace"), WrongKind),
        (lambda: Leaf(SWAPPED, unit=row()), WrongKind),
        (lambda: Leaf(LAPLACE, added=-1), OutOfRange),
        (lambda: Leaf(LAPLACE, added=math.inf), OutOfRange),
        (lambda: Leaf(LAPLACE, added="far"), WrongKind),
        (lambda: Leaf(LAPLACE, added=None), WrongKind),
        (lambda: Leaf(Pure(epsilon=1), added=2), OutOfRange),
        (lambda: Leaf(HISTOGRAM, added=2), OutOfRange),
        (lambda: Leaf(LAPLACE, replaced=-1), OutOfRange),
        (lambda: Leaf(LAPLACE, replaced=True), WrongKind),
        (lambda: Leaf(Pure(epsilon=1), replaced=1), WrongKind),
        (lambda: Leaf(HISTOGRAM, replaced=0), WrongKind),
        (lambda: Leaf(LAPLACE, relation="replace", replaced=0), WrongKind),
        (lambda: Leaf(LAPLACE, relation="local", replaced=Pure(epsilon=0)), WrongKind),
        (lambda: Leaf(LAPLACE, common_domain=True), WrongKind),
        (lambda: Leaf(LAPLACE, relation="either", common_domain=True), WrongKind),
        (lambda: Leaf(LAPLACE, coordinates=0), OutOfRange),
        (lambda: Leaf(LAPLACE, coordinates=1.0), WrongKind),
        (lambda: Leaf(Pure(epsilon=1), coordinates=2), WrongKind),
        (lambda: Leaf(Exponential(candidates=3, scale=1), coordinates=3), WrongKind),
        (lambda: ONE.price(-1, 0), OutOfRange),
        (lambda: ONE.price(1.0, 0), WrongKind),
        (lambda: ONE.price_up_to(0, True), WrongKind),
    ],
)
def test_what_means_nothing_is_refused(call, error):
    refused(call, error)


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


def test_a_refusal_names_its_theorem():
    with pytest.raises(NotComposable) as caught:
        Parallel(lambda record: record, {"A": ONE})
    assert caught.value.code == "E005"
    assert "key parallel" in str(caught.value)
