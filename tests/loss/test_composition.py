"""Golden values, laws and cross-checks of whole compositions."""

import itertools
import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss.composition import Composition, Product
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import GaussianPair
from discreet.loss.lattice import LatticeSearch
from discreet.loss.moments import RenyiCurve
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import DiscreteLaplacePair, LaplacePair, ResponsePair
from tests.loss import truth

F = Fraction


def of(*pairs, renyi=None):
    return Composition(tuple(pairs), renyi)


def sgd(direction, rate="0.01", square=1):
    return SampledPair(of((GaussianPair(F(square)), 1)), F(rate), direction)


def holds(bracket, value, *, width, digits):
    """The bracket is narrow, and holds a number printed with so many digits behind the point."""
    unit = 10.0**-digits
    assert bracket.low - unit <= value <= bracket.high + unit
    assert bracket.width <= width


DELTAS = [
    (of((GaussianPair(F(1)), 1)), 1.0, 0.12693673750664, 14),
    (of((GaussianPair(F(1, 4)), 1)), 1.0, 0.00682959498311, 14),
    (of((LaplacePair(F(1)), 1)), 0.5, 0.22119921692860, 14),
    (of((ResponsePair(F(1)), 1)), 0.5, 0.28764913664497, 14),
    (of((ResponsePair(F(1)), 2)), 2.0, 0.0, 14),
    (of((ResponsePair(F(1)), 2)), 0.0, 0.46211715726001, 14),
    (of((ResponsePair(F("0.1"), F("1e-6")), 6)), 0.6, 5.999985e-6, 12),
    (of((ResponsePair(F("0.1"), F("1e-6")), 6)), 0.4, 0.00380067023933, 14),
    (of((ResponsePair(F("0.1"), F("1e-6")), 6)), 0.2, 0.02750884128568, 14),
    (of((ResponsePair(F("0.1"), F("1e-6")), 6)), 0.0, 0.09352164854568, 14),
    (
        of(*[(ResponsePair(F(e), F("1e-6")), 1) for e in ("0.3", "0.5", "0.7")]),
        1.0,
        0.09401118677677,
        14,
    ),
    (of((ResponsePair(F(1)), 1), (ResponsePair(F("0.5")), 1)), 1.0, 0.17904988921682, 14),
    (of((LaplacePair(F(1)), 5)), 4.0, 0.05298688, 8),
    (of((ResponsePair(F(1)), 5)), 4.0, 0.13199601015, 11),
    (of((sgd(Direction.REMOVE, "0.1"), 1)), 0.5, 0.00203253692034, 14),
    (of((sgd(Direction.REMOVE, "0.1"), 1)), 0.05, 0.02614366295895, 14),
    (of((sgd(Direction.ADD, "0.1"), 1)), 0.05, 0.01057258135383, 14),
    (of((sgd(Direction.ADD, "0.1"), 1)), 0.5, 0.0, 14),
]


@pytest.mark.theorem("gaussian-profile")
@pytest.mark.theorem("laplace-profile")
@pytest.mark.theorem("response-binomial")
@pytest.mark.theorem("randomized-response")
@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize(("composition", "eps", "value", "digits"), DELTAS)
def test_golden_deltas(composition, eps, value, digits):
    holds(composition.delta(eps), value, width=2e-9, digits=digits)


THOUSAND = of((GaussianPair(F(1, 900)), 1000))
FINE, COARSE = of((LaplacePair(F(1, 100)), 10**4)), of((LaplacePair(F(1, 10)), 10**4))
EPSILONS = [
    (of((GaussianPair(F(1)), 1)), 1e-5, 4.377178095681, 1e-8, 12),
    (of((GaussianPair(F(1)), 2)), 1e-5, 6.572970067030, 1e-8, 12),
    (THOUSAND, 1e-6, 5.1890366408, 1e-8, 10),
    (THOUSAND, 1e-12, 7.66548102886, 1e-8, 11),
    (FINE, 1e-6, 4.87625758, 1e-7, 8),
    (FINE, 1e-12, 7.22207010, 1e-7, 8),
    (COARSE, 1e-6, 94.2358654, 1e-6, 6),
    (COARSE, 1e-12, 116.6542643, 1e-6, 6),
    (of((ResponsePair(F("0.1")), 1000)), 1e-6, 19.344671448, 1e-8, 8),
    (of((ResponsePair(F("0.1")), 100)), 1e-5, 4.306791372517, 1e-8, 9),
    (of((LaplacePair(F(1)), 5)), 1e-6, 4.999968, 1e-6, 6),
    (of((sgd(Direction.REMOVE), 1000)), 1e-5, 1.82824, 1e-6, 5),
    (of((sgd(Direction.REMOVE), 10**4)), 1e-6, 6.90738450, 1e-6, 8),
    (of((sgd(Direction.REMOVE), 10**4)), 1e-12, 10.34668984, 1e-6, 8),
    (of((sgd(Direction.REMOVE), 10**5)), 1e-6, 27.67259769, 1e-6, 8),
    (of((sgd(Direction.REMOVE), 10**5)), 1e-9, 33.04211485, 1e-6, 8),
    (of((sgd(Direction.REMOVE), 10**5)), 1e-12, 37.54109416, 1e-6, 8),
]


@pytest.mark.theorem("contour-aliasing")
@pytest.mark.parametrize(("composition", "delta", "value", "width", "digits"), EPSILONS)
def test_golden_epsilons(composition, delta, value, width, digits):
    holds(composition.epsilon(delta), value, width=width, digits=digits)


@pytest.mark.theorem("gaussian-profile")
def test_gaussian_profiles_hold_the_truth_however_small():
    for square, eps in itertools.product(
        (F(1, 10**6), F(1, 9), F(1), F(30), F(900)), (0.0, 1e-4, 0.5, 3.0, 40.0, -1.0)
    ):
        bracket = of((GaussianPair(square), 1)).delta(eps)
        exact = truth.gaussian_profile(square, eps)
        assert arb(bracket.low) <= exact or float(exact.mid()) >= bracket.low
        assert float(exact.mid()) <= bracket.high
        assert bracket.width <= 1e-9 * bracket.high + 1e-290


@pytest.mark.theorem("contour-aliasing")
@pytest.mark.theorem("contour-rounding")
@pytest.mark.parametrize("eps", [3.5, 6.0, 8.5])
def test_many_laplace_at_another_contour(eps):
    e = truth.ball(F(1, 100))
    exact = truth.profile(
        lambda z: truth.laplace_moment(e, z) ** 10**4,
        arb(eps),
        c=arb(3.3),
        period=arb(40),
        count=150,
    )
    bracket = FINE.delta(eps)
    assert exact in bracket
    assert bracket.width <= 1e-7 * bracket.high


@pytest.mark.theorem("sampled-gaussian-quadrature")
@pytest.mark.parametrize(("direction", "sign"), [(Direction.REMOVE, 1), (Direction.ADD, -1)])
def test_sampled_gaussian_at_another_contour(direction, sign):
    q = truth.ball("0.01")
    ctx.prec = truth.PRECISION
    exact = truth.profile(
        lambda z: truth.sampled_moment(q, arb(1), sign, z) ** 10**4,
        arb(7),
        c=arb(2.2),
        period=arb(36),
        count=90,
    )
    bracket = of((sgd(direction), 10**4)).delta(7.0)
    assert exact in bracket
    assert bracket.width <= 1e-6 * bracket.high


@pytest.mark.theorem("tilted-lattice")
@pytest.mark.theorem("connect-the-dots")
def test_products_of_finite_laws_by_enumeration():
    one = (F(1, 2), F(1, 3), F(1, 6)), (F(1, 3), F(1, 5), F(7, 15))
    two = (F(1, 10), F(9, 10)), (F(2, 10), F(8, 10))
    gone = (F(1, 100), F(59, 100), F(40, 100)), (F(0), F(45, 100), F(55, 100))
    composition = of((FinitePair(*one), 2), (FinitePair(*two), 3), (FinitePair(*gone), 1))
    for eps in (-0.7, 0.0, 0.4, 1.1, 1.9):
        exact = truth.enumerated([one] * 2 + [two] * 3 + [gone], eps)
        bracket = composition.delta(eps)
        assert bracket.low <= exact * (1 + 1e-14)
        assert exact <= bracket.high
        assert bracket.width <= 2e-3


@pytest.mark.theorem("tilted-lattice")
def test_lattices_that_fit_are_exact():
    composition = of((DiscreteLaplacePair(F(2), 3), 4), (ResponsePair(F(1, 2)), 2))
    finer = of((DiscreteLaplacePair(F(2), 3), 4), (DiscreteLaplacePair(F(2), 1), 2))
    for delta in (1e-3, 1e-9, 1e-15):
        assert composition.epsilon(delta).width <= 1e-7
        assert composition.epsilon(delta).overlaps(finer.epsilon(delta))


small = st.integers(1, 40).map(lambda k: F(k, 40))
mixes = st.lists(
    st.tuples(
        st.one_of(
            small.map(LaplacePair),
            small.map(lambda e: GaussianPair(e * e)),
            small.map(ResponsePair),
        ),
        st.integers(1, 30),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.theorem("contour-aliasing")
@pytest.mark.theorem("tilted-lattice")
@settings(max_examples=20)
@given(mixes, st.sampled_from([1e-3, 1e-6, 1e-12]))
def test_two_engines_agree(pairs, delta):
    pairs = [*pairs, (GaussianPair(F(1, 16)), 1)]
    composition = of(*pairs)
    contour = Product(composition.pairs, None)._line
    first = contour.epsilon(delta, contour.ceiling(delta))
    rest = [(p, n) for p, n in composition.pairs if not isinstance(p, GaussianPair)]
    square = sum(p.mu_squared for p, _ in composition.pairs if isinstance(p, GaussianPair))
    if rest:
        second = LatticeSearch(rest, float(square)).epsilon(
            delta, contour.ceiling(delta), first.high
        )
        assert first.overlaps(second)


@pytest.mark.theorem("dominating-pair")
@settings(max_examples=12)
@given(mixes, small.map(LaplacePair), st.sampled_from([1e-4, 1e-9]))
def test_laws_of_composition(pairs, more, delta):
    composition = of(*pairs)
    assert composition == of(*reversed(pairs))
    assert hash(composition) == hash(of(*reversed(pairs)))
    assert composition.power(2) == composition.compose(composition)
    assert composition.power(0) == Composition()
    here, there = composition.epsilon(delta), composition.compose(of((more, 1))).epsilon(delta)
    assert there.high >= here.low
    loose = math.exp(composition.log_moment(1.0) - here.high) / 4  # C(1) = 1/4
    assert loose >= composition.delta(here.high).low * (1 - 1e-9)


@pytest.mark.theorem("renyi-to-approximate")
def test_renyi_curves_give_upper_ends():
    curve = of(renyi=RenyiCurve(rho=F(1, 2)))
    assert abs(curve.epsilon(1e-5).high - 4.728386985) < 1e-8
    assert curve.epsilon(1e-5).low == 0.0
    assert curve.delta(4.728386985).high == pytest.approx(1e-5, rel=1e-6)
    mixed = of((LaplacePair(F(1)), 1), renyi=RenyiCurve(rho=F(1, 10)))
    assert 3.080 <= mixed.epsilon(1e-6).high <= 3.081
    doubled = mixed.compose(mixed)
    assert doubled == mixed.power(2)
    assert doubled.epsilon(1e-6).high > mixed.epsilon(1e-6).high
    finite = of(renyi=RenyiCurve(orders=(F(10),), values=(F(1, 2),)))
    assert 1.418010636 <= finite.epsilon(1e-5).high <= 1.418010637 + 1e-9


def test_edges():
    nothing = Composition()
    assert nothing.epsilon(0).high == 0.0
    assert nothing.delta(0.0).high == 0.0
    assert nothing.delta(-1.0).high == pytest.approx(1 - math.exp(-1))
    pure = of((LaplacePair(F(1)), 2), (ResponsePair(F(1, 2)), 1))
    assert pure.epsilon(0).high == 2.5
    assert math.isinf(of((GaussianPair(F(1)), 1)).epsilon(0).high)
    assert pure.epsilon(1).high == 0.0
    leaking = of((ResponsePair(F(1), F(1, 100)), 1))
    assert math.isinf(leaking.epsilon(1e-3).low)
    assert leaking.delta(math.inf).high == pytest.approx(0.01)
    assert leaking.infinity().high >= 0.01


@pytest.mark.theorem("poisson-sampling")
def test_infinite_losses_of_samples_count_once():
    inner = of((ResponsePair(F(1), F(1, 10**5)), 1))
    pair = SampledPair(inner, F(1, 100), Direction.REMOVE)
    eps = math.log1p(0.01 * math.expm1(1.0))
    one = of((pair, 1)).delta(eps + 1e-9)
    assert one.low <= 1e-7 <= one.high * (1 + 1e-9)
    assert one.high <= 1.1e-7
    p, q = (F(1, 2), F(2, 5), F(1, 10)), (F(1, 2), F(1, 2), F(0))
    mixed = tuple((4 * b + a) / 5 for a, b in zip(p, q, strict=True)), q
    sampled = SampledPair(of((FinitePair(p, q), 1)), F(1, 5), Direction.REMOVE)
    for count, eps in itertools.product((1, 3), (0.0, 0.01, 0.05, 0.3)):
        bracket = of((sampled, count)).delta(eps)
        exact = truth.enumerated([mixed] * count, eps)
        assert bracket.low <= exact * (1 + 1e-14)
        assert exact <= bracket.high * (1 + 1e-14)


@pytest.mark.theorem("poisson-sampling")
def test_sampled_compositions_without_a_transform():
    inner = of((LaplacePair(F(1)), 1))
    for direction in Direction:
        composition = of((SampledPair(inner, F(1, 5), direction), 4))
        bracket = composition.epsilon(1e-3)
        assert bracket.width <= 1e-3
        assert bracket.high <= composition.largest()


@pytest.mark.theorem("connect-the-dots")
@pytest.mark.parametrize("rate", ["0.01", "0.5"])
def test_nothing_is_lost_beyond_the_largest_loss_of_a_sample(rate):
    law = sgd(Direction.ADD, rate).above(F(1, 2**13))
    assert law is not None
    assert law.infinite == 0.0


def test_many_samples_beside_one_without_a_transform_at_a_small_delta():
    """Rounding, counted as a thousand infinite losses, once cost an epsilon of 10.05."""
    other = SampledPair(of((LaplacePair(F(1, 5)), 1)), F("0.01"), Direction.ADD)
    alone = of((sgd(Direction.ADD), 1000)).epsilon(1e-10)
    both = of((sgd(Direction.ADD), 1000), (other, 1)).epsilon(1e-10)
    assert alone.low <= both.high <= alone.high + 0.01
    assert both.width <= 1e-3
