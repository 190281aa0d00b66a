"""Events in words: what a reader can look for, and never the name of a hash."""

import numpy as np
import pytest

from discreet.attacks import estimate_epsilon
from discreet.attacks.answer_columns import columns_of
from discreet.attacks.event_words import EventRange, listed, place_words, range_words, value_words
from discreet.attacks.features import Feature, feature_values, features_of
from discreet.attacks.scorers import Bins, CellScorer


def scorer(ones, others, kind="value", most=64):
    one, other = columns_of(np.array(ones)), columns_of(np.array(others))
    [feature] = [each for each in features_of(one, other) if each.kind == kind]
    values = np.concatenate([feature_values(side, feature) for side in (one, other)])
    return CellScorer.of([Bins.of(feature, values, most)], one, other)


def test_values_that_lie_side_by_side_are_told_as_one():
    few = scorer([1] * 9 + [2] * 9 + [3] * 9 + [7] * 9, [4, 5, 6] * 12)
    assert few.tell(0.1) == "the answer is 1 to 3 or 7"
    ranges = scorer(np.linspace(0, 1, 500), np.linspace(0.5, 1.5, 500), most=10)
    assert ranges.tell(0.1).startswith("the answer is below 0.5")


def test_bits_are_told_as_bits():
    fine = scorer([0.1, 0.3, 0.7] * 9, [1.0, 2.0, 4.0] * 9, kind="grain")
    assert "the lowest bit that is set in the answer is 2^-5" in fine.tell(0.1)
    odd = scorer([np.nan] * 20, [1.0] * 20, kind="class")
    assert odd.tell(0.1) == "what the answer is is not a number"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: {"n": x}, "['n'] is at least 1"),
        (lambda x: [0, x], "the second number is at least 1"),
        (lambda x: f"rows: {x}", "the first number that is printed is at least 1"),
        (lambda x: x, "the answer is at least 1"),
    ],
)
def test_a_reader_knows_which_number_is_meant(answer, words):
    found = estimate_epsilon(answer, (1, 0), 40, level=0.1)
    assert found.event == words


def test_no_hash_is_ever_shown():
    found = estimate_epsilon(lambda x: "yes" if x else [1], (1, 0), 40, level=0.1)
    assert "form of the answer" in found.event or "number" in found.event
    assert not any(len(word) > 9 and word.lstrip("-").isdigit() for word in found.event.split())


def test_words_for_values_and_ranges():
    assert range_words("value", EventRange(1.0, None)) == "1 or more"
    assert range_words("value", EventRange(None, None)) == "anything"
    assert range_words("grain", EventRange(-53.0, -50.0)) == "2^-53 to 2^-50"
    assert value_words("grain", 2000.0) == "none at all"
    assert listed([]) == ""
    assert listed(["a", "b", "c", "d"]) == "a, b, c or d"
    assert place_words("[7]") == "the 8th number"
    assert str(Feature("sum")) == "the sum of all numbers"
