"""What moves at all costs something: no fraction of a step is free, on any mechanism."""

from fractions import Fraction

import pytest

from discreet.accounting import Budget, Leaf, PrivacyFilter
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.units import row
from discreet_course.permute_and_flip import PermuteAndFlip
from tests.continual.test_contract import BLENDS
from tests.continual.test_contract import CASES as CONTINUAL
from tests.mechanisms.test_contract import CASES

MECHANISMS = [
    *{type(case.mechanism): case.mechanism for case in (*CASES, *CONTINUAL)}.values(),
    *BLENDS,
]
GRADED = (Exponential, PermuteAndFlip)
"""Their scores are rational numbers, and so are distances between them."""


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("distance", ["1e-9", "0.5", "0.999", "1.5"])
def test_a_fraction_costs_what_the_next_whole_number_costs(mechanism, distance):
    found = mechanism.loss(distance=distance)
    if isinstance(mechanism, GRADED) or getattr(mechanism, "grid", None) is not None:
        assert found.delta(epsilon=0) > 0
        return
    assert found == mechanism.loss(distance=-(-Fraction(distance) // 1))


@pytest.mark.parametrize("coordinates", [1, 2, 5])
@pytest.mark.parametrize("mechanism", [Laplace(scale=10), Gaussian(sigma=10)])
def test_vectors_too(mechanism, coordinates):
    half = mechanism.loss(distance="0.5", coordinates=coordinates)
    assert half == mechanism.loss(distance=1, coordinates=coordinates)
    assert half.epsilon(delta=Fraction(1, 10**6)) > 0


def test_one_number_moves_by_whole_distances_and_vectors_by_roots():
    one = Gaussian(sigma=10)
    assert one.loss(distance="1.4143") == one.loss(distance=2)
    assert one.concentrated(distance="1.4143", coordinates=2).rho == Fraction(2, 200)


@pytest.mark.parametrize("mechanism", [Laplace(scale=10), Gaussian(sigma=10)])
def test_a_book_records_no_fraction_as_free(mechanism):
    book = PrivacyFilter(Budget(rho=1), unit=row())
    book.charge(Leaf(mechanism, added="0.5"))
    assert book.spent[0] > 0
    again = PrivacyFilter(Budget(rho=1), unit=row())
    again.charge(Leaf(mechanism))
    assert book.spent == again.spent


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: type(each).__name__)
def test_nothing_moves_for_nothing(mechanism):
    found = mechanism.loss(distance=0)
    assert isinstance(found, PrivacyLoss)
    assert found.delta(epsilon=0) == 0
