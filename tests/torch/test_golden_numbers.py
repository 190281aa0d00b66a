"""Golden numbers of runs under replace, of floors, and of analysts who ignore the noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betainc, betaincinv

from discreet.mechanisms import Gaussian
from discreet.models import PosteriorDraw
from discreet.noise import DyadicGrid
from discreet.torch.private_sum import one_sum, statement_of, tree_of_run
from discreet.units import row

REPLACED = [
    (Fraction(4096, 50_000), 10, 875, 1.924),
    (Fraction(4096, 50_000), 3, 2500, 14.71),
    (Fraction(1, 100), 4, 10_000, 1.993),
]


@pytest.mark.parametrize(("rate", "sigma", "steps", "epsilon"), REPLACED)
def test_published_runs_cost_about_twice_where_a_unit_is_replaced(rate, sigma, steps, epsilon):
    unit = row(relation="replace")
    noise = Gaussian(sigma=sigma, grid=DyadicGrid.fine(distance=1))
    leaf = one_sum(noise, distance=Fraction(1), coordinates=1, unit=unit)
    tree = tree_of_run(leaf, rate=rate, steps=steps, unit=unit)
    assert statement_of(tree, unit).epsilon(delta=1e-5) == pytest.approx(epsilon, rel=6e-4)


@pytest.mark.parametrize(("coordinates", "epsilon"), [(10**5, 0.90284), (10**8, 0.90514)])
def test_floors_of_many_coordinates_cost_little(coordinates, epsilon):
    """Each neighbor is floored to a grid of 2**-22, one cell a coordinate at most."""
    noise = Gaussian(sigma=10, grid=DyadicGrid(exponent=-22))
    leaf = one_sum(noise, distance=Fraction(1), coordinates=coordinates, unit=row())
    tree = tree_of_run(leaf, rate=Fraction(4096, 50_000), steps=875, unit=row())
    assert statement_of(tree, row()).epsilon(delta=1e-5) == pytest.approx(epsilon, abs=6e-5)


def naive_coverage(people, epsilon):
    """How often the 90 % interval of Beta(1 + z, 1 + n - z) holds a share of the uniform prior.

    Exact: every count is equally likely, z is clamped to the people there are, and given the true
    count the share has a Beta law.
    """
    s = np.arange(people + 1)
    low = betaincinv(1 + s, 1 + people - s, 0.05)
    high = betaincinv(1 + s, 1 + people - s, 0.95)
    decay = math.exp(-epsilon)
    chance = (1 - decay) / (1 + decay) * decay ** np.abs(s[:, None] - s)
    chance[:, 0] = decay**s / (1 + decay)  # all noise that leads to zero or below
    chance[:, -1] = decay ** (people - s) / (1 + decay)
    total = 0.0
    for count in s:
        inside = betainc(1 + count, 1 + people - count, high)
        inside -= betainc(1 + count, 1 + people - count, low)
        total += float(chance[count] @ inside)
    return total / (people + 1)


@pytest.mark.parametrize(("people", "share"), [(20, 0.365), (100, 0.480), (1000, 0.739)])
def test_who_ignores_the_noise_covers_as_little_as_is_published(people, share):
    assert naive_coverage(people, 0.1) == pytest.approx(share, abs=0.03)  # published: simulated


@pytest.mark.theorem("posterior-draw")
@pytest.mark.parametrize(
    ("lowest", "bound"), [("0.01", 9.19), ("0.05", 5.89), ("0.1", 4.39), ("0.2", 2.77)]
)
def test_a_draw_costs_less_than_the_bound_of_its_likelihood(lowest, bound):
    likelihood = 2 * math.log((1 - float(lowest)) / float(lowest))
    assert likelihood == pytest.approx(bound, abs=0.006)
    assert float(PosteriorDraw(people=50, lowest=lowest).epsilon) < likelihood
