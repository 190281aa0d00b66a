"""Parallel parts: which lists of parts a theorem covers, and which it does not."""

import itertools
import math
from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import (
    Box,
    Budget,
    Choice,
    Group,
    Leaf,
    Parallel,
    Post,
    PrivacyFilter,
    Repeat,
    Sampled,
    Sequential,
    Where,
    above,
    account,
    anything,
    at_least,
    at_most,
    below,
    between,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.errors import NotComposable, OverBudget, WrongKind
from discreet.loss import Pure
from discreet.mechanisms import Laplace, RandomizedResponse
from discreet.units import row
from discreet_course.counting import Histogram
from discreet_course.optimal import geometric_on_counts

ONE = Leaf(Pure(epsilon=1))
BOUNDED = Leaf(Pure(epsilon=1), relation="replace", name="mean")


@pytest.mark.parametrize(
    "keys",
    [
        ["A", "B", None],
        [1, 2, Fraction(5, 2), above(3)],
        [True, False],
        [below(18), between(18, 64), above(64), is_null()],
        [one_of("A", "B"), "C"],
        [date(2025, 1, 1), at_least(date(2025, 1, 2))],
        [nothing(), anything()],
        [is_not_null(), None],
        list(range(2000)),
    ],
)
def test_disjoint_parts_are_parallel(keys):
    assert len(Parallel("key", dict.fromkeys(keys, ONE)).parts) == len(keys)


@pytest.mark.theorem("parallel")
@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ([at_most(40), at_least(18)], ("up to 40", "from 18")),
        ([at_most(40), 18], ("18", "up to 40")),
        (["A", one_of("A", "B")], ("'A'", "'B'")),
        (["A", equals("A")], ("'A'", "'A'")),
        ([anything(), None], ("NULL", "anything")),
        ([above("m"), "z"], ("'z'", "not NULL")),  # text is ordered differently everywhere
        ([below(3), above(1), -7], ("-7", "below 3")),
        ([below(3), above(5), between(4, 6)], ("above 5", "from 4 to 6")),
        ([True, anything()], ("True", "anything")),
    ],
)
def test_overlapping_parts_are_refused_by_name(keys, named):
    with pytest.raises(NotComposable) as caught:
        Parallel("age", dict.fromkeys(keys, ONE))
    assert all(name in caught.value.what for name in named)
    assert "parallel composition" in caught.value.why
    assert "(key parallel)" in caught.value.why


def test_parts_that_may_overlap_are_single_values():
    assert Parallel("tag", {"A": ONE, "B": ONE, None: ONE}, overlap=2).overlap == 2
    assert Parallel("tag", {True: ONE, False: ONE}, overlap=2).overlap == 2
    with pytest.raises(NotComposable):
        Parallel("tag", {"A": ONE, equals("A"): ONE}, overlap=2)
    for ranged in (at_most(3), one_of(1, 2), anything(), one_of(1) | is_null()):
        with pytest.raises(WrongKind, match="single"):
            Parallel("tag", {ranged: ONE}, overlap=2)


class Series:
    """A column with values, as data frames have them."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2])


@pytest.mark.theorem("parallel")
@pytest.mark.parametrize(
    "key",
    [
        lambda record: record["age"] > 40,
        np.array([0, 1, 1]),
        ["A", "B"],
        ("ward",),
        Series(),
        range(3),
        {"ward": "A"},
        str,
        (chunk for chunk in [1, 2]),
    ],
)
def test_a_key_computed_from_the_table_is_refused(key):
    with pytest.raises(NotComposable) as caught:
        Parallel(key, {"A": ONE})
    assert "computed from the table" in caught.value.what
    assert "(key parallel)" in caught.value.why


# --- bounded certificates -------------------------------------------------------------------------

AROUND = [
    lambda leaf: leaf,
    lambda leaf: Sequential(ONE, leaf),
    lambda leaf: Repeat(leaf, 2),
    lambda leaf: Post(Group(leaf, distance=1)),
    lambda leaf: Choice(ONE, Sampled(leaf, rate="0.1")),
]


@pytest.mark.theorem("bounded-parallel")
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(
    "leaf",
    [
        BOUNDED,
        Leaf(Histogram(cells=3, noise=Laplace(scale=2), relation="replace"), name="mean"),
        Leaf(RandomizedResponse(epsilon=1), relation="local", name="mean"),
    ],
)
def test_a_bounded_certificate_inside_a_part_is_refused(around, leaf):
    for make in (
        lambda node: Parallel("ward", {"A": ONE, "B": node}),
        lambda node: Where(Box({"age": at_least(18)}), node),
        lambda node: Parallel("ward", {"A": Where(Box.everything(), ONE), "B": Post(node)}),
    ):
        with pytest.raises(NotComposable) as caught:
            make(around(leaf))
        assert "'mean'" in caught.value.what
        assert "(key bounded-parallel)" in caught.value.why


# --- why the refusals are right -------------------------------------------------------------------


def tables(rows, most):
    return [t for n in range(most + 1) for t in itertools.combinations_with_replacement(rows, n)]


def added_pairs(rows, most):
    return [
        (table, tuple(sorted((*table, row)))) for table in tables(rows, most - 1) for row in rows
    ]


def replaced_pairs(rows, most):
    return [
        (tuple(sorted((*table, one))), tuple(sorted((*table, other))))
        for table in tables(rows, most - 1)
        for one, other in itertools.permutations(rows, 2)
    ]


def loss_of(parts, pairs, epsilons):
    """Return the largest exact loss of independent counts of all parts, between pairs of tables.

    Each count gets truncated geometric noise, whose loss between counts is their distance times
    its epsilon.
    """
    counts = [geometric_on_counts(largest=4, epsilon=epsilon).matrix for epsilon in epsilons]
    worst = 0.0
    for left, right in pairs:
        total = 0.0
        for here, there, law in zip(parts(left), parts(right), counts, strict=True):
            ratios = [p / q for p, q in zip(law[here], law[there], strict=True)]
            total += math.log(max(ratios))
        worst = max(worst, total)
    return worst


def sizes(table):
    """Count the rows below 2, and the others: a public function of each row."""
    return [sum(row < 2 for row in table), sum(row >= 2 for row in table)]


@pytest.mark.theorem("parallel")
def test_parts_by_a_column_lose_the_largest_of_their_losses():
    assert loss_of(sizes, added_pairs(range(4), 4), (1, 0.5)) == pytest.approx(1)


@pytest.mark.theorem("bounded-parallel")
def test_where_records_are_replaced_two_parts_pay():
    assert loss_of(sizes, replaced_pairs(range(4), 4), (1, 0.5)) == pytest.approx(1.5)
    exact = {tuple(sizes(left)) != tuple(sizes(right)) for left, right in replaced_pairs((1, 2), 3)}
    assert exact == {True}  # exact sizes are 0-DP on each part, and give the record away


@pytest.mark.theorem("parallel")
def test_parts_by_rank_lose_more_than_any_of_them():
    """Chunks of two rows by rank, and randomized response about the parity of each."""

    def parities(table):
        chunks = [sum(table[at : at + 2]) % 2 for at in (0, 2, 4)]
        return np.array(chunks)

    worst = max(
        int(abs(parities(left) - parities(right)).sum()) for left, right in added_pairs(range(4), 6)
    )
    assert worst == 3  # three times 0.5, and not 0.5


@pytest.mark.theorem("bounded-parallel")
@pytest.mark.parametrize("relation", ["replace", "either"])
@pytest.mark.parametrize("counts", [1, 3])
def test_ranges_of_texts_that_look_the_same_may_be_different(relation, counts):
    """Of two records one may be in all ranges, and the other in the first of them alone."""
    total = Leaf(Pure(epsilon=1))
    count = Leaf(Pure(epsilon=1), replaced=0)
    tree = Sequential(
        Where(Box({"name": between("a", "z")}), total),
        *(Where(Box({"name": between("a", end)}), count) for end in "mno"[:counts]),
    )
    assert account(tree, relation=relation).epsilon(delta=0) >= 2 + counts
    one = Where(Box({"name": between("a", "z")}), count)
    assert account(one, relation="replace").epsilon(delta=0) == 1
    with pytest.raises(OverBudget):
        PrivacyFilter(Budget(epsilon=2), unit=row(relation=relation)).charge(tree)


def test_a_filter_refuses_parts_that_overlap_inside_of_others():
    """They would be charged one by one, each of them as if it were alone."""
    leaf = Leaf(Pure(epsilon="0.9"))
    tree = Parallel("tag", {"a": leaf, "b": Parallel("tag", {"b": leaf}, overlap=2)})
    spending = PrivacyFilter(Budget(epsilon=1), unit=row())
    with pytest.raises(NotComposable):
        spending.charge(tree)
    with pytest.raises(NotComposable):
        account(tree, relation="add_remove")
    assert spending.spent == PrivacyFilter(Budget(epsilon=1), unit=row()).spent
