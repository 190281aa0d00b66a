"""Atoms anywhere, by a smoothed contour: against enumeration, and tight."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Composition, Profile
from discreet.loss.contour import Contour
from discreet.loss.finite import FinitePair
from discreet.loss.lattice import LatticeSearch
from discreet.loss.pure_pairs import ResponsePair
from tests.loss.truth import enumerated

F = Fraction


def smoothed(*pairs):
    families = {}
    for pair, count in pairs:
        families.setdefault(type(pair), []).append((pair, count))
    return Contour([kind.transform_of(members) for kind, members in families.items()])


@st.composite
def pairs(draw):
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(1, 30), min_size=size, max_size=size)
    p, q = draw(weights), draw(weights)
    return FinitePair(tuple(F(w, sum(p)) for w in p), tuple(F(w, sum(q)) for w in q))


@pytest.mark.theorem("smoothed-contour")
@settings(max_examples=15)
@given(pairs(), pairs(), st.integers(1, 3), st.sampled_from([0.0, 0.02, 0.4, 1.3, 2.5]))
def test_products_are_enclosed(one, two, count, eps):
    laws = [(one.p, one.q)] * count + [(two.p, two.q)]
    truth = enumerated(laws, eps)
    found = smoothed((one, count), (two, 1)).delta(eps)
    assert found.low <= truth * (1 + 1e-12) + 1e-15
    assert truth <= found.high * (1 + 1e-12) + 1e-15


def trinomial(p, q, n, eps):
    """Sum over all types of n outcomes."""
    a, total = mpmath.exp(eps), mpmath.mpf(0)
    p, q = ([mpmath.mpf(x.numerator) / x.denominator for x in law] for law in (p, q))
    for i in range(n + 1):
        for j in range(n + 1 - i):
            k = n - i - j
            ways = math.factorial(n) // (math.factorial(i) * math.factorial(j) * math.factorial(k))
            gap = p[0] ** i * p[1] ** j * p[2] ** k - a * q[0] ** i * q[1] ** j * q[2] ** k
            total += ways * max(gap, 0)
    return total


@pytest.mark.theorem("smoothed-contour")
@pytest.mark.parametrize("eps", [0.0, 2.0, 6.0, 11.0])
def test_many_runs_of_three_atoms_by_enumeration(eps):
    pair = FinitePair((F(1, 2), F(3, 10), F(1, 5)), (F(1, 4), F(2, 5), F(7, 20)))
    truth = trinomial(pair.p, pair.q, 60, eps)
    found = Composition(((pair, 60),)).delta(eps)
    assert found.low <= truth <= found.high
    assert found.width <= (1e-6 if eps else 1e-4) * found.high


def four_way_response():
    keep, lie = F(1, 2), F(1, 6)
    return FinitePair((keep, lie, lie, lie), (lie, keep, lie, lie))


@pytest.mark.theorem("smoothed-contour")
def test_a_hundred_four_way_responses_are_tight():
    """The losses are plus or minus ln 3, or 0: a law that can be added up exactly."""
    law = {0: mpmath.mpf(1)}
    for _ in range(100):
        fresh = {}
        for k, mass in law.items():
            for move, chance in ((1, F(1, 2)), (0, F(1, 3)), (-1, F(1, 6))):
                fresh[k + move] = (
                    fresh.get(k + move, 0) + mass * chance.numerator / chance.denominator
                )
        law = fresh
    loss = Profile.of(four_way_response()).power(100)
    for delta in (1e-3, 1e-6, 1e-10):
        found = loss.interval(delta=delta)
        assert found.width <= 1e-6
        for eps, above in ((found.low, True), (found.high, False)):
            exact = sum(
                mass * (1 - mpmath.exp(eps - k * mpmath.log(3)))
                for k, mass in law.items()
                if k * mpmath.log(3) > eps
            )
            assert (exact >= delta * (1 - 1e-9)) if above else (exact <= delta * (1 + 1e-9))


@pytest.mark.theorem("smoothed-contour")
@pytest.mark.parametrize("count", [10, 100, 1000])
@pytest.mark.parametrize("size", [3, 4, 5])
def test_powers_of_small_laws_are_tight(count, size):
    weights = [3 + 7 * j % 11 for j in range(size)]
    other = [5 + 4 * j % 7 for j in range(size)]
    pair = FinitePair(
        tuple(F(w, sum(weights)) for w in weights), tuple(F(w, sum(other)) for w in other)
    )
    found = Composition(((pair, count),)).epsilon(1e-6)
    assert found.width <= 1e-5 * max(1.0, found.high)


@pytest.mark.theorem("smoothed-contour")
def test_responses_without_a_common_spacing_are_tight():
    mixed = Composition(((ResponsePair(F("0.1234567")), 30), (ResponsePair(F("0.0987654321")), 50)))
    found = mixed.epsilon(1e-6)
    assert found.width <= 1e-6
    lattice = LatticeSearch(list(mixed.pairs), 0.0)
    assert lattice.delta(found.high, found.high).high >= 1e-6 * (1 - 1e-4)


def test_five_hundred_different_responses_compose():
    """They once took minutes on a lattice; the mean and variance of the sum bound the answer."""
    epsilons = [F(1000 + 37 * k, 100000) for k in range(500)]
    found = Composition(tuple((ResponsePair(e), 1) for e in epsilons)).epsilon(1e-6)
    assert found.width <= 1e-6 * found.high
    mean = sum(float(e) * math.tanh(float(e) / 2) for e in epsilons)
    deviation = math.sqrt(sum((float(e) / math.cosh(float(e) / 2)) ** 2 for e in epsilons))
    assert mean + 4 * deviation < found.low < found.high < mean + 6 * deviation
