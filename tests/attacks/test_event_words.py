"""Events in words: what a reader can look for, and never the name of a hash."""

import numpy as np
import pytest

from discreet.attacks import Calls, estimate_epsilon
from discreet.attacks.answer_columns import columns_of
from discreet.attacks.event_words import EventRange, listed, place_words, range_words, value_words
from discreet.attacks.features import Feature, features_of
from discreet.attacks.scorers import Bins, CellScorer, OrderedScorer, WholeScorer


def scorer(ones, others, kind="value", most=64):
    one, other = columns_of(np.array(ones)), columns_of(np.array(others))
    [feature] = [each for each in features_of(one, other) if each.kind == kind]
    return CellScorer.of([Bins.of(feature, (one, other), most)], one, other)


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


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: "many" if x else "few", "words or error) is 'many'"),
        (lambda x: 1 / x, "words or error) is a number"),
        (lambda x: 1 / (1 - x), "words or error) is an error, ZeroDivisionError"),
        (lambda x: [1, "a"] if x else [1, "b"], "words or error) is 'list of 2' and 'a'"),
        (lambda x: [3 * x, 2, 1], "which number is the largest is the first number"),
    ],
)
def test_forms_and_places_are_told_by_what_they_are(answer, words):
    one, other = (columns_of([Calls(answer)._once(x)] * 40) for x in (1, 0))
    kind = "place of the largest" if "largest" in words else "shape"
    [feature] = [each for each in features_of(one, other) if each.kind == kind]
    scored = CellScorer.of([Bins.of(feature, (one, other), 64)], one, other)
    assert scored.tell(0.1).endswith(words)


def test_whole_answers_are_told_by_what_they_are():
    one, other = columns_of([(True, "a")] * 30 + [(False, "b")] * 9), columns_of([1, 2, 3] * 13)
    assert WholeScorer.of(one, other).tell(0.1) == "the answer is (True, 'a') or (False, 'b')"
    many = WholeScorer.of(columns_of(list(range(99))), columns_of(["none"] * 99))
    assert many.tell(0.1).endswith("or 96 others")
    arrays = [columns_of({"n": np.array([at, at]), "s": np.array([0.5, 0.5])}) for at in (7, 8)]
    assert WholeScorer.of(*arrays).tell(0.1) == "the answer is n 7 and s 0.5"


def test_an_answer_without_numbers_is_told_so():
    feature = Feature("smallest")
    assert OrderedScorer(feature, 1).tell(np.inf) == "the answer has no number below infinity"
    assert OrderedScorer(feature, 1).tell(3.0) == "the smallest number is at least 3"


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
