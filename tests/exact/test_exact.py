"""Numbers on their way in and out: what they denote, and which way they round."""

import math
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import (
    Interval,
    decimal,
    exact_sum,
    float_down,
    float_up,
    positive,
    probability,
    rational,
    whole,
)
from tests.conftest import steady

SMALLEST = Fraction(math.ulp(0.0))
LARGEST = Fraction(sys.float_info.max)

finite_floats = st.floats(allow_nan=False, allow_infinity=False)
signed = st.sampled_from([1, -1])
# rationals of every magnitude: beyond the floats, among the subnormals, and close to floats
magnitudes = st.builds(
    lambda top, power: Fraction(top) * Fraction(2) ** power,
    st.integers(0, 10**30),
    st.integers(-1300, 1100),
)
rationals = st.one_of(
    st.fractions(),
    st.builds(lambda sign, size: sign * size, signed, magnitudes),
    st.builds(
        lambda x, sign, power: Fraction(x) + sign * Fraction(2) ** power,
        finite_floats,
        signed,
        st.integers(-1200, 1020),
    ),
)


# --- reading exact numbers --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        ("1E+3", Fraction(1000)),
        ("2/3", Fraction(2, 3)),
        ("-7/21", Fraction(-1, 3)),
        ("+.5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("  12 \n", Fraction(12)),
        ("1_000", Fraction(1000)),
        ("-0", Fraction(0)),
        ("1e5000", Fraction(10) ** 5000),
        (np.str_("0.25"), Fraction(1, 4)),
        (7, Fraction(7)),
        (10**400, Fraction(10**400)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (Fraction(2, 3), Fraction(2, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("-1e-300"), Fraction(-1, 10**300)),
    ],
)
def test_an_exact_number_is_what_it_denotes(given_value, meant):
    assert rational(given_value, name="x") == meant
    assert decimal(given_value, name="x") == meant


@pytest.mark.parametrize(
    "value", [0.1, 1.0, -0.0, math.nan, math.inf, np.float64(0.5), np.float32(0.5), np.float16(1)]
)
def test_a_float_is_not_exact(value):
    with pytest.raises(NotExact):
        rational(value, name="x")


@pytest.mark.parametrize(
    "value",
    [None, True, np.True_, b"1", 1j, [1], (1, 2), np.array(1), np.array([1]), object(), int],
    ids=steady,
)
def test_what_is_no_number_is_refused(value):
    for read in (rational, decimal, positive, probability):
        with pytest.raises(WrongKind):
            read(value, name="x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-",
        ".",
        "e5",
        "1e",
        "1/",
        "/2",
        "1/2/3",
        "1 /2",
        "1/2.5",
        "0x10",
        "1,5",
        "1+1",
        "2**3",
        "--1",
        "1_",
        "_1",
        "1__0",
        "1e1.5",
        "1\x00",
        "1\n2",
        "ten",
        "__import__('os').getpid()",
        "sys.exit()",
        "lambda: 1",
        "[1][0]",
        "１２",  # digits of other scripts look alike and read differently
        "١/٢",
    ],
)
def test_text_that_is_no_plain_number_is_refused_and_never_evaluated(text):
    for read in (rational, decimal):
        with pytest.raises(WrongKind):
            read(text, name="x")


@pytest.mark.parametrize(
    "value",
    [
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "1/0",
        "0/0",
        Decimal("nan"),
        Decimal("-inf"),
        Decimal("sNaN"),
    ],
)
def test_what_is_not_finite_is_refused(value):
    for read in (rational, decimal):
        with pytest.raises(OutOfRange):
            read(value, name="x")


@pytest.mark.parametrize(
    "value",
    [
        "1e999999999",
        "1e-999999999",
        "1e" + "9" * 900,
        "1e5001",
        "9" * 100_000,
        "0." + "3" * 100_000,
        "1/" + "3" * 100_000,
        "1_" * 50_000 + "1",
        "." * 100_000,
        Decimal("1e999999"),
        Decimal("1e-999999"),
        Decimal("1" * 100_000),
    ],
    ids=lambda value: str(value)[:16],
)
def test_a_number_too_long_to_compute_with_is_refused_at_once(value):
    start = time.process_time()
    with pytest.raises(OutOfRange):
        rational(value, name="x")
    assert time.process_time() - start < 0.1


@given(st.text(max_size=30) | st.text("0123456789+-./eE_ x", max_size=12))
@example("1/0")
@example("0e5000")
def test_any_text_is_read_or_refused(text):
    try:
        value = rational(text, name="x")
    except (OutOfRange, WrongKind):
        return
    assert value == Fraction(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20) | st.fractions())
def test_writing_and_reading_is_the_identity(value):
    assert rational(str(value), name="x") == Fraction(value)


@given(st.binary() | st.none() | st.booleans() | st.complex_numbers() | st.lists(st.integers()))
def test_anything_else_is_refused(value):
    with pytest.raises(WrongKind):
        rational(value, name="x")


# --- floats that people typed -----------------------------------------------------------------


def test_ten_times_a_tenth_is_one():
    assert sum(decimal(0.1, name="epsilon") for _ in range(10)) == 1
    added = 0.0
    for _ in range(10):  # sum() corrects floats, from Python 3.12 on
        added += 0.1
    assert added != 1


@given(finite_floats)
def test_a_typed_float_stands_for_its_shortest_text(value):
    exact = decimal(value, name="x")
    assert exact == Fraction(repr(value))
    assert float(exact) == value
    assert decimal(np.float64(value), name="x") == exact


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, np.float64("inf"), np.float32("nan")]
)
def test_a_typed_float_is_finite(value):
    with pytest.raises(OutOfRange):
        decimal(value, name="x")


# --- ranges -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, "-0.001", Fraction(-1, 10**50), Decimal("-0.0")])
def test_positive_numbers_are_above_zero(value):
    with pytest.raises(OutOfRange):
        positive(value, name="scale")


@pytest.mark.parametrize("value", ["-1e-9", "1.000001", 2, -1, Fraction(10**50 + 1, 10**50)])
def test_probabilities_lie_between_zero_and_one(value):
    with pytest.raises(OutOfRange):
        probability(value, name="rate")


def test_the_ends_of_the_range_are_probabilities():
    assert probability(0, name="rate") == 0
    assert probability("1", name="rate") == 1
    assert positive("1e-400", name="scale") == Fraction(1, 10**400)


@pytest.mark.parametrize(
    "value", [1.0, "1", None, True, np.True_, Fraction(1), Decimal(1), [1], 1j]
)
def test_only_an_integer_is_whole(value):
    with pytest.raises(WrongKind):
        whole(value, name="count")


@pytest.mark.parametrize("value", [-1, 11, np.int64(-5), np.uint64(2**64 - 1), -(10**30)])
def test_whole_numbers_stay_in_their_range(value):
    with pytest.raises(OutOfRange):
        whole(value, name="count", low=0, high=10)


@given(st.integers())
def test_whole_numbers_pass_unchanged(value):
    assert whole(value, name="k") == value
    assert type(whole(value, name="k")) is int


@pytest.mark.parametrize("value", [np.int8(5), np.uint64(5), np.int64(5)])
def test_a_whole_number_of_numpy_becomes_a_python_integer(value):
    assert type(whole(value, name="k")) is int


# --- directed rounding ------------------------------------------------------------------------


def exactly(value):
    """Order floats with infinity among rationals."""
    return value if math.isinf(value) else Fraction(value)


def check_floats(value, rounded_down, rounded_up):
    """Fail unless the two are the nearest floats on either side."""
    down, up = rounded_down(value), rounded_up(value)
    assert exactly(down) <= value <= exactly(up)
    assert (down == value) == (up == value)
    assert down == value or math.nextafter(down, math.inf) == up


@pytest.mark.theorem("directed-rounding")
@settings(max_examples=1000)
@given(rationals)
@example(Fraction(0))
@example(SMALLEST)
@example(SMALLEST / 2)
@example(-SMALLEST / 2)
@example(SMALLEST * Fraction(3, 2))
@example(Fraction(sys.float_info.min) - SMALLEST / 3)
@example(LARGEST)
@example(-LARGEST)
@example(LARGEST + 1)
@example(-LARGEST - 1)
@example(Fraction(2) ** 1024)
@example(-(Fraction(2) ** 1024))
@example(Fraction(10) ** 4000)
@example(Fraction(1, 10**4000))
@example(Fraction(1, 10))
@example(Fraction(2**53 + 1))
def test_floats_bracket_a_rational_and_are_adjacent(value):
    check_floats(value, float_down, float_up)


def nearest(value):
    return float(value)


def away_from_zero(value):
    return float_up(value) if value > 0 else float_down(value)


def one_too_low(value):
    return math.nextafter(float_down(value), -math.inf)


@pytest.mark.theorem("directed-rounding")
@pytest.mark.parametrize("broken", [nearest, away_from_zero, one_too_low])
def test_rounding_some_other_way_is_caught(broken):
    def check_all(rounded_down, rounded_up):
        for at in range(-50, 50):
            check_floats(Fraction(at, 10), rounded_down, rounded_up)

    with pytest.raises(AssertionError):
        check_all(broken, float_up)
    with pytest.raises(AssertionError):
        check_all(float_down, lambda value: -broken(-value))


@pytest.mark.theorem("directed-rounding")
@given(finite_floats)
def test_a_float_rounds_to_itself(value):
    assert float_down(Fraction(value)) == float_up(Fraction(value)) == value


@pytest.mark.theorem("directed-rounding")
def test_beyond_the_floats_rounding_inward_stops_and_outward_is_infinite():
    huge = Fraction(10) ** 400
    assert float_down(huge) == sys.float_info.max
    assert float_up(huge) == math.inf
    assert float_down(-huge) == -math.inf
    assert float_up(-huge) == -sys.float_info.max


def test_zero_has_no_sign():
    assert str(float_down(Fraction(0))) == str(float_up(Fraction(0))) == "0.0"


# --- intervals --------------------------------------------------------------------------------


@given(rationals, rationals)
def test_an_interval_keeps_its_ends_in_order(one, other):
    low, high = min(one, other), max(one, other)
    interval = Interval(low, high)
    down, up = interval.floats()
    assert exactly(down) <= low <= high <= exactly(up)
    assert down <= interval.nearest() <= up
    if low < high:
        with pytest.raises(OutOfRange):
            Interval(high, low)


def test_an_interval_beyond_the_floats_shows_as_infinite():
    huge = Fraction(10) ** 400
    assert Interval(huge, huge).nearest() == math.inf
    assert Interval(-huge, -huge).nearest() == -math.inf
    assert Interval(-huge, huge).nearest() == 0.0


@given(st.lists(st.fractions(max_denominator=50), max_size=40))
def test_a_sum_is_the_sum_in_any_order(values):
    assert exact_sum(values) == sum(values, Fraction(0))
    assert exact_sum(iter(values[::-1])) == sum(values, Fraction(0))
