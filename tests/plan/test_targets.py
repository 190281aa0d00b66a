"""A price that follows from errors: they are kept, and no much smaller price keeps them."""

from fractions import Fraction

import pytest

from discreet.errors import NotAllowed, OutOfRange, UnknownName, WrongKind
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.policy.policy import Limits, Policy
from tests.plan.clinic import POLICY, planned

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
BOTH = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS mean FROM visits GROUP BY ward"


def error(plan, name):
    return next(each.half_width for each in plan.predicted if each.output == name)


@pytest.mark.parametrize("target", [1, 5, 20, 1000, "0.5"])
@pytest.mark.parametrize("noise", ["LAPLACE", "GAUSSIAN"])
def test_the_error_of_a_count_is_kept_at_the_least_price(target, noise):
    text = COUNT.replace("SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = {noise})")
    plan = planned(text, error={"visits": target})
    assert error(plan, "visits") <= Fraction(target)
    price = plan.price.epsilon if noise == "LAPLACE" else plan.price.rho
    given = (
        {"epsilon": price * Fraction(97, 100)}
        if noise == "LAPLACE"
        else {"rho": price * Fraction(95, 100)}
    )
    assert error(planned(text, **given), "visits") > Fraction(target)


def test_the_price_is_the_one_that_gives_the_error():
    plan = planned(BOTH, error={"visits": 10})
    same = planned(BOTH, epsilon=plan.price.epsilon)
    assert plan.price.epsilon == same.price.epsilon
    assert error(same, "visits") <= 10


@pytest.mark.parametrize(
    ("errors", "more"),
    [
        ({"mean": 5}, {"size": 1000}),
        ({"mean": 5, "visits": 3}, {"size": 1000}),
        ({"MEAN": 5}, {"size": 1000, "delta": 1e-9}),
    ],
)
def test_errors_of_means_follow_from_the_size(errors, more):
    plan = planned(BOTH, error=errors, **more)
    for name, target in errors.items():
        assert error(plan, name.lower()) <= target
    assert error(plan, "mean") > 4 or error(plan, "visits") > 2


def test_sums_and_ranks():
    plan = planned("SELECT SUM(cost) AS s, MEDIAN(age) AS m FROM visits", error={"s": 500, "m": 40})
    assert 450 < error(plan, "s") <= 500
    assert 30 < error(plan, "m") <= 40


def test_what_names_no_error_gets_the_smallest_share():
    plan = planned(
        "SELECT COUNT(*) AS n, COUNT(age) AS k, SUM(stay) AS s FROM visits", error={"n": 2, "k": 20}
    )
    scales = {each.measure: each.distances.most / each.mechanism.scale for each in plan.noises}
    assert scales["sum"] == pytest.approx(scales["count_2"], rel=0.01)
    assert scales["count"] > scales["count_2"]


def test_many_groups_are_cheaper_with_gaussian_noise():
    text = COUNT.replace(
        "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 50)"
    )
    text = text.replace("ward", "city")
    plan = planned(text, error={"visits": 100}, delta=1e-9)
    assert isinstance(plan.selection.noise, Gaussian)
    assert error(plan, "visits") <= 100


@pytest.mark.parametrize("private", [False, True])
def test_a_budget_in_rho_takes_gaussian_noise(private):
    """It is the cheaper one there, also where Laplace noise has the smaller epsilon."""
    text = COUNT.replace("ward", "city") if private else COUNT
    if private:
        text = text.replace(
            "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_per_group = 2)"
        )
    given = {"error": {"visits": 20}, "delta": 1e-9}
    plain, paid = planned(text, **given), planned(text, concentrated=True, **given)
    laws = [
        type(each.selection.noise if private else each.noises[0].mechanism)
        for each in (plain, paid)
    ]
    assert laws == [Laplace, Gaussian]
    assert error(paid, "visits") <= 20
    assert paid.price.rho < plain.price.rho
    assert paid.price.epsilon > plain.price.epsilon
    asked = COUNT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise = LAPLACE)")
    kept = planned(asked, concentrated=True, **given)
    assert isinstance(kept.noises[0].mechanism, Laplace)


def test_the_number_of_units_comes_from_the_keys():
    plan = planned(
        "SELECT city, COUNT(DISTINCT patient) AS p FROM visits GROUP BY city",
        error={"p": 7},
        delta=1e-9,
    )
    assert not plan.noises
    assert error(plan, "p") == 7


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ({"mean": 5}, WrongKind),
        ({"ward": 5}, WrongKind),
        ({"nothing": 5}, UnknownName),
        ({"visits": 0}, OutOfRange),
        ({}, WrongKind),
    ],
)
def test_errors_without_a_price_are_refused(errors, kind):
    with pytest.raises(kind):
        planned(BOTH, error=errors)


def test_the_policy_limits_prices_that_follow_from_errors():
    policy = Policy(
        unit=POLICY.unit,
        tables=POLICY.tables,
        limits=Limits(max_groups=2, max_rows=3, max_epsilon=Fraction(1)),
    )
    with pytest.raises(NotAllowed):
        planned(COUNT, policy=policy, error={"visits": 1})
    assert planned(COUNT, policy=policy, error={"visits": 100}).price.epsilon < 1


def test_an_error_that_any_noise_keeps_has_no_price():
    with pytest.raises(OutOfRange):
        planned(BOTH, error={"mean": 101}, size=10)
    with pytest.raises(OutOfRange):
        planned("SELECT SUM(age) AS s, COUNT(age) AS n FROM visits", error={"s": "0.1"})
