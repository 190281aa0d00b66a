"""Losses that know a pair and a curve: the smaller bound, against adversaries who adapt."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import ZeroConcentrated
from discreet.loss.composition import Composition, Product
from discreet.loss.dominance import dominates
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.moments import RenyiCurve
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.polygon import RenyiPart
from discreet.loss.pure_pairs import BoundedRangePair, LaplacePair, ResponsePair
from discreet.loss.rho import concentration
from discreet.mechanisms import Exponential

F = Fraction
pytestmark = pytest.mark.theorem("two-bounds")
STEPS = 10  # an adversary's choices of t, and the lattice of losses, in parts of e


def of(*pairs, renyi=None):
    return Composition(tuple(pairs), renyi)


def runs(epsilon, count):
    return of((BoundedRangePair(F(epsilon)), count))


def pairs_only(composition):
    return Product(composition.pairs, composition.renyi)


def curves_only(*runs_of, renyi=0):
    total = sum((F(e) ** 2 * n / 8 for e, n in runs_of), F(renyi))
    return of(renyi=RenyiCurve(rho=total))


def adversary(e, count):
    """The profile, at multiples of e / 10, of the best selections that adapt to what was seen.

    Each selection has the losses t and t - e, for a t of the adversary's choice.
    """
    reach = (2 * count + 1) * STEPS
    x = np.arange(-reach, reach + 1) * (e / STEPS)
    value = np.maximum(0.0, -np.expm1(x))
    for _ in range(count):
        best = np.zeros(len(x))
        for k in range(STEPS + 1):
            up = -math.expm1((k / STEPS - 1) * e) / -math.expm1(-e)
            after = shifted(value, -k), shifted(value, STEPS - k)
            best = np.maximum(best, up * after[0] + (1 - up) * after[1])
        value = best
    return {j: float(v) for j, v in zip(range(-reach, reach + 1), value, strict=True)}


def shifted(value, k):
    """value[x + k]; beyond the ends it is 0 on the right, and close to 1 on the left."""
    out = np.empty_like(value)
    if k >= 0:
        out[: len(value) - k] = value[k:]
        out[len(value) - k :] = 0.0
    else:
        out[-k:] = value[:k]
        out[:-k] = value[0]
    return out


def test_ten_runs_cost_what_the_pair_says():
    ten = Exponential(candidates=9, scale=2).loss().power(10)
    assert 8.1159 <= ten.epsilon(delta=1e-6) <= 8.11592
    simple = Exponential(candidates=9, scale=2).concentrated().power(10)
    assert simple.epsilon(delta=1e-6) == pytest.approx(8.845889348, abs=1e-9)


def test_a_hundred_runs_cost_what_the_curve_says():
    hundred = Exponential(candidates=9, scale=20).loss().power(100)
    assert hundred.epsilon(delta=1e-6) <= 2.42
    simple = ZeroConcentrated(rho=F(1, 8)).epsilon(delta=1e-6)
    assert hundred.epsilon(delta=1e-6) == pytest.approx(simple, rel=1e-12)
    assert pairs_only(runs("0.1", 100)).epsilon(F(1, 10**6)).low > 2.61


@pytest.mark.parametrize(("e", "count"), [(1.0, 4), (1.0, 25), (0.1, 100), (0.5, 40)])
def test_no_adversary_gets_above_the_smaller_bound(e, count):
    truth = adversary(e, count)
    composition = runs(F(str(e)), count)
    for j in range(0, STEPS * count, max(1, STEPS * count // 23)):
        found = composition.delta(j * e / STEPS)
        assert truth[j] <= found.high * (1 + 1e-9) + 1e-12
        assert found.low <= truth[j] * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("e", "count"), [(1.0, 25), (0.1, 100)])
def test_an_adversary_beats_curves_that_claim_too_little(e, count):
    truth = adversary(e, count)
    wrong = of(renyi=RenyiCurve(rho=count * F(str(e)) ** 2 / 12))
    assert any(truth[j] > wrong.delta(j * e / STEPS).high for j in range(0, STEPS * count, 7))


def test_small_selections_one_after_another_by_enumeration():
    choose = Exponential(candidates=2, scale=20)
    scores = [(0, 0), (1, 0), (0, 1), (5, 3)]
    moved = [[(a + s, b - s) for s in (-1, 1)] for a, b in scores]
    laws = [
        tuple([p.nearest() for p in choose.reference_pmf(v).values()] for v in (here, there))
        for here, others in zip(scores, moved, strict=True)
        for there in others
    ]
    for chosen in itertools.combinations_with_replacement(laws, 4):
        for eps in (0.0, 0.05, 0.15, 0.3):
            delta = 0.0
            for outcome in itertools.product((0, 1), repeat=4):
                p = math.prod(law[0][o] for law, o in zip(chosen, outcome, strict=True))
                q = math.prod(law[1][o] for law, o in zip(chosen, outcome, strict=True))
                delta += max(0.0, p - math.exp(eps) * q)
            assert delta <= UPPER_OF_FOUR[eps] + 1e-12


UPPER_OF_FOUR = {eps: runs("0.1", 4).delta(eps).high for eps in (0.0, 0.05, 0.15, 0.3)}

sizes = st.sampled_from(["0.02", "0.1", "0.3", "1", "3"])
mixes = st.lists(st.tuples(sizes, st.integers(1, 150)), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(mixes, st.sampled_from([1e-2, 1e-6, 1e-12]))
def test_the_answer_is_the_smaller_for_any_composition(mix, delta):
    composition = of(*[(BoundedRangePair(F(e)), n) for e, n in mix])
    found = composition.epsilon(delta)
    for other in (pairs_only(composition), curves_only(*mix)):
        assert found.high <= other.epsilon(F(delta)).high * (1 + 1e-9) + 1e-9
    eps = 0.9 * found.high
    top = composition.delta(eps)
    assert top.high == composition.delta_above(eps)
    assert top.high <= pairs_only(composition).delta(eps).high * (1 + 1e-9)
    assert top.high <= curves_only(*mix).delta(eps).high * (1 + 1e-9)
    attained = of(*[(ResponsePair(F(e) / 2), n) for e, n in mix])
    assert attained.epsilon(delta).low <= found.high * (1 + 1e-9)
    if sum(n for _, n in mix) > 1:  # one run is known exactly
        assert found.low <= attained.epsilon(delta).high


MIXED = [
    (of((LaplacePair(F(1)), 1), (BoundedRangePair(F("0.1")), 100)), 3.3510, 3.5343),
    (of((GaussianPair(F(1, 100)), 1), (BoundedRangePair(F("0.1")), 200)), 3.581, 3.86),
    (of((BoundedRangePair(F(2)), 1), (BoundedRangePair(F("0.1")), 1000)), 10.26, 11.18),
]


@pytest.mark.parametrize(("composition", "below", "pairs"), MIXED)
def test_curves_take_the_place_of_those_pairs_where_it_pays(composition, below, pairs):
    found = composition.epsilon(1e-6)
    assert found.low < found.high <= below
    assert pairs_only(composition).epsilon(F(1, 10**6)).low > pairs
    assert composition.delta(found.high).low <= 1e-6 <= composition.delta(0.99 * found.low).high


def test_a_curve_that_was_known_before_stays():
    both = of((BoundedRangePair(F("0.1")), 100), renyi=RenyiCurve(rho=F(1, 8)))
    assert both.epsilon(1e-6).high <= curves_only(renyi=F(1, 4)).epsilon(1e-6).high * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(sizes, st.integers(1, 120), st.sampled_from([1e-3, 1e-9]))
def test_more_runs_and_wider_ranges_cost_more(e, count, delta):
    once = runs(e, count).epsilon(delta).high
    assert once <= runs(e, count + 1).epsilon(delta).high * (1 + 1e-9)
    assert once <= runs(F(e) * F(11, 10), count).epsilon(delta).high * (1 + 1e-9)
    more = of((BoundedRangePair(F(e)), count), (GaussianPair(F(1, 50)), 1))
    assert once <= more.epsilon(delta).high * (1 + 1e-9)


def test_divergences_are_the_smaller_too():
    for e, order in itertools.product(("0.1", "1", "9"), (1.5, 4, 60)):
        pair, t = BoundedRangePair(F(e)), order - 1
        rho = F(e) ** 2 / 8
        found = runs(e, 7).log_moment(t)
        assert found == pytest.approx(7 * min(pair.log_moment(t), float(rho) * t * (t + 1)))
    loss = Exponential(candidates=3, scale=20).loss().power(100)
    assert loss.renyi(order=3) <= 0.375 * (1 + 1e-12)


@pytest.mark.theorem("bounded-range")
def test_the_curve_bounds_all_two_point_laws():
    for e, k in itertools.product((0.1, 1.0, 4.0), range(1, 40)):
        top = e * k / 40
        up = -math.expm1(top - e) / -math.expm1(-e)
        curve = BoundedRangePair(F(str(e))).curve()
        for t in (0.01, 0.5, 3.0, 40.0):
            shift = t * top
            moment = shift + math.log(up + (1 - up) * math.exp(-t * e))
            assert moment <= curve.log_moment(t) * (1 + 1e-12) + 1e-14


@pytest.mark.theorem("group-concentrated")
def test_groups_move_pair_and_curve():
    three = Exponential(candidates=3, scale=20).loss().power(50).group(3)
    direct = Exponential(candidates=3, scale=20).loss(distance=3).power(50)
    assert three == direct
    assert BoundedRangePair(F(1, 10)).group(3).curve() == RenyiCurve(rho=F(9, 800))
    simple = ZeroConcentrated(rho=F(9, 16)).epsilon(delta=1e-6)
    assert three.epsilon(delta=1e-6) == pytest.approx(simple, rel=1e-12)


@pytest.mark.theorem("dominance")
def test_what_lies_below_both_bounds_is_covered():
    assert dominates(runs(1, 3), runs("0.9", 3))
    assert not dominates(runs("0.9", 3), runs(1, 3))
    assert dominates(of((ResponsePair(F(1)), 3)), runs(1, 3))
    assert not dominates(runs(1, 3), of((LaplacePair(F(1, 9)), 1)))  # no curve is known of it
    far, near = (of((DiscreteGaussianPair(F(9), d), 2)) for d in (3, 2))
    assert dominates(far, near)
    assert not dominates(near, far)
    assert not dominates(far, of((DiscreteGaussianPair(F(10), 2), 2)))
    for eps in (0.0, 0.3, 1.0):
        assert near.delta(eps).low <= far.delta(eps).high


def test_equal_compositions_are_equal_and_nothing_is_worked_out_by_adding():
    one, two = runs("0.1", 2), of((BoundedRangePair(F("0.1")), 1), (BoundedRangePair(F("0.1")), 1))
    assert one == two
    assert hash(one) == hash(two)
    assert one.reverse() == one
    both = one.compose(two)
    assert both == runs("0.1", 4)


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("direction", Direction)
def test_samples_of_long_runs_use_the_smaller_bound(direction):
    inner, rate = runs("0.1", 40), F(1, 4)
    truth = adversary(0.1, 40)
    pair = SampledPair(inner, rate, direction)
    for j in (20, 60, 120):
        if direction is Direction.REMOVE:
            eps = math.log1p(0.25 * math.expm1(j / 100))
            assert truth[j] / 4 <= pair.profile(eps).high * (1 + 1e-9)
            assert pair.profile(eps).high <= 0.25 * inner.delta(j / 100).high * (1 + 1e-9)
        else:
            eps = -math.log1p(0.25 * math.expm1(-j / 100))
            least = 1 - math.exp(eps) + math.exp(eps) * truth[-j] / 4
            assert least <= pair.profile(eps).high + 1e-9
    assert math.isfinite(pair.log_moment(3.0))


@pytest.mark.theorem("concentrated-composition")
def test_rho_adds_up_over_pairs():
    mixed = of(
        (BoundedRangePair(F(1)), 4),
        (GaussianPair(F(1)), 2),
        (DiscreteGaussianPair(F(8), 2), 1),
        renyi=RenyiCurve(rho=F(1, 4)),
    )
    assert concentration(mixed) == F(1, 2) + 1 + F(1, 4) + F(1, 4)
    pure = concentration(of((ResponsePair(F(1)), 1)))
    assert float(pure) == pytest.approx(math.tanh(0.5))
    assert concentration(of((ResponsePair(F(1), F(1, 100)), 1))) is None
    assert concentration(of(renyi=RenyiCurve(orders=(F(2),), values=(F(1),)))) is None
    for t in (0.5, 3.0):
        assert mixed.log_moment(t) <= 2 * t * (t + 1) * (1 + 1e-12)


@pytest.mark.theorem("dominating-pair")
@pytest.mark.parametrize("rest", [LaplacePair(F(1)), GaussianPair(F(1)), BoundedRangePair(F(1))])
def test_a_leak_beside_other_pairs_scales_their_profile(rest):
    leak = ResponsePair(F(0), F(1, 50))
    alone = Composition(((rest, 3),))
    beside = Composition(((rest, 3), (leak, 2)))
    kept = 0.98**2
    for eps in (0.0, 0.7, 1.9):
        expected = 1 - kept + kept * alone.delta(eps).high
        assert beside.delta(eps).high == pytest.approx(expected, rel=1e-9)
    for delta in (0.05, 0.3):
        inside = alone.epsilon((delta - (1 - kept)) / kept).high
        assert beside.epsilon(delta).high == pytest.approx(inside, rel=1e-7)
    assert math.isinf(beside.epsilon(0.039).high)
    assert Composition(((leak, 2),)).epsilon(0.04).high == 0.0
    assert Composition(((ResponsePair(F(0), F(1)), 1), (rest, 1))).delta(1.0).low > 1 - 1e-12


def test_leaks_beside_finite_laws_by_enumeration():
    law = (F(1, 2), F(1, 2)), (F(1, 4), F(3, 4))
    leak = ResponsePair(F(0), F(1, 50))
    with_leak = tuple(F(49, 50) * p for p in law[0]), tuple(F(49, 50) * q for q in law[1])
    whole = FinitePair((*with_leak[0], F(1, 50), F(0)), (*with_leak[1], F(0), F(1, 50)))
    for eps in (0.0, 0.3, 0.6):
        both = of((FinitePair(*law), 1), (leak, 1)).delta(eps)
        exact = of((whole, 1)).delta(eps)
        assert both.low <= exact.high
        assert exact.low <= both.high
        assert both.high <= exact.high * (1 + 1e-3)


@pytest.mark.theorem("renyi-to-approximate")
def test_the_law_of_a_curve_lies_above_a_gaussian_with_that_curve():
    law, step = RenyiPart(RenyiCurve(rho=F(1, 2))).above(F(1, 50)), 0.02
    x = (law.start + np.arange(len(law.mass))) * step
    gaussian = of((GaussianPair(F(1)), 1))
    for eps in np.linspace(-2.0, 4.0, 31):
        bound = float(law.mass @ np.maximum(-np.expm1(np.minimum(eps - x, 0.0)), 0.0))
        assert gaussian.delta(float(eps)).low <= bound + law.infinite
    finite = RenyiPart(RenyiCurve(orders=(F(2), F(9)), values=(F(1), F(2)))).above(F(1, 50))
    assert finite.mass.sum() + finite.infinite >= 1
