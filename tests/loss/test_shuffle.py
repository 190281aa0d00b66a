import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.errors import OutOfRange
from discreet.loss import Composition, GaussianDP, Pure
from discreet.loss.finite import FinitePair
from discreet.loss.shuffle import Shuffle
from tests.loss.oracles import coin, hockey_stick, real


def pair(local, n, chance):
    """Enumerate the two laws of the theorem."""
    keep = 1 / (1 + mpmath.exp(-real(local)))
    p, q = {}, {}
    for c in range(n):
        crowd = mpmath.binomial(n - 1, c) * chance**c * (1 - chance) ** (n - 1 - c)
        for a in range(c + 1):
            weight = crowd * mpmath.binomial(c, a) / mpmath.mpf(2) ** c
            for d, share in ((1, keep), (0, 1 - keep)):
                first, second = (a + d, c - a + 1 - d), (a + 1 - d, c - a + d)
                p[first] = p.get(first, 0) + weight * share
                q[second] = q.get(second, 0) + weight * share
    return p, q


@pytest.mark.theorem("shuffling")
@pytest.mark.parametrize(
    ("local", "n", "epsilon"),
    [("5", 3, "0.02"), ("1", 40, "0.3"), ("2", 30, "0"), ("0.5", 25, "0.4"), ("3", 2, "2.5")],
)
@pytest.mark.parametrize("binary", [False, True])
def test_delta_equals_the_enumeration(local, n, epsilon, binary):
    decay = mpmath.exp(-real(Fraction(local)))
    p, q = pair(Fraction(local), n, 2 * decay / (1 + decay) if binary else decay)
    truth = hockey_stick(p, q, Fraction(epsilon))
    shuffle = Shuffle(epsilon=local, population=n, binary=binary)
    assert shuffle.bounds(np.array([float(Fraction(epsilon))]))[0][0] <= truth
    found = shuffle.delta(epsilon=epsilon)
    assert truth - mpmath.mpf(10) ** -25 <= found <= truth * (1 + mpmath.mpf("1e-11")) + 1e-25


def shuffled_coins(local, ones, n):
    """The law of how many ones n shuffled randomized responses show."""
    law = {0: mpmath.mpf(1)}
    for person in range(n):
        bit = coin(local, 1 if person < ones else 0)
        law = {k: law.get(k, 0) * bit[0] + law.get(k - 1, 0) * bit[1] for k in range(person + 2)}
    return law


@pytest.mark.theorem("shuffling")
@pytest.mark.parametrize("epsilon", ["0.2", "0.5", "0.9"])
def test_the_bound_covers_shuffled_randomized_response(epsilon):
    n = 12
    worst = max(
        hockey_stick(shuffled_coins(1, k, n), shuffled_coins(1, k + 1, n), epsilon)
        for k in range(n)
    )
    tight = Shuffle(epsilon=1, population=n, binary=True).delta(epsilon=epsilon)
    general = Shuffle(epsilon=1, population=n).delta(epsilon=epsilon)
    assert worst <= tight <= general


def test_golden_values():
    assert Shuffle(epsilon=1, population=1000).epsilon(delta=1e-6) == pytest.approx(
        0.182412, abs=2e-6
    )
    binary = Shuffle(epsilon=1, population=1000, binary=True)
    assert binary.epsilon(delta=1e-6) == pytest.approx(0.148671, abs=2e-6)


def test_the_exact_shuffled_response_is_below_the_golden_bounds():
    epsilon, n = Fraction("0.126615"), 1000
    keep = 1 / (1 + mpmath.exp(-1))
    with mpmath.workdps(25):
        low = [mpmath.binomial(n - 1, k) * (1 - keep) ** k * keep ** (n - 1 - k) for k in range(n)]
        p = {
            k: (low[k] if k < n else 0) * keep + (low[k - 1] if k else 0) * (1 - keep)
            for k in range(n + 1)
        }
        q = {
            k: (low[k] if k < n else 0) * (1 - keep) + (low[k - 1] if k else 0) * keep
            for k in range(n + 1)
        }
        worst = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
    assert float(worst) == pytest.approx(1e-6, rel=1e-4)


def test_the_ends():
    assert Shuffle(epsilon=0, population=10).delta(epsilon=0) == 0.0
    assert Shuffle(epsilon=1, population=10).delta(epsilon=1) < 1e-40
    assert Shuffle(epsilon=1, population=10).epsilon(delta=1) == 0.0
    assert Shuffle(epsilon=1, population=10).epsilon(delta=0) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("local", "n"), [("1", 2), ("3", 3), ("0.5", 100), ("2", 700)])
@pytest.mark.parametrize("binary", [False, True])
def test_both_ends_are_close(local, n, binary):
    x = np.array([0.0, 1e-9, 0.01, 0.1, 0.3, 0.7, 0.999, 1.0, 1.5]) * float(Fraction(local))
    low, high = Shuffle(epsilon=local, population=n, binary=binary).bounds(x)
    assert (low <= high).all()
    assert (high - low <= 1e-9 * high + 1e-25).all()


@pytest.mark.theorem("shuffling")
def test_shuffled_losses_compose_tightly():
    shuffle = Shuffle(epsilon=1, population=100)
    loss = Pure(epsilon=1).shuffled(population=100)
    for epsilon in ("0.1", "0.3"):
        exact = shuffle.delta(epsilon=epsilon)
        assert exact <= loss.delta(epsilon=epsilon) <= exact * (1 + 1e-9)
    ten = loss.power(10).interval(delta=1e-6)
    assert ten.width <= 1e-5 * ten.high
    assert loss.interval(delta=1e-6).high < ten.low


def laws(local, n):
    """The two laws of the theorem, as exact fractions for e**-local = 1/2."""
    keep, half = Fraction(2, 3), Fraction(1, 2)
    p, q = {}, {}
    for c in range(n):
        crowd = math.comb(n - 1, c) * half ** (n - 1)
        for a in range(c + 1):
            weight = crowd * math.comb(c, a) * half**c
            for d, share in ((1, keep), (0, 1 - keep)):
                first, second = (a + d, c - a + 1 - d), (a + 1 - d, c - a + d)
                p[first] = p.get(first, 0) + weight * share
                q[second] = q.get(second, 0) + weight * share
    return FinitePair(tuple(p.values()), tuple(q.get(key, Fraction(0)) for key in p))


@pytest.mark.theorem("shuffling")
def test_composed_shuffles_by_enumeration():
    local = Fraction(math.log(2))
    exact = Composition(((laws(local, 4), 2),))
    found = Pure(epsilon=local).shuffled(population=4).power(2).remove[0]
    for eps in (0.0, 0.1, 0.4, 0.9):
        assert exact.delta(eps).low <= found.delta(eps).high
        assert found.delta(eps).high <= exact.delta(eps).high * (1 + 1e-5)


def test_what_the_theorems_do_not_cover_is_refused():
    with pytest.raises(OutOfRange):
        GaussianDP(mu=1).shuffled(population=100)
