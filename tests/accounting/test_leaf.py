"""What a leaf loses when rows come and go: by hand, by enumeration, by its own laws."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.accounting import UNPROTECTED, Leaf, exact_size
from discreet.loss import (
    Approximate,
    GaussianDP,
    PrivacyLoss,
    Profile,
    Pure,
    ZeroConcentrated,
)
from discreet.loss.elementary import exp
from discreet.loss.finite import FinitePair
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    Laplace,
    RandomizedResponse,
)
from discreet.mechanisms.finite import hockey_stick
from discreet.units import Relation, person, row
from discreet_course.counting import Histogram
from discreet_course.optimal import geometric_on_counts
from discreet_course.permute_and_flip import PermuteAndFlip

SMALL = list(itertools.product(range(4), repeat=2))
FREE = Pure(epsilon=0)


def epsilon(loss):
    return loss.epsilon(delta=0)


# --- by hand -------------------------------------------------------------------------------------


@pytest.mark.theorem("leaf-distance")
@pytest.mark.parametrize("moves", SMALL)
@pytest.mark.parametrize(
    ("facts", "distance"),
    [
        ({"replaced": 0}, lambda r, i: abs(r - i)),  # a count of all rows
        ({"added": 10, "replaced": 10}, lambda r, i: 10 * max(r, i)),  # a sum in [0, 10]
        ({"added": 10, "replaced": 20}, lambda r, i: 10 * (r + i)),  # a sum in [-10, 10]
        ({"added": 10}, lambda r, i: 10 * (r + i)),  # nothing is known
        ({"added": 10, "replaced": 99}, lambda r, i: 10 * (r + i)),  # never more than the chain
        ({"added": 4, "replaced": 7}, lambda r, i: 7 * min(r, i) + 4 * abs(r - i)),
        ({"added": 0}, lambda r, i: 0),
        ({"relation": "replace", "added": 5}, lambda r, i: 5 * r if r == i else math.inf),
        ({"relation": "either", "added": 5}, lambda r, i: 5 * max(r, i)),
        ({"relation": "local", "added": 5}, lambda r, i: 5 * r if r == i else math.inf),
    ],
)
def test_the_price_of_a_query_is_that_of_the_distance_it_moves(facts, distance, moves):
    leaf = Leaf(Laplace(scale=20), **facts)
    expected = distance(*moves)
    if expected == math.inf:
        assert leaf.price(*moves) == UNPROTECTED
    else:
        assert epsilon(leaf.price(*moves)) == pytest.approx(expected / 20, rel=1e-12, abs=0)
        assert leaf.price(*moves).delta(epsilon="0.1") == (
            Laplace(scale=20).loss(distance=expected).delta(epsilon="0.1")
        )


@pytest.mark.theorem("leaf-distance")
@pytest.mark.parametrize(
    ("loss", "twice", "thrice"),
    [
        (Pure(epsilon=1), Pure(epsilon=2), Pure(epsilon=3)),
        (GaussianDP(mu=1), GaussianDP(mu=2), GaussianDP(mu=3)),
        (ZeroConcentrated(rho=1), ZeroConcentrated(rho=4), ZeroConcentrated(rho=9)),
    ],
)
def test_the_price_of_a_loss_is_that_of_a_chain(loss, twice, thrice):
    unknown = Leaf(loss)
    assert [unknown.price(*m) for m in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (0, 3)]] == [
        FREE,
        loss,
        loss,
        twice,
        thrice,
        thrice,
    ]
    alike = Leaf(loss, replaced=loss)
    assert [alike.price(*m) for m in [(1, 1), (2, 2), (2, 1), (3, 3)]] == [
        loss,
        twice,
        thrice,
        thrice,
    ]
    count = Leaf(loss, replaced=0)
    assert [count.price(*m) for m in [(1, 1), (2, 2), (2, 1), (3, 1)]] == [FREE, FREE, loss, twice]
    bounded = Leaf(loss, relation="replace")
    assert [bounded.price(*m) for m in [(1, 1), (2, 2), (1, 0), (2, 1)]] == [
        loss,
        twice,
        UNPROTECTED,
        UNPROTECTED,
    ]
    either = Leaf(loss, relation="either")
    assert [either.price(*m) for m in [(1, 0), (1, 1), (2, 1), (3, 0)]] == [
        loss,
        loss,
        twice,
        thrice,
    ]


def test_a_known_loss_of_replaced_rows_is_not_used_where_the_chain_is_shorter():
    assert Leaf(Pure(epsilon=1), replaced=Pure(epsilon=5)).price(1, 1) == Pure(epsilon=2)
    leaf = Leaf(Laplace(scale=2), replaced=Pure(epsilon="0.1"))
    assert leaf.price(1, 1) == Pure(epsilon="0.1")
    assert leaf.price(2, 2) == Pure(epsilon="0.2")
    assert epsilon(leaf.price(2, 1)) == 1.5


def test_the_exact_size_is_free_where_rows_are_replaced_and_unprotected_elsewhere():
    size = exact_size("rows")
    assert size.name == "rows"
    assert size.price(3, 3) == FREE
    for moves in [(1, 0), (0, 1), (3, 2)]:
        assert size.price(*moves).delta(epsilon=100) == 1


def test_the_relation_is_that_of_whoever_names_one():
    histogram = Histogram(cells=3, noise=Laplace(scale=2), relation="replace")
    assert Leaf(histogram).relation is Relation.REPLACE
    assert Leaf(Laplace(scale=2)).relation is Relation.ADD_REMOVE
    assert Leaf(Pure(epsilon=1), unit=person("p", relation="replace")).relation is Relation.REPLACE
    assert Leaf(Pure(epsilon=1), unit=row(relation="either")).relation is Relation.EITHER


# --- mechanism by mechanism ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "relation", "twice"),
    [
        (Exponential(candidates=3, scale=2, change="monotone"), "replace", (2, 2)),
        (Exponential(candidates=3, scale=2, change="monotone"), "local", (2, 2)),
        (Exponential(candidates=3, scale=2, change="monotone"), "either", (2, 2)),
        (AboveThreshold(threshold=5, epsilon=1, monotone=True), "replace", (4, 4)),
    ],
)
def test_a_promise_of_one_direction_ends_where_rows_are_replaced(mechanism, relation, twice):
    assert epsilon(Leaf(mechanism, relation=relation).price(2, 2)) == twice[0]


def test_in_the_local_model_each_row_answers_for_itself():
    leaf = Leaf(RandomizedResponse(epsilon=1), relation="local")
    assert [leaf.price(n, n) for n in (1, 2, 3)] == [Pure(epsilon=n) for n in (1, 2, 3)]


def test_long_chains_are_bounded_without_following_every_link():
    laws = (Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4))
    leaf = Leaf(Profile.of_symmetric(FinitePair(*laws)))
    assert epsilon(leaf.price(10**4, 0)) == pytest.approx(10**4 * math.log(2), rel=1e-9)
    assert epsilon(leaf.price(100, 0)) <= epsilon(leaf.price(101, 0))


# --- by enumeration ------------------------------------------------------------------------------


def tables(values, most):
    return [
        table
        for size in range(most + 1)
        for table in itertools.combinations_with_replacement(values, size)
    ]


def moves(left, right):
    here, there = Counter(left), Counter(right)
    return (here - there).total(), (there - here).total()


def exact_losses(law, values, most):
    """Return the largest ratio of chances for each (removed, inserted), over all small tables."""
    worst = {}
    laws = {table: law(table) for table in tables(values, most)}
    for left, right in itertools.permutations(laws, 2):
        ratio = max(p / q for p, q in zip(laws[left], laws[right], strict=True))
        key = moves(left, right)
        worst[key] = max(worst.get(key, 0), ratio)
    return {key: math.log(ratio) for key, ratio in worst.items()}


def by_rows(mechanism, query):
    def law(table):
        return [
            (chance.low + chance.high) / 2
            for chance in mechanism.reference_pmf(query(table)).values()
        ]

    return law


def votes(table):
    return [table.count(candidate) for candidate in range(3)]


ENUMERATED = [  # name, leaf, law, values, most rows, moves at which the price is attained
    (
        "count",
        Leaf(geometric_on_counts(largest=4, epsilon=1), replaced=0),
        by_rows(geometric_on_counts(largest=4, epsilon=1), len),
        (0, 1),
        4,
        set(itertools.product(range(3), repeat=2)),
    ),
    (
        "sum in [0, 2]",
        Leaf(geometric_on_counts(largest=6, epsilon="1/2"), added=2, replaced=2),
        by_rows(geometric_on_counts(largest=6, epsilon="1/2"), sum),
        (0, 1, 2),
        3,
        {(1, 0), (0, 1), (1, 1), (2, 0), (2, 1)},
    ),
    *(
        (
            f"election by {kind.__name__}",
            Leaf(kind(candidates=3, scale=2, change="monotone"), replaced=1),
            by_rows(kind(candidates=3, scale=2, change="monotone"), votes),
            (0, 1, 2),
            4,
            set(),
        )
        for kind in (Exponential, PermuteAndFlip)
    ),
]


@pytest.mark.theorem("leaf-distance")
@pytest.mark.parametrize("case", ENUMERATED, ids=lambda case: case[0])
def test_no_pair_of_small_tables_loses_more_than_the_price(case):
    _, leaf, law, values, most, attained = case
    worst = exact_losses(law, values, most)
    assert {(1, 0), (0, 1), (1, 1), (2, 1), (2, 2)} <= worst.keys()
    for key, loss in worst.items():
        assert loss <= epsilon(leaf.price(*key)) + 1e-9
        assert loss <= epsilon(leaf.price_up_to(*key)) + 1e-9
    for key in attained & worst.keys():
        assert epsilon(leaf.price(*key)) <= worst[key] + 1e-9


@pytest.mark.parametrize("at", ["0", "0.4", "1"])
@pytest.mark.parametrize("case", ENUMERATED, ids=lambda case: case[0])
def test_no_pair_of_small_tables_has_a_larger_delta(case, at):
    _, leaf, law, values, most, attained = case
    worst = {}
    laws = {table: law(table) for table in tables(values, most)}
    for left, right in itertools.permutations(laws, 2):
        found = hockey_stick(laws[left], laws[right], exp(Fraction(at)).low)
        worst[moves(left, right)] = max(worst.get(moves(left, right), 0), found)
    for key, delta in worst.items():
        price = leaf.price(*key).delta(epsilon=at)
        assert delta <= price + 1e-12
        if key in attained:
            assert price <= delta + 1e-9


def test_a_loss_with_two_directions_is_chained_in_both():
    """A row leaves and another comes: not two that leave, nor two that come."""
    half, quarter, zero = Fraction(1, 2), Fraction(1, 4), Fraction(0)
    present, absent = (half, zero, half), (quarter, quarter, half)
    source = Profile.of(FinitePair(present, absent))
    replaced = (zero, half, half)  # the same law for another row: absent does not tell them apart
    leaf = Leaf(source)
    assert leaf.price(1, 0) is source
    for at in ("0", "0.1", "0.5", "0.693", "2"):
        exact = hockey_stick(present, replaced, exp(Fraction(at)).high)
        price = leaf.price(1, 1)
        assert price.remove == price.add
        assert price.delta(epsilon=at) >= exact
    twin = source.group(2).remove  # two rows that leave
    assert Profile(remove=twin, add=twin).delta(epsilon=2) == 0
    assert hockey_stick(present, replaced, exp(Fraction(2)).high) == half


# --- laws ----------------------------------------------------------------------------------------

COUNTS = st.integers(0, 4)
TENTHS = st.integers(1, 20).map(lambda k: Fraction(k, 10))
SOURCES = st.one_of(
    st.builds(Pure, epsilon=TENTHS),
    st.builds(Approximate, epsilon=TENTHS, delta=st.just(Fraction(1, 10**6))),
    st.builds(GaussianDP, mu=TENTHS),
    st.builds(ZeroConcentrated, rho=TENTHS),
)
LEAVES = st.one_of(
    st.builds(Leaf, SOURCES, replaced=st.one_of(st.none(), st.just(0), SOURCES)),
    st.builds(
        Leaf,
        st.one_of(st.builds(Laplace, scale=TENTHS), st.builds(Gaussian, sigma=TENTHS)),
        added=st.integers(0, 5),
        replaced=st.one_of(st.none(), st.integers(0, 12), SOURCES),
    ),
    st.builds(Leaf, SOURCES, relation=st.sampled_from(["replace", "either", "local"])),
    st.builds(
        Leaf,
        st.builds(
            Histogram,
            cells=st.integers(1, 3),
            noise=st.builds(Laplace, scale=TENTHS),
            relation=st.sampled_from(["add_remove", "replace", "either"]),
        ),
    ),
)


@settings(max_examples=60, deadline=None)
@given(LEAVES, COUNTS, COUNTS, st.sampled_from(["0", "0.5", "3"]))
def test_a_price_up_to_some_rows_covers_every_smaller_change(leaf, gone, come, at):
    most = leaf.price_up_to(gone, come).delta(epsilon=at)
    for fewer in itertools.product(range(gone + 1), range(come + 1)):
        assert leaf.price(*fewer).delta(epsilon=at) <= most * (1 + 1e-9) + 1e-15


@settings(max_examples=60, deadline=None)
@given(LEAVES, COUNTS, COUNTS, COUNTS, COUNTS)
def test_pure_prices_obey_the_triangle_inequality(leaf, r, i, more_r, more_i):
    assume(not isinstance(leaf.replaced, PrivacyLoss))  # which is of as many rows either way
    whole = epsilon(leaf.price(r + more_r, i + more_i))
    parts = epsilon(leaf.price(r, i)) + epsilon(leaf.price(more_r, more_i))
    assert whole <= parts * (1 + 1e-9) or math.isnan(parts)


def test_the_enumeration_refutes_prices_that_are_too_low():
    """Twins of the leaves above, each with one careless fact."""
    law = by_rows(PermuteAndFlip(candidates=3, scale=2, change="monotone"), votes)
    worst = exact_losses(law, (0, 1, 2), 4)
    monotone = PermuteAndFlip(candidates=3, scale=2, change="monotone")
    assert worst[1, 1] > epsilon(monotone.loss(distance=1)) + 0.01  # one way, both ways
