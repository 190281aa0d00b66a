"""Drawings: one line for each node, joined by lines, with prices in a column."""

import textwrap

import pytest

from discreet.accounting import (
    Box,
    Group,
    Leaf,
    Parallel,
    Post,
    Sampled,
    Sequential,
    Shuffled,
    Where,
    at_least,
    below,
    drawn,
)
from discreet.loss import Pure
from discreet.mechanisms import Gaussian, Laplace
from discreet_course.optimal import geometric_on_counts

VISITS = Leaf(Laplace(scale=2), name="visits")
TREE = Sequential(
    VISITS,
    Parallel("ward", {"A": 4 * Leaf(Gaussian(sigma=2)), "B": Leaf(Laplace(scale=1)) | VISITS}),
    Sampled(Where(Box({"age": at_least(18)}), Leaf(Gaussian(sigma="1/2"))), rate=0.01),
    Post(Group(Leaf(Pure(epsilon="1/3")), distance=2), name="rounded"),
)


def text(drawing):
    return textwrap.dedent(drawing).strip("\n")


def test_a_tree_is_drawn():
    assert (
        str(TREE)
        == drawn(TREE)
        == text("""
        Sequential
        ├── visits: Laplace(scale=2)
        ├── Parallel by ward
        │   ├── 'A': 4 times
        │   │   └── Gaussian(variance=4)
        │   └── 'B': Choice, made in advance
        │       ├── Laplace(scale=1)
        │       └── visits: Laplace(scale=2)
        ├── Sampled at rate 1/100
        │   └── Where age from 18
        │       └── Gaussian(variance=1/4)
        └── Post: rounded
            └── One row becomes up to 2
                └── Pure(epsilon=1/3)
    """)
    )


def test_prices_stand_in_a_column_on_the_right():
    prices = {Sequential: "12.5", Leaf: "1"}
    tree = Sequential(VISITS, Parallel("age", {below(18): VISITS, at_least(18): VISITS}))
    assert drawn(tree, price=lambda node: prices.get(type(node), "")) == text("""
        Sequential                                  12.5
        ├── visits: Laplace(scale=2)                   1
        └── Parallel by age
            ├── below 18: visits: Laplace(scale=2)     1
            └── from 18: visits: Laplace(scale=2)      1
    """)


@pytest.mark.parametrize(
    ("node", "line"),
    [
        (Sequential(), "Sequential"),
        (Parallel("tag", {"x": VISITS}, overlap=3), "Parallel by tag, up to 3 parts a record"),
        (Group(VISITS, distance=float("inf")), "One row becomes any number"),
        (Sampled(VISITS, size=5, population=50), "Sampled: 5 of 50"),
        (Shuffled(VISITS, population=50), "Shuffled reports of 50"),
        (Post(VISITS), "Post"),
        (Where(Box.everything(), VISITS), "Where everything"),
    ],
)
def test_titles(node, line):
    assert str(node).splitlines()[0] == line


def test_no_line_is_long_and_no_value_makes_two():
    big = Leaf(geometric_on_counts(largest=9, epsilon=1))
    assert len(str(big).splitlines()) == 1
    assert len(str(big)) <= 72
    odd = Parallel("x", {"two\nlines\u2028and \x1b[31mcolors": VISITS})
    assert len(str(odd).splitlines()) == 2
    assert "\x1b" not in str(odd)
