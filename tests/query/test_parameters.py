"""Parameters: values are literals of the question, whatever they hold."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError
from discreet.query import read
from discreet.query.canonical import canonical
from discreet.query.sql.tokens import parameters_of

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE "


def filled(condition, params, dialect=None):
    return canonical(read(COUNT + condition, dialect, parameters_of(params)))


@pytest.mark.parametrize(
    ("condition", "params", "written", "dialect"),
    [
        ("ward = ? AND age > ?", ["A", 5], "ward = 'A' AND age > 5", None),
        ("ward = $2 AND age > $1", [5, "A"], "ward = 'A' AND age > 5", "postgres"),
        ("ward IN ($1,$2)", ["A", "B"], "ward IN ('A', 'B')", "postgres"),
        ("ward IN ($1,$2)", ["A", "B"], "ward IN ('A', 'B')", "duckdb"),
        ("ward = :w AND city = :w", {"w": "A"}, "ward = 'A' AND city = 'A'", "snowflake"),
        ("ward = @w AND age>@a", {"w": "A", "a": 5}, "ward = 'A' AND age > 5", "bigquery"),
        ("ward IN (?, ?)", ["A", "B"], "ward IN ('A', 'B')", "duckdb"),
        ("age BETWEEN ? AND ?", [-3, Decimal("-2.50")], "age BETWEEN -3 AND -2.5", None),
        ("cost - ? < 1e-5", [-0.1], "cost - -0.1 < 0.00001", None),
        ("paid = ? OR paid = ?", [True, None], "paid = TRUE OR paid = NULL", None),
        ("day >= ?", [dt.date(2020, 1, 2)], "day >= DATE '2020-01-02'", None),
        (
            "at < ?",
            [dt.datetime(2020, 1, 2, 3, 4, 5, 60)],  # noqa: DTZ001
            "at < TIMESTAMP '2020-01-02 03:04:05.000060'",
            None,
        ),
        ("CAST(age AS TEXT) = ?", ["?"], "CAST(age AS TEXT) = '?'", None),
        ("age::TEXT = :a", {"a": "x"}, "CAST(age AS TEXT) = 'x'", None),
    ],
)
def test_a_question_with_parameters_is_the_one_with_its_values(condition, params, written, dialect):
    assert filled(condition, params, dialect) == canonical(read(COUNT + written))


@pytest.mark.parametrize("value", ["' OR 1 = 1 --", 'x"; DROP', "a\\'b", "\u00fc \u2028 ''", ""])
def test_text_stays_text(value):
    question = read(COUNT + "ward = ?", None, parameters_of([value]))
    assert question.relation.predicate.arguments[1].value == value


def test_true_is_not_one():
    assert filled("paid = ?", [True]) != filled("paid = ?", [1])


@pytest.mark.parametrize(
    ("condition", "params", "words"),
    [
        ("ward = ?", [], "the parameter ? has no value."),
        ("ward = ? AND city = ?", ["A"], "the parameter ? has no value."),
        ("ward = :v", {"w": "A"}, "the parameter :v has no value."),
        ("ward = ?", ["A", "B"], "the value of parameter 2 has no place in the text."),
        ("ward = ?", "A", "params is a str."),
        ("ward = ?", [["A"]], "is a list that has no literal."),
        ("ward = ?", [float("nan")], "is a float that has no literal."),
        ("ward = ?", [Fraction(1, 3)], "is a Fraction that has no literal."),
        (
            "ward = ?",
            [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
            "is a datetime that has no literal.",
        ),
        ("ward = ?", ["a\0"], "something that is not a character."),
        ("? = 'A'", {"ward": 1}, "the parameter ? has no value."),
        ("v.:w = 'A'", {"w": "A"}, ""),
    ],
)
def test_others_are_refused(condition, params, words):
    with pytest.raises(DiscreetError) as caught:
        filled(condition, params)
    assert words in caught.value.what


def test_names_of_columns_are_no_parameters():
    with pytest.raises(DiscreetError, match=r"table|FROM"):
        read("SELECT COUNT(*) FROM ?", None, parameters_of(["visits"]))
