"""Answers of any kind: everything that is learned about one is a function of that one alone."""

import math
from array import array
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.answer_columns import columns_of
from discreet.attacks.features import Feature, feature_values, features_of
from discreet.attacks.subjects import Raised
from discreet.errors import WrongKind

NUMBERS = st.integers() | st.floats() | st.booleans() | st.fractions() | st.just(Decimal("1.5"))
SINGLE = (
    NUMBERS
    | st.none()
    | st.text(max_size=4)
    | st.binary(max_size=3)
    | st.sampled_from(["n = 12.5 of 7", Raised("ValueError"), {"a": 1, "b": [2, None]}, {3, 1}])
)
ANSWER = SINGLE | st.lists(SINGLE, max_size=3) | st.tuples(SINGLE, SINGLE)


def described(columns, features):
    rows = [feature_values(columns, feature).tolist() for feature in features]
    rows += [columns.shape.tolist(), columns.label.tolist()]
    return list(zip(*rows, strict=True))


def same(one, other):
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True))


@pytest.mark.theorem("held-out-event")
@given(st.lists(ANSWER, min_size=1, max_size=6), st.data())
def test_an_answer_looks_the_same_in_any_company(answers, data):
    together = columns_of(answers)
    features = features_of(together, together)
    drawn = data.draw(st.integers(0, len(answers) - 1))
    others = data.draw(st.lists(ANSWER, max_size=3))
    elsewhere = columns_of([*others, answers[drawn]])
    assert same(described(together, features)[drawn], described(elsewhere, features)[-1])


@pytest.mark.theorem("held-out-event")
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=1, max_size=5),
    st.lists(st.tuples(st.floats(), st.booleans()), min_size=5, max_size=5),
)
def test_masked_arrays_look_the_same_in_any_company(whole, real):
    n = len(whole)

    def batch(rows):
        columns = {
            "a": np.ma.MaskedArray(
                [whole[row][0] for row in rows], [whole[row][1] for row in rows]
            ),
            "b": np.ma.MaskedArray([real[row][0] for row in rows], [real[row][1] for row in rows]),
        }
        return {name: column for name, column in columns.items() if not column.mask.all()}

    parts = batch(range(n))
    if not parts:
        return
    together = columns_of(parts)
    features = features_of(together, together)
    for number in range(n):
        if batch([number]):
            alone = columns_of(batch([number]))
            assert same(described(together, features)[number], described(alone, features)[0])


def test_equal_answers_have_equal_labels_and_others_do_not():
    answers = [1, 1.0, True, "1", None, (1,), [1], -0.0, 0.0, 0, Raised("A"), Raised("B"), 1 << 80]
    labels = columns_of(answers).label.tolist()
    assert len(set(labels)) == len(answers)
    assert columns_of(answers).label.tolist() == labels


def test_numbers_in_texts_are_numbers():
    columns = columns_of(["count: 12 (-0.5)", "count: 7 (1e3)"])
    assert columns.numbers["#0#"][0].tolist() == [12, 7]
    assert columns.numbers["#1"][0].tolist() == [-0.5, 1000.0]
    assert len(set(columns.shape.tolist())) == 1


@pytest.mark.parametrize(
    "pack",
    [
        lambda x: pd.DataFrame({"a": [x], "b": ["text"]}),
        lambda x: pl.DataFrame({"a": [x], "b": ["text"]}),
        lambda x: pa.table({"a": [x], "b": ["text"]}),
        lambda x: pd.Series([x]),
        lambda x: pl.Series([x]),
        lambda x: pa.chunked_array([[x]]),
        np.array,
        lambda x: array("d", [x]),
    ],
)
def test_numbers_in_tables_keep_all_their_bits(pack):
    x = 1.2345678901234567
    columns = columns_of([pack(x), pack(2 * x)])
    assert [values.tolist() for values, _ in columns.numbers.values()] == [[x, 2 * x]]
    assert len(set(columns.shape.tolist())) == 1


def test_the_grain_of_numbers():
    numbers = [1.0, 0.5, 3.0, 2.0**-60, 0.1, 5e-324, 0.0, math.inf, math.nan]
    grain = feature_values(columns_of(np.array(numbers)), Feature("grain"))
    assert grain[:7].tolist() == [0, -1, 0, -60, -55, -1074, 2000]
    assert np.isnan(grain[7:]).all()
    whole = feature_values(columns_of(np.array([1, 12, -8, 0, -(2**63)])), Feature("grain", "#"))
    assert whole.tolist() == [0, 2, 3, 2000, 63]


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_a_number_is_an_odd_multiple_of_its_grain(x):
    grain = feature_values(columns_of(np.array([x])), Feature("grain"))[0]
    assert (Fraction(x) / Fraction(2) ** int(grain)).numerator % 2 == 1
    assert (Fraction(x) / Fraction(2) ** int(grain)).denominator == 1


def test_classes_of_numbers_differ():
    numbers = np.array([math.nan, -math.inf, math.inf, 0.0, -0.0, 1.0])
    values = feature_values(columns_of(numbers), Feature("class"))
    assert len(set(values.tolist())) == 6


def test_summaries():
    table = columns_of(np.array([[1.0, 5.0], [7.0, 2.0]]))
    assert feature_values(table, Feature("sum")).tolist() == [6, 9]
    assert feature_values(table, Feature("smallest")).tolist() == [1, 2]
    assert feature_values(table, Feature("largest")).tolist() == [5, 7]
    places = feature_values(table, Feature("place of the largest"))
    assert places[0] != places[1]


@pytest.mark.parametrize("answers", ["text", b"bytes", 7, None])
def test_one_value_is_not_many_answers(answers):
    with pytest.raises(WrongKind):
        columns_of(answers)
