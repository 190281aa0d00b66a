"""A price that was asked for in round numbers fits the budget of that number."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import (
    Budget,
    Choice,
    Leaf,
    Node,
    Parallel,
    Post,
    PrivacyFilter,
    Repeat,
    Sequential,
)
from discreet.accounting.amounts import QUANTUM, amount_up, amount_value
from discreet.accounting.currencies import point_price
from discreet.loss import (
    Approximate,
    GaussianDP,
    Profile,
    Pure,
    ZeroConcentrated,
    gaussian_sigma,
    laplace_scale,
)
from discreet.loss.finite import FinitePair
from discreet.loss.pure_pairs import LaplacePair
from discreet.mechanisms import (
    AboveThreshold,
    Gaussian,
    Laplace,
    OptimalKeys,
    RandomizedResponse,
    Sparse,
)
from discreet.units import row
from discreet_course.counting import Histogram
from discreet_course.optimal import geometric_on_counts

F = Fraction
HUNDREDTHS = st.integers(1, 300).map(lambda n: F(n, 100))
DELTAS = st.sampled_from([F(1, 10**6), F(3, 10**9), F(1, 10**4)])
RELATIONS = st.sampled_from(["add_remove", "replace"])
COLORS = ("red", "green", "blue", "black")


@dataclass(frozen=True)
class Asked:
    """A tree, and what its author would say it costs: for one record more, and for one replaced."""

    tree: Node
    added: tuple[Fraction, ...]
    replaced: tuple[Fraction, ...]


def pure_leaf(source, epsilon, **more):
    return Asked(Leaf(source, **more), (epsilon,), (2 * epsilon,))


def rho_leaf(source, rho, **more):
    return Asked(Leaf(source, **more), (rho,), (4 * rho,))


def one_way(source, *prices):
    return Asked(Leaf(source), prices, ())


def histogram(e):
    return Histogram(cells=5, noise=Laplace(scale=1 / e), relation="add_remove")


pure = st.one_of(
    HUNDREDTHS.map(lambda e: pure_leaf(Pure(epsilon=e), e)),
    HUNDREDTHS.map(lambda e: pure_leaf(Laplace(scale=1 / e), e)),
    HUNDREDTHS.map(lambda e: pure_leaf(Laplace(scale=7 / e), e, added=7)),
    HUNDREDTHS.map(lambda e: pure_leaf(Laplace(scale=laplace_scale(epsilon=e)), e)),
    HUNDREDTHS.map(lambda e: pure_leaf(AboveThreshold(threshold=5, epsilon=e), e)),
    HUNDREDTHS.map(lambda e: pure_leaf(Sparse(threshold=5, answers=3, epsilon=e), e)),
    HUNDREDTHS.map(lambda e: pure_leaf(histogram(e), e)),
    HUNDREDTHS.map(lambda e: pure_leaf(geometric_on_counts(largest=3, epsilon=e), e)),
)
approximate = st.one_of(
    st.builds(lambda e, d: one_way(Approximate(epsilon=e, delta=d), e, d), HUNDREDTHS, DELTAS),
    HUNDREDTHS.map(lambda e: one_way(Laplace(scale=1 / e), e, F(0))),
    HUNDREDTHS.map(lambda e: one_way(geometric_on_counts(largest=2, epsilon=e), e, F(0))),
)
SIGMAS = st.sampled_from([F(1, 2), F(1), F(2), F(4), F(5), F(10)])
concentrated = st.one_of(
    HUNDREDTHS.map(lambda rho: rho_leaf(ZeroConcentrated(rho=rho), rho)),
    HUNDREDTHS.map(lambda mu: rho_leaf(GaussianDP(mu=mu), mu * mu / 2)),
    SIGMAS.map(lambda s: rho_leaf(Gaussian(sigma=s), 1 / (2 * s * s))),
    SIGMAS.map(lambda s: rho_leaf(Gaussian(sigma=3 * s), 1 / (2 * s * s), added=3)),
)
responses = st.builds(
    lambda e, k: Asked(Leaf(RandomizedResponse(epsilon=e, categories=COLORS[:k])), (), (e,)),
    HUNDREDTHS,
    st.integers(2, 4),
)


def together(make, rule):
    def built(children):
        sides = ([c.added for c in children], [c.replaced for c in children])
        prices = (tuple(map(rule, zip(*side, strict=True))) for side in sides)
        return Asked(make([c.tree for c in children]), *prices)

    return built


def repeated(child, times):
    sides = (child.added, child.replaced)
    return Asked(Repeat(child.tree, times), *(tuple(times * x for x in side) for side in sides))


def wards(nodes):
    return Parallel("ward", dict(zip("ABC", nodes, strict=False)))


def inner(children):
    several = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        several.map(together(lambda nodes: Sequential(*nodes), sum)),
        several.map(together(lambda nodes: Choice(*nodes), max)),
        st.builds(repeated, children, st.integers(1, 50)),
        children.map(lambda child: Asked(Post(child.tree), child.added, child.replaced)),
    )


def with_wards(children):  # two wards, one step each, cost less than two steps in one
    several = st.lists(children, min_size=1, max_size=3)
    return st.one_of(inner(children), several.map(together(wards, max)))


def trees(leaves, grown=with_wards):
    return st.recursive(leaves, grown, max_leaves=5)


def fits(what, budget, relation, *, delta=None):
    spending = PrivacyFilter(budget, unit=row(relation=relation))
    return spending.fits(spending.pieces(what, delta=delta))


@given(trees(pure), RELATIONS)
@settings(max_examples=40)
def test_epsilons(asked, relation):
    (epsilon,) = asked.replaced if relation == "replace" else asked.added
    assert fits(asked.tree, Budget(epsilon=epsilon), relation)


@given(trees(approximate))
@settings(max_examples=40)
def test_epsilons_and_deltas(asked):
    epsilon, delta = asked.added
    assert fits(asked.tree, Budget(epsilon=epsilon, delta=delta), "add_remove")


@given(trees(concentrated), RELATIONS)
@settings(max_examples=40)
def test_rhos(asked, relation):
    (rho,) = asked.replaced if relation == "replace" else asked.added
    assert fits(asked.tree, Budget(rho=rho), relation)


@given(trees(responses, inner))
@settings(max_examples=40)
def test_local_answers(asked):
    (epsilon,) = asked.replaced
    assert fits(asked.tree, Budget(epsilon=epsilon), "local")


@pytest.mark.parametrize("epsilon", ["1", "0.3", "0.1", "2.5", "7"])
@pytest.mark.parametrize("categories", [2, 3, 50])
def test_randomized_response_costs_what_it_was_asked_for(epsilon, categories):
    loss = RandomizedResponse(epsilon=epsilon, categories=range(categories)).loss()
    cost, chance = point_price(loss)
    assert amount_value(amount_up(cost)) == F(epsilon)  # exactly: not a quantum more, or less
    assert cost > F(epsilon) * (1 - F(1, 2**100))
    assert chance == 0
    assert loss.epsilon(delta=0) <= math.nextafter(float(epsilon), math.inf)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("groups", [1, 2, 3, 5, 7, 50])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "1e-9"), ("2", "0.001")])
def test_keys_within_a_total_fit_the_total(groups, relation, epsilon, delta):
    keys = OptimalKeys.within(epsilon=epsilon, delta=delta, groups=groups, relation=relation)
    total = Budget(epsilon=epsilon, delta=delta)
    assert fits(keys, total, relation, delta=F(delta))
    if keys.epsilon * groups * (2 if relation == "replace" else 1) == F(epsilon):  # equal shares
        assert fits(keys, total, relation)


@given(HUNDREDTHS, DELTAS)
@settings(max_examples=8)
def test_noise_that_was_calibrated_fits_what_it_was_calibrated_for(epsilon, delta):
    budget = Budget(epsilon=epsilon, delta=delta)
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta)
    assert fits(GaussianDP(mu=1 / sigma), budget, "add_remove", delta=delta)
    scale = laplace_scale(epsilon=epsilon, delta=delta)
    assert fits(Profile.of(LaplacePair(1 / scale)), budget, "add_remove", delta=delta)


def test_a_law_that_exceeds_what_was_asked_for_is_refused():
    """The twin that rounds its odds up, by as little as one part in 2**100, does not fit."""
    asked = RandomizedResponse(epsilon=1, categories=COLORS).loss()
    (pair, _), *_ = asked.remove[0].pairs
    kept, lied = pair.p[0] * (1 + F(1, 2**80)), pair.p[1]
    rest = 1 - kept - lied
    twin = Profile.of(FinitePair((kept, lied, rest), (lied, kept, rest)))
    assert fits(Leaf(asked, relation="replace"), Budget(epsilon=1), "replace")
    assert not fits(Leaf(twin, relation="replace"), Budget(epsilon=1), "replace")
    assert not fits(Pure(epsilon=1), Budget(epsilon=1 - QUANTUM), "add_remove")
