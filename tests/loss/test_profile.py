from fractions import Fraction

import pytest

from discreet.loss import Approximate, GaussianDP, Profile, Pure, ZeroConcentrated
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, SmoothedGaussianPair
from discreet.loss.pure_pairs import LaplacePair
from tests.loss.oracles import hockey_stick, mpmath, product_law, real

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
TABLE = Profile.of(FinitePair((HALF, HALF), (THIRD, 2 * THIRD)))


@pytest.mark.theorem("dominating-pair")
@pytest.mark.parametrize("epsilon", ["0", "0.2", "0.6"])
def test_directions_are_composed_apart(epsilon):
    p = {0: real(HALF), 1: real(HALF)}
    q = {0: real(THIRD), 1: real(2 * THIRD)}
    two = TABLE.compose(TABLE)
    forward = hockey_stick(product_law(p, p), product_law(q, q), Fraction(epsilon))
    backward = hockey_stick(product_law(q, q), product_law(p, p), Fraction(epsilon))
    assert two.remove[0].delta(float(epsilon)).low <= forward + mpmath.mpf(10) ** -12
    assert forward <= two.remove[0].delta(float(epsilon)).high + mpmath.mpf(10) ** -15
    assert backward <= two.add[0].delta(float(epsilon)).high + mpmath.mpf(10) ** -15
    assert two.delta(epsilon=epsilon) >= max(forward, backward) - mpmath.mpf(10) ** -15


def test_alternatives_are_pruned_and_joined_before_they_are_composed():
    choice = Pure(epsilon=1).profile().join(Profile.of(LaplacePair(Fraction(6, 5))))
    assert len(choice.remove) == 2
    assert len(choice.join(Pure(epsilon="0.5")).remove) == 2
    assert choice.join(Pure(epsilon=2)) == Pure(epsilon=2)
    assert choice.power(1) == choice
    thrice = choice.power(3)
    assert len(thrice.remove) == len(thrice.add) == 1
    for one in (Pure(epsilon=1), Profile.of(LaplacePair(Fraction(6, 5)))):
        for epsilon in ("0.1", "0.7", "1.5"):
            assert thrice.delta(epsilon=epsilon) >= one.power(3).delta_interval(epsilon=epsilon).low


def test_a_profile_with_a_curve():
    mixed = GaussianDP(mu="0.5").compose(ZeroConcentrated(rho="0.125"))
    both = GaussianDP(mu_squared="0.5")
    assert mixed.epsilon(delta=1e-6) >= both.epsilon(delta=1e-6)
    assert mixed.renyi(order=2) == pytest.approx(0.5, rel=1e-9)


def test_samples_of_fixed_size_keep_the_infinite_part():
    loss = Approximate(epsilon=1, delta="1e-4").sampled_without_replacement(size=10, population=100)
    assert 1e-5 <= loss.delta(epsilon="0.2") <= 1.0001e-5
    mixed = Approximate(epsilon=1, delta="1e-4").compose(GaussianDP(mu="0.5"))
    sampled = mixed.sampled_without_replacement(size=10, population=100)
    assert 1e-5 <= sampled.delta(epsilon=3) <= 1.1e-5


def test_the_bracket_at_delta_zero():
    bracket = Pure(epsilon="0.3").power(3).interval(delta=0)
    assert bracket.high == pytest.approx(0.9)
    assert bracket.high >= Fraction(9, 10)
    table = TABLE.interval(delta=0)
    assert table.high >= mpmath.log(mpmath.mpf(3) / 2)
    assert table.high == pytest.approx(0.4054651081, abs=1e-6)


SMOOTH = Profile.of(SmoothedGaussianPair.of(variance=Fraction(10**6), squared=40000, coordinates=1))


@pytest.mark.theorem("two-bounds")
@pytest.mark.parametrize(
    "loss",
    [
        Profile.of(DiscreteGaussianPair(Fraction(40), 3)),
        Profile.of(DiscreteGaussianPair(Fraction(101, 7), 1)).power(3).compose(SMOOTH),
        SMOOTH.compose(Approximate(epsilon=0, delta="1e-9")),
        Profile.of(LaplacePair(Fraction(1, 3))).power(4),
        TABLE,
    ],
    ids=["discrete", "both", "leaky", "laplace", "finite"],
)
@pytest.mark.parametrize("delta", [0, "1e-12", "1e-6", "0.1", 1])
def test_epsilon_alone_is_the_upper_end_of_its_interval(loss, delta):
    both, alone = loss.interval(delta=delta), loss.epsilon(delta=delta)
    assert alone >= both.low
    assert alone <= both.high * (1 + 1e-7) + 1e-9
    if 0 < alone < 1e9 and float(delta):
        assert loss.delta(epsilon=Fraction(alone)) <= float(delta) * (1 + 1e-5)
