"""The definitions and properties of the course, by enumeration on small domains."""

from fractions import Fraction
from itertools import chain, combinations, pairwise, product

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Approximate, Pure
from discreet_course.textbook import basic
from tests.loss.oracles import coin, hockey_stick, real


def events(outcomes):
    return chain.from_iterable(combinations(outcomes, r) for r in range(len(outcomes) + 1))


def count_law(total, epsilon, top):
    """Two-sided geometric noise on a count, with everything beyond 0..top moved to its ends."""
    a = mpmath.exp(-real(epsilon))
    law = {k: (1 - a) / (1 + a) * a ** abs(k - total) for k in range(1, top)}
    law[0] = a**total / (1 + a)
    law[top] = a ** (top - total) / (1 + a)
    return law


@st.composite
def finite_pair(draw):
    weights = st.lists(st.integers(1, 20), min_size=3, max_size=3)
    first, second = draw(weights), draw(weights)
    return tuple(
        {k: mpmath.mpf(w) / sum(law) for k, w in enumerate(law)} for law in (first, second)
    )


@given(finite_pair(), st.integers(0, 20).map(lambda k: Fraction(k, 10)))
def test_d1_delta_is_the_worst_event(pair, epsilon):
    p, q = pair
    ratio = mpmath.exp(real(epsilon))
    worst = max(sum(p[o] for o in s) - ratio * sum(q[o] for o in s) for s in events(p))
    assert abs(worst - hockey_stick(p, q, epsilon)) < 1e-40


@pytest.mark.parametrize("epsilon", ["0.2", "1"])
def test_d1_and_d3_a_noisy_count_under_both_relations(epsilon):
    top = 4
    laws = [count_law(n, Fraction(epsilon), top) for n in range(top + 1)]
    added = max(hockey_stick(laws[n], laws[n + 1], Fraction(epsilon)) for n in range(top))
    assert added < mpmath.mpf(10) ** -40
    below = Fraction(epsilon) * Fraction(99, 100)
    assert hockey_stick(laws[2], laws[1], below) > 0
    for target in ("0", "0.1", "0.5"):
        one = max(hockey_stick(laws[n], laws[n + 1], Fraction(target)) for n in range(top))
        two = max(hockey_stick(laws[n], laws[n + 2], Fraction(target)) for n in range(top - 1))
        assert one <= Pure(epsilon=epsilon).delta(epsilon=target)
        assert two <= Pure(epsilon=epsilon).group(2).delta(epsilon=target)


def test_d2_additive_closeness_hides_nobody():
    """Publishing one record at random moves every event by at most 1/n, and reveals a person."""
    n = 100
    with_me = {"other": mpmath.mpf(n - 1) / n, "me": mpmath.mpf(1) / n}
    without = {"other": mpmath.mpf(1)}
    assert hockey_stick(with_me, without, 0) == mpmath.mpf(1) / n
    assert hockey_stick(with_me, without, 50) == mpmath.mpf(1) / n  # no epsilon repairs it
    assert not Pure(epsilon=50).dominates(Approximate(epsilon=0, delta=Fraction(1, n)))


def test_d4_the_local_model_is_the_same_definition():
    """Each person randomizes; every two values of one person are neighbors."""
    size, epsilon = 3, Fraction(1)
    lie = 1 / (mpmath.exp(1) + size - 1)
    laws = [
        {o: 1 - (size - 1) * lie if o == own else lie for o in range(size)} for own in range(size)
    ]
    for p, q in product(laws, repeat=2):
        assert hockey_stick(p, q, epsilon) < mpmath.mpf(10) ** -40
        assert hockey_stick(p, q, "0.5") <= Pure(epsilon=1).delta(epsilon="0.5")


def test_d5_epsilon_zero_is_perfect_privacy():
    nothing = Pure(epsilon=0)
    assert nothing.delta(epsilon=0) == 0.0
    assert nothing.tradeoff(false_alarm="0.05") == pytest.approx(0.95, abs=1e-12)
    assert coin(0, 0) == coin(0, 1)


@given(finite_pair(), st.integers(1, 9).map(lambda k: mpmath.mpf(k) / 10))
def test_d5_epsilon_bounds_the_change_of_odds(pair, prior):
    p, q = pair
    epsilon = max(abs(mpmath.log(p[o] / q[o])) for o in p)
    for outcome in p:
        odds = prior * p[outcome] / ((1 - prior) * q[outcome])
        assert odds <= mpmath.exp(epsilon) * prior / (1 - prior) * (1 + mpmath.mpf(10) ** -40)


@given(finite_pair(), st.integers(0, 20).map(lambda k: Fraction(k, 10)))
def test_d6_the_privacy_loss_variable(pair, epsilon):
    p, q = pair
    losses = {o: mpmath.log(p[o] / q[o]) for o in p}
    expected = sum(
        (p[o] * max(mpmath.mpf(0), 1 - mpmath.exp(real(epsilon) - losses[o])) for o in p),
        mpmath.mpf(0),
    )
    assert abs(expected - hockey_stick(p, q, epsilon)) < 1e-40
    never = max(losses.values()) <= real(epsilon)
    assert never == (hockey_stick(p, q, epsilon) <= 0)


def test_d7_facts_about_the_population_are_not_hidden():
    """Whether or not one person takes part, a count tells about as much about everyone."""
    top, epsilon = 20, Fraction(1, 2)
    truth, without = count_law(15, epsilon, top), count_law(14, epsilon, top)
    for outcome in truth:
        assert abs(mpmath.log(truth[outcome] / without[outcome])) <= real(epsilon) * (1 + 1e-12)
    assert sum(weight for k, weight in without.items() if k > 10) > 0.8  # "most do" is learned


@pytest.mark.theorem("post-processing")
@settings(max_examples=50)
@given(
    finite_pair(),
    st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=3, max_size=3),
    st.integers(0, 10).map(lambda k: Fraction(k, 10)),
)
def test_p1_post_processing_never_adds(pair, rows, epsilon):
    stochastic = [[mpmath.mpf(w + 1) / (sum(row) + 2) for w in row] for row in rows]
    mapped = [{k: sum(law[o] * stochastic[o][k] for o in law) for k in (0, 1)} for law in pair]
    slack = mpmath.mpf(10) ** -40
    assert hockey_stick(*mapped, epsilon) <= hockey_stick(*pair, epsilon) + slack
    merged = [{0: law[0] + law[1], 1: law[2]} for law in pair]
    assert hockey_stick(*merged, epsilon) <= hockey_stick(*pair, epsilon) + slack


@pytest.mark.theorem("group-approximate")
def test_p2_groups_of_a_chain():
    epsilon, delta, size = Fraction(1, 2), Fraction(1, 1000), 4
    chances = [mpmath.mpf(0)]
    for _ in range(size):
        chances.append(mpmath.exp(real(epsilon)) * chances[-1] + real(delta))
    laws = [{1: chance, 0: 1 - chance} for chance in chances]
    for near, far in pairwise(laws):
        assert hockey_stick(far, near, epsilon) <= real(delta) * (1 + mpmath.mpf(10) ** -30)
    group = Approximate(epsilon=epsilon, delta=delta).group(size)
    truth = hockey_stick(laws[-1], laws[0], group.epsilon_bound)
    assert truth <= real(group.delta_bound) <= truth * (1 + mpmath.mpf(10) ** -14)
    course = size * mpmath.exp(size * real(epsilon)) * real(delta)
    assert truth < course


@pytest.mark.theorem("dominating-pair")
@settings(max_examples=30)
@given(
    st.fractions(min_value=Fraction(1, 10), max_value=1, max_denominator=20),
    st.fractions(min_value=Fraction(1, 10), max_value=1, max_denominator=20),
    st.booleans(),
)
def test_p3_adaptive_composition_adds(first, second, turn):
    """The second question depends on the first answer: it may ask for the bit or its opposite."""

    def law(bit):
        joint = {}
        for y, weight in coin(first, bit).items():
            asked = 1 - bit if (y and turn) else bit
            for z, share in coin(second, asked).items():
                joint[y, z] = weight * share
        return joint

    p, q = law(0), law(1)
    total = first + second
    assert hockey_stick(p, q, total) < mpmath.mpf(10) ** -40
    composed = Pure(epsilon=first).compose(Pure(epsilon=second))
    for target in (Fraction(0), total / 2, total * Fraction(9, 10)):
        truth = max(hockey_stick(p, q, target), hockey_stick(q, p, target))
        assert truth <= composed.delta(epsilon=target) + 1e-15
    promises = [Approximate(epsilon=first, delta=0), Approximate(epsilon=second, delta=0)]
    assert basic(promises) == Approximate(epsilon=total, delta=0)
    assert composed.pure_bound() == total
