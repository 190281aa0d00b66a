"""Costs and priors are read exactly."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet.mechanisms.finite import cost_table, expectation, prior_on


def test_truth_values_and_numbers_are_costs():
    assert cost_table(lambda x, y: x != y, "ab", "ab") == ((0, 1), (1, 0))
    assert cost_table(lambda x, y: np.bool_(x), [0, 1], [0]) == ((0,), (1,))
    assert cost_table(lambda x, y: 0.1, [0], [0]) == ((Fraction(1, 10),),)


def test_expectations_are_exact():
    assert expectation(prior_on(["1/3", "2/3"], 2), [Fraction(3), Fraction(6)]) == 5


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cost_table(None, [0], [0]), WrongKind),
        (lambda: cost_table(lambda x, y: "much", [0], [0]), WrongKind),
        (lambda: cost_table(lambda x, y: float("nan"), [0], [0]), OutOfRange),
        (lambda: prior_on(["0.5", "0.5"], 3), WrongKind),
        (lambda: prior_on(["0.5", "0.4"], 2), OutOfRange),
        (lambda: prior_on(None, 2), WrongKind),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
