"""Shuffled reports: the known figures, the bound of binary response, and calibration."""

from fractions import Fraction

import pytest

from discreet.accounting import account
from discreet.errors import DiscreetError
from discreet.local import (
    Direct,
    Hadamard,
    TwoPoint,
    WindowResponse,
    calibrate_shuffled,
    shuffled,
)
from discreet.local.shuffled_reports import is_binary
from discreet.loss.shuffle import Shuffle
from discreet.mechanisms import RandomizedResponse

FIGURES = {
    ("0.5", 10**3): (".0706", ".0627"),
    ("0.5", 10**4): (".0204", ".0182"),
    ("1", 10**3): (".1825", ".1487"),
    ("1", 10**4): (".0531", ".0433"),
    ("2", 10**3): (".5455", ".3971"),
    ("2", 10**4): (".1551", ".1144"),
    ("4", 10**3): ("3.99", "1.853"),
    ("4", 10**4): (".601", ".411"),
}
MANY = {
    ("0.5", 10**5): (".0059", ".0052"),
    ("1", 10**5): (".0153", ".0125"),
    ("2", 10**5): (".0451", ".0332"),
    ("4", 10**5): (".1698", ".1182"),
}


def check_figures(epsilon, people, general, binary):
    """A figure is right if delta is at most 1e-6 there, and above it one last digit below."""
    for randomizer, figure in (
        (Direct(epsilon=epsilon, values=10), general),
        (TwoPoint(epsilon=epsilon), binary),
    ):
        crowd = shuffled(randomizer, people=people)
        digit = Fraction(1, 10 ** len(figure.split(".")[1]))
        assert crowd.delta(epsilon=Fraction(figure) + digit) <= 1e-6
        assert crowd.delta(epsilon=Fraction(figure) - digit) > 1e-6


@pytest.mark.theorem("shuffling")
@pytest.mark.parametrize(("epsilon", "people"), FIGURES)
def test_the_known_figures(epsilon, people):
    check_figures(epsilon, people, *FIGURES[epsilon, people])


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "people"), MANY)
def test_the_known_figures_of_many_people(epsilon, people):
    check_figures(epsilon, people, *MANY[epsilon, people])


def test_it_is_the_price_of_the_tree_and_of_the_loss():
    crowd = shuffled(Direct(epsilon=1, values=3), people=40)
    tree = account(crowd.tree(), relation="replace").epsilon(delta="1e-6")
    assert crowd.epsilon(delta="1e-6") == pytest.approx(tree, abs=1e-6)
    binary = shuffled(TwoPoint(epsilon=1), people=40)
    exact = binary.epsilon(delta="1e-6")
    assert binary.loss().epsilon(delta="1e-6") == pytest.approx(exact, abs=1e-6)
    assert exact < crowd.epsilon(delta="1e-6")


def test_which_randomizers_are_binary():
    assert is_binary(RandomizedResponse(epsilon=1))
    assert is_binary(Direct(epsilon=1, values=2))
    assert is_binary(WindowResponse.minimax(epsilon=1, outcomes=2))
    for other in (
        RandomizedResponse(epsilon=1, categories=(0, 1, 2)),
        Direct(epsilon=1, values=3),
        Hadamard(epsilon=1, values=2),
        WindowResponse.linear(epsilon=1, values=2, width=2),
    ):
        assert not is_binary(other)


@pytest.mark.theorem("shuffling")
@pytest.mark.parametrize("binary", [False, True])
def test_calibration_inverts_the_price(binary):
    local = calibrate_shuffled(epsilon="0.3", delta="1e-6", people=1000, binary=binary)
    assert Shuffle(epsilon=local, population=1000, binary=binary).delta("0.3") <= 1e-6
    more = local * Fraction(1003, 1000)
    assert Shuffle(epsilon=more, population=1000, binary=binary).delta("0.3") > 1e-6


def test_a_few_people_hide_nobody():
    local = calibrate_shuffled(epsilon="0.5", delta="1e-6", people=2)
    assert Fraction(1, 2) <= local < Fraction(501, 1000)
    assert calibrate_shuffled(epsilon=80, delta="1e-6", people=100) == 80


def test_more_than_a_million_people_count_as_a_million():
    crowd = shuffled(Direct(epsilon=1, values=3), people=10**9)
    assert crowd.tree().population == 10**6


def test_bad_input_is_refused():
    with pytest.raises(DiscreetError):
        shuffled(Direct(epsilon=1, values=3), people=1)
    with pytest.raises(DiscreetError):
        shuffled("reports", people=10)
    for change in ({"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"people": 1}):
        with pytest.raises(DiscreetError):
            calibrate_shuffled(**{"epsilon": 1, "delta": "1e-6", "people": 100, **change})
