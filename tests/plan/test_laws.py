"""Which law of noise is taken: the one whose columns err less, as plans promise and by formula."""

import math
from fractions import Fraction

import pytest

from discreet.loss import GaussianDP, least_scale
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys
from discreet.plan.noise_errors import half_width
from discreet.plan.pricing.calibration import by_epsilon, by_point, gaussian_rho
from discreet.plan.pricing.group_sensitivity import GroupSensitivity
from discreet.plan.pricing.noise_steps import choose_noise, laplace_error
from discreet.plan.pricing.release_parts import (
    GAUSSIAN,
    LAPLACE,
    OPTIMAL,
    SMALLEST,
    NoisyTotals,
    PartitionSelection,
    QuantileLevel,
    UnpricedRelease,
)
from discreet.units import person
from tests.plan.clinic import planned

DELTA = Fraction(1, 10**9)
PRICE = Fraction(1), DELTA, Fraction(19, 20)


def totals(groups, most=5):
    far = GroupSensitivity(low=0, high=most, groups=groups, available=None)
    return NoisyTotals(measure=f"count of {most}", distances=far)


def sketch_of(*parts, columns=None, weights=None):
    one = Fraction(1)
    return UnpricedRelease(
        parts=parts,
        weights=weights or (1,) * len(parts),
        fixed=(None,) * len(parts),
        unit=person("patient"),
        columns=columns or tuple(((place, one),) for place in range(len(parts))),
    )


@pytest.mark.parametrize("scales", [(5,), (5, 5), (1, 9), (40, 40, 40), (3, 50, 7, 50), (30, 0)])
@pytest.mark.parametrize("miss", [0.3, 0.05, 0.001])
def test_sums_of_laplace_noise_reach_as_far_as_they_are_said_to(scales, miss):
    """Scales of a thousand times as much are continuous noise, nearly."""
    terms = tuple((Fraction(1), Laplace(scale=1000 * scale)) for scale in scales if scale)
    exact = float(half_width(terms, 1 - Fraction(miss))) / 1000
    assert laplace_error(map(float, scales), miss) == pytest.approx(exact, rel=0.06)


def test_few_groups_have_laplace_noise_and_many_gaussian():
    few, many = sketch_of(totals(1)), sketch_of(totals(100))
    assert choose_noise(few, *PRICE) == LAPLACE
    assert choose_noise(many, *PRICE) == GAUSSIAN
    assert choose_noise(many, Fraction(10**6), *PRICE[1:]) == LAPLACE


def errors_of(sketch, found):
    """Return the error of each column, by the exact law of its noise."""
    laws = {noise.measure: noise.mechanism for noise in found.releases.noises}
    keys = found.releases.selection
    if isinstance(keys, NoisyKeys):
        laws["keys"] = keys.noise
    names = [getattr(part, "measure", "keys") for part in sketch.parts]
    names = [
        "keys" if isinstance(p, PartitionSelection) else n
        for p, n in zip(sketch.parts, names, strict=True)
    ]
    return [
        float(half_width(tuple((factor, laws[names[at]]) for at, factor in column), PRICE[2]))
        for column in sketch.columns
    ]


@pytest.mark.parametrize("groups", [1, 3, 5, 7, 8, 10, 30])
@pytest.mark.parametrize("private", [False, True])
def test_the_law_is_the_one_whose_columns_err_less(groups, private):
    """One count, and a sum and a mean of it: products of errors agree with the choice.

    Where groups are private, the root of the number from which they are shown is one more factor.
    """
    first = PartitionSelection(law=None, groups=groups, fewest=1, measure="keys", most=5)
    columns = (((0, Fraction(1)),), ((0, Fraction(50)), (1, Fraction(1, 2))))
    sketch = sketch_of(
        first if private else totals(groups),
        totals(groups, most=500),
        columns=columns,
        weights=(2, 1),
    )
    found = {
        LAPLACE: by_epsilon(sketch, *PRICE[:2]),
        GAUSSIAN: by_point(sketch, *PRICE[:2]),
    }
    products = {law: math.prod(errors_of(sketch, each)) for law, each in found.items()}
    for law, each in found.items() if private else ():
        products[law] *= math.sqrt(each.releases.selection.threshold)
    chosen = choose_noise(sketch, *PRICE)
    assert products[chosen] <= min(products.values()) * 1.03


def test_the_size_of_groups_may_outweigh_an_error():
    """Gaussian noise shows smaller groups, and errs a little more."""
    sketch = sketch_of(PartitionSelection(law=None, groups=10, fewest=1))
    assert choose_noise(sketch, *PRICE) == GAUSSIAN
    laplace, gaussian = by_epsilon(sketch, *PRICE[:2]), by_point(sketch, *PRICE[:2])
    assert laplace.releases.selection.threshold > gaussian.releases.selection.threshold
    assert errors_of(sketch, laplace) < errors_of(sketch, gaussian)
    assert choose_noise(sketch_of(totals(10)), *PRICE) == LAPLACE


def test_a_choice_that_no_column_needs_does_not_decide():
    apart = PartitionSelection(law=SMALLEST, groups=6, fewest=1)
    for groups, law in ((2, LAPLACE), (30, GAUSSIAN)):
        sketch = sketch_of(apart, totals(groups), columns=(((1, Fraction(1)),),))
        assert choose_noise(sketch, *PRICE) == law


@pytest.mark.parametrize(("law", "many"), [(SMALLEST, GAUSSIAN), (OPTIMAL, LAPLACE)])
def test_where_nothing_is_asked_for_smaller_groups_decide(law, many):
    def taken(groups):
        keys = PartitionSelection(law=law, groups=groups, fewest=1)
        sketch = UnpricedRelease(parts=(keys,), weights=(1,), fixed=(None,), unit=person("patient"))
        return choose_noise(sketch, *PRICE)

    assert (taken(1), taken(100)) == (LAPLACE, many)


@pytest.mark.parametrize(("groups", "law"), [(1, LAPLACE), (200, GAUSSIAN)])
def test_choices_by_rank_are_compared_by_ranks(groups, law):
    level = QuantileLevel(
        measure="leaves", level=Fraction(1, 2), leaves=64, rows=2, groups=groups, available=None
    )
    assert choose_noise(sketch_of(level), *PRICE) == law


def test_nothing_that_moves_decides_nothing():
    still = NoisyTotals(
        measure="sum", distances=GroupSensitivity(low=0, high=0, groups=100, available=None)
    )
    assert choose_noise(sketch_of(still), *PRICE) == LAPLACE


@pytest.mark.parametrize(
    ("aggregates", "groups", "law"),
    [
        ("COUNT(*) AS n", 1, Laplace),
        ("COUNT(*) AS n", 30, Gaussian),
        ("COUNT(*) AS n, AVG(cost) AS m, VAR_POP(cost) AS v, MEDIAN(age) AS k", 9, Gaussian),
    ],
)
def test_plans_take_it(aggregates, groups, law):
    limits = f"max_groups_contributed = {groups}, max_rows_per_group = 2"
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS({limits})"
    sql = f"SELECT {options} city, {aggregates} FROM visits GROUP BY city"  # noqa: S608
    plan = planned(sql, epsilon=1, delta=DELTA)
    assert isinstance(plan.selection.noise, law)
    assert all(isinstance(noise.mechanism, law) for noise in plan.noises)


@pytest.mark.theorem("gaussian-profile")
@pytest.mark.parametrize("epsilon", ["0.00001", "0.003", "0.7", "1.001", "12", "50"])
@pytest.mark.parametrize("power", [1, 5, 9, 40])
def test_the_rho_of_continuous_noise_in_floats_is_the_certified_one(epsilon, power):
    asked, delta = Fraction(epsilon), Fraction(3, 10**power)
    certified = least_scale(
        lambda square: GaussianDP(mu_squared=1 / square), epsilon=asked, delta=delta, bits=14
    )
    assert gaussian_rho(asked, delta) == 1 / (2 * certified)
