import doctest

from tests.loss import formulas


def test_the_formulas_have_their_published_values():
    assert doctest.testmod(formulas).failed == 0
