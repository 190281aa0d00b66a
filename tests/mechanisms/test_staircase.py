"""The staircase mechanism: exact law, exact loss, and less noise than Laplace."""

import math
from fractions import Fraction

import pytest

from discreet.errors import NotExact, OutOfRange, TooLarge, WrongKind
from discreet.loss import Pure
from discreet.mechanisms.staircase import Staircase
from discreet.noise import DiscreteLaplace
from tests.mechanisms import contract
from tests.twins import finite as twins

F = Fraction


def case(mechanism, **more):
    reach = 4 + 9 * mechanism.sensitivity
    return contract.Case(
        name=f"staircase {mechanism.epsilon} {mechanism.sensitivity} {mechanism.step}",
        mechanism=mechanism,
        inputs=range(2 * mechanism.sensitivity + 2),
        distance=lambda x, y: abs(x - y),
        outcomes=lambda x: range(x - reach, x + reach),
        miss=lambda y, x: abs(x - y),
        tight_at_zero=True,
        **more,
    )


CASES = [
    case(Staircase(epsilon=1, sensitivity=1)),
    case(Staircase(epsilon=2, sensitivity=3, step=2)),
    case(Staircase(epsilon="1.5", sensitivity=4)),
    case(Staircase(epsilon=3, sensitivity=2, step=2)),
]


@pytest.mark.theorem("staircase")
@pytest.mark.parametrize("which", CASES, ids=str)
@pytest.mark.parametrize(
    "check",
    [
        contract.check_enclosures,
        contract.check_privacy,
        contract.check_error,
        contract.check_value,
        contract.check_sampler,
    ],
)
def test_the_contract(which, check):
    check(which.mechanism, which)


def test_the_loss_goes_in_steps():
    stairs = Staircase(epsilon="0.5", sensitivity=10)
    assert [stairs.loss(distance=far) for far in (0, 1, 10, "10.9", 11, 20, 21)] == [
        Pure(epsilon=F(steps, 2)) for steps in (0, 1, 1, 2, 2, 2, 3)
    ]


def test_sensitivity_one_is_two_sided_geometric_noise():
    law, known = Staircase(epsilon=1, sensitivity=1).noise(), DiscreteLaplace(scale=1)
    for k in range(-5, 6):
        assert law.pmf(k) == known.pmf(k)
        assert law.cdf(k) == known.cdf(k)


RATIOS = [(1, 1.042, 1.043), (2, 1.175, 1.183), (3, 1.42, 1.456), (5, 2.42, 2.69), (8, 6.8, 9.25)]


@pytest.mark.theorem("staircase")
@pytest.mark.parametrize(("epsilon", "magnitude", "variance"), RATIOS)
def test_how_much_less_noise_than_laplace(epsilon, magnitude, variance):
    d = 20_000  # so fine that integers stand for reals
    best = Staircase(epsilon=epsilon, sensitivity=d)
    spread = best.mean_magnitude().nearest() / d
    assert spread == pytest.approx(math.exp(epsilon / 2) / (math.exp(epsilon) - 1), rel=2e-3)
    assert 1 / epsilon / spread == pytest.approx(magnitude, rel=4e-3)
    step = Staircase.best_step(epsilon=epsilon, sensitivity=d, power=2)
    square = Staircase(epsilon=epsilon, sensitivity=d, step=step).noise().moments().variance
    assert 2 * (d / epsilon) ** 2 / square.nearest() == pytest.approx(variance, rel=4e-3)


@pytest.mark.parametrize("epsilon", ["0.2", 1, 3])
@pytest.mark.parametrize("d", [1, 2, 7, 30])
@pytest.mark.parametrize("power", [1, 2])
def test_the_step_is_the_best_of_all(epsilon, d, power):
    def moment(step):
        law = Staircase(epsilon=epsilon, sensitivity=d, step=step).noise()
        return (law.mean_magnitude() if power == 1 else law.moments().variance).low

    best = Staircase.best_step(epsilon=epsilon, sensitivity=d, power=power)
    assert moment(best) == min(moment(step) for step in range(1, d + 1))


def test_no_noise_on_a_short_line_beats_it_in_the_limit():
    stairs = Staircase(epsilon=2, sensitivity=6).mean_magnitude()
    laplace = DiscreteLaplace(scale=3)
    average = sum(2 * k * laplace.pmf(k) for k in range(1, 200))
    assert stairs.high < average


@pytest.mark.parametrize(
    "twin", [twins.shrinks_with_distance(F(2), 4), twins.stairs_too_short(F(2), 4)]
)
def test_broken_twins_are_caught(twin):
    with pytest.raises(contract.Broken):
        contract.check_privacy(twin, case(Staircase(epsilon=2, sensitivity=4)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Staircase(epsilon=0, sensitivity=1), OutOfRange),
        (lambda: Staircase(epsilon=-1, sensitivity=1), OutOfRange),
        (lambda: Staircase(epsilon=math.nan, sensitivity=1), OutOfRange),
        (lambda: Staircase(epsilon=1, sensitivity=0), OutOfRange),
        (lambda: Staircase(epsilon=1, sensitivity=1.5), WrongKind),
        (lambda: Staircase(epsilon=1, sensitivity=2, step=3), OutOfRange),
        (lambda: Staircase(epsilon=1, sensitivity=2, step=0), OutOfRange),
        (lambda: Staircase(epsilon="1e-30", sensitivity=2), TooLarge),
        (lambda: Staircase(epsilon=1, sensitivity=2).run(0.5), NotExact),
        (lambda: Staircase(epsilon=1, sensitivity=2).run([1, 2]), WrongKind),
        (lambda: Staircase(epsilon=1, sensitivity=2).run(2**63), TooLarge),
        (lambda: Staircase(epsilon=1, sensitivity=2).loss(distance=-1), OutOfRange),
        (lambda: Staircase.best_step(epsilon=1, sensitivity=2, power=3), OutOfRange),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
