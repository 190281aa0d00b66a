"""What cannot be used is refused by the right error, before a bit is drawn."""

import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.attacks import ReplayEntropy, exact_law
from discreet.errors import DiscreetError, NotExact, OutOfRange, TooLarge, WrongKind
from discreet.noise import (
    Bernoulli,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    DyadicGrid,
    KeyedEntropy,
    SystemEntropy,
    Uniform,
    exponential_weights,
)
from discreet_course.permute_and_flip import permute_and_flip

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


class NoEntropy:
    """Fails the test as soon as anything is drawn."""

    def words(self, count, width):
        pytest.fail("a word was drawn for bad input")

    def bits(self, width):
        pytest.fail("a word was drawn for bad input")


NOTHING = NoEntropy()


def refused(call, error):
    with pytest.raises(DiscreetError) as caught:
        call()
    assert caught.type is error, f"{caught.type.__name__}: {caught.value}"
    before = None if caught.value.__suppress_context__ else caught.value.__context__
    assert before is None or isinstance(before, DiscreetError)  # no foreign error shows through


def all_refused(make, wrong):
    """Check all values in one test: two thousand tests would take longer than what they check."""
    for value, error in wrong:
        try:
            refused(lambda value=value: make(value), error)
        except BaseException as failure:
            failure.add_note(f"given {name_of(value)}")
            raise


def name_of(value):
    text = "" if type(value) is object else repr(value)[:40]
    return f"{type(value).__name__} {text}"


# --- numbers that are no exact number ---------------------------------------------------------

FLOATS = [
    0.5,
    1.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    np.float64(1),
    np.float32(1),
    np.float16(1),
]
GARBAGE = [
    None,
    True,
    False,
    np.True_,
    b"1",
    1j,
    [1],
    (1,),
    {},
    object(),
    np.array(1),
    np.array([1]),
]
TEXT = ["", "two", "1+1", "0x10", "1,5", "__import__('os')"]
NOT_FINITE = ["nan", "inf", "-Infinity", "1/0", Decimal("nan"), Decimal("inf")]
ENDLESS = ["1e999999999", "1e-999999999", "9" * 100_000, Decimal("1e99999")]

NOT_A_NUMBER = [
    *((value, NotExact) for value in FLOATS),
    *((value, WrongKind) for value in GARBAGE + TEXT),
    *((value, OutOfRange) for value in NOT_FINITE + ENDLESS),
]
NOT_POSITIVE = [
    (value, OutOfRange) for value in (0, -1, "-0.5", "0.0", Fraction(-1, 3), np.int64(-2))
]
NOT_A_CHANCE = [(value, OutOfRange) for value in (-1, 2, "1.0001", "-1e-9", Fraction(4, 3))]
NOT_INSIDE = [(value, OutOfRange) for value in (0, 1, -1, "1.5")]
NEGATIVE = [(value, OutOfRange) for value in (-1, "-1e-300", Fraction(-1, 7))]
TOO_WIDE = [(value, TooLarge) for value in (2**50 + 1, "1e18", "1e4000", Fraction(2**60, 3))]
TOO_NARROW = [(value, OutOfRange) for value in ("1e-61", Fraction(1, 2**200 + 1), "1e-4000")]
TOO_VARIED = [(value, TooLarge) for value in (2**100 + 1, "1e40")]
TOO_UNVARIED = [(value, OutOfRange) for value in ("1e-121", Fraction(1, 2**400 + 1))]

LAW = DiscreteLaplace(scale=2)
EXACT = {
    "Bernoulli": (lambda x: Bernoulli(p=x), NOT_A_CHANCE),
    "Categorical, one weight": (lambda x: Categorical(weights=[1, x, 2]), NEGATIVE),
    "DiscreteGaussian": (
        lambda x: DiscreteGaussian(variance=x),
        NOT_POSITIVE + TOO_VARIED + TOO_UNVARIED,
    ),
    "DiscreteLaplace": (lambda x: DiscreteLaplace(scale=x), NOT_POSITIVE + TOO_WIDE + TOO_NARROW),
    "DyadicGrid.fine": (lambda x: DyadicGrid.fine(distance=x), NOT_POSITIVE),
    "DyadicGrid.distance_l1": (lambda x: DyadicGrid(exponent=-3).distance_l1(x), NOT_POSITIVE),
    "DyadicGrid.distance_l2_squared": (
        lambda x: DyadicGrid(exponent=-3).distance_l2_squared(x, coordinates=2),
        NOT_POSITIVE,
    ),
    "exponential_weights, rate": (
        lambda x: exponential_weights(scores=[1, 2], rate=x, entropy=NOTHING),
        NOT_POSITIVE,
    ),
    "permute_and_flip, rate": (
        lambda x: permute_and_flip(scores=[1, 2], rate=x, entropy=NOTHING),
        NOT_POSITIVE,
    ),
    "quantile": (LAW.quantile, NOT_INSIDE),
}


@pytest.mark.parametrize(("make", "own"), EXACT.values(), ids=EXACT)
def test_a_number_that_cannot_be_used_is_refused(make, own):
    all_refused(make, NOT_A_NUMBER + own)


# --- integers that are no integer -------------------------------------------------------------

NOT_WHOLE = [
    (value, WrongKind) for value in (*FLOATS, *TEXT, *NOT_FINITE, "3", Fraction(3), Decimal(3))
] + [
    (value, WrongKind)
    for value in GARBAGE
    if not (isinstance(value, np.ndarray) and not value.ndim)
]
NOT_EVEN_NEARLY = [(value, WrongKind) for value in (1.0, math.nan, None, True, "1", Fraction(1))]
NOT_A_COUNT = [(value, OutOfRange) for value in (-1, np.int64(-1), INT64_MIN, 10**30)]
NOT_ABOVE_ZERO = [(value, OutOfRange) for value in (0, -1, np.int8(-1))]

LAWS = {
    "Bernoulli": Bernoulli(p="1/3"),
    "Categorical": Categorical(weights=[1, 2, 3]),
    "DiscreteGaussian": DiscreteGaussian(variance=3),
    "DiscreteLaplace": LAW,
    "Uniform": Uniform(below=6),
}
BOUNDS = ("pmf_bounds", "cdf_bounds", "survival_bounds", "log_survival_bounds")
FIGURES = ("pmf", "cdf", "survival", "log_survival")

WHOLE = {
    "Uniform": (lambda n: Uniform(below=n), [*NOT_ABOVE_ZERO, (2**63 + 1, OutOfRange)]),
    "DyadicGrid": (
        lambda n: DyadicGrid(exponent=n),
        [(n, OutOfRange) for n in (-1001, 901, 10**30)],
    ),
    "DyadicGrid.distance_l1, coordinates": (
        lambda n: DyadicGrid(exponent=0).distance_l1(1, coordinates=n),
        NOT_ABOVE_ZERO,
    ),
    "DyadicGrid.distance_l2_squared, coordinates": (
        lambda n: DyadicGrid(exponent=0).distance_l2_squared(1, coordinates=n),
        NOT_ABOVE_ZERO,
    ),
    "Bernoulli.flips": (lambda n: LAWS["Bernoulli"].flips(n, NOTHING), NOT_A_COUNT),
}
WHOLE |= {
    f"{name}.sample": (lambda n, law=law: law.sample(n, NOTHING), NOT_A_COUNT)
    for name, law in LAWS.items()
}
ASKED = {
    f"{name}.{method}": (getattr(law, method), [])
    for name, law in LAWS.items()
    for method in BOUNDS + FIGURES
}
ASKED |= {
    f"{name}.{method}, bits": (
        functools.partial(getattr(law, method), 0),
        [(bits, OutOfRange) for bits in (-1, -1000)],
    )
    for name, law in LAWS.items()
    for method in BOUNDS
    if name not in {"Categorical", "Uniform"}  # known exactly, regardless of the precision
}


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        pytest.param(make, wrong + own, id=name)
        for table, wrong in ((WHOLE, NOT_WHOLE), (ASKED, NOT_EVEN_NEARLY))
        for name, (make, own) in table.items()
    ],
)
def test_an_integer_that_cannot_be_used_is_refused(make, wrong):
    all_refused(make, wrong)


# --- everything else --------------------------------------------------------------------------

GRID = DyadicGrid(exponent=-10)
KEY = bytes(range(32))
SOURCES = (SystemEntropy, lambda: KeyedEntropy(key=KEY, label=""), lambda: ReplayEntropy([1] * 9))

NO_SCORES = {
    OutOfRange: [[], (), np.array([], np.int64)],
    NotExact: [
        [1, 2.0],
        [math.nan, 1],
        [math.inf],
        [np.float64(1), np.float64(2)],
        np.array([1.0, 2.0]),
        np.array([1, 2], np.float16),
    ],
    WrongKind: [
        [1, Fraction(1, 2)],
        [1, True],
        [1, None],
        [1, "2"],
        [Decimal(1), Decimal(2)],
        [[1, 2], [3]],
        "12",
        b"12",
        5,
        None,
        {1: 2},
        np.array(5),
        np.array([[1, 2]]),
        np.array([True, False]),
    ],
    TooLarge: [
        [2**63, 0],
        [-(2**63) - 1, 0],
        [INT64_MIN, INT64_MAX],
        np.array([INT64_MIN, INT64_MAX]),
        np.array([2**64 - 1, 0], np.uint64),
        [Fraction(1, 10**30), Fraction(1, 3)],
    ],
}
NO_WEIGHTS = {
    OutOfRange: [[], [0, 0], [1, -1]],
    NotExact: [np.array([0.5, 0.5])],
    WrongKind: [np.array([[1, 2]]), np.array(5), 5, None, "12", {1, 2}, {0: 1}],
}
NO_REALS = {
    NotExact: [
        np.array([1.0], np.float32),
        np.array([1.0], np.float16),
        [Fraction(1, 3), math.nan],
    ],
    WrongKind: [[Fraction(1, 3), "1"], None, "1.5", [True], [1j], [[1.0], [2.0, 3.0]]],
    TooLarge: [2**52, [Fraction(2**53)], [2.0**52], [-(2.0**53)], [1.7e308]],
    OutOfRange: [[math.nan], [1.0, math.inf], -math.inf],
}
NO_CELLS = {WrongKind: [None, [1.5], np.array([1.0]), [True], "1", [[1], [2, 3]]]}
NO_KEY = {
    OutOfRange: [b"", bytes(31), bytes(33)],
    WrongKind: ["k" * 32, bytearray(32), memoryview(KEY), np.zeros(32, np.uint8), 32, None],
}
NO_LABEL = {WrongKind: [None, 5, ("a", "b"), bytearray(b"label"), "\ud800"]}  # half a character
NO_WIDTH = {OutOfRange: [-1, -8, -1000], WrongKind: [1.5, None, "8"]}
NO_RECORD = {WrongKind: [5, None, [1.5], ["1"], [None]], OutOfRange: [[-1], [8]]}

CASES = {
    "permute_and_flip": (
        lambda scores: permute_and_flip(scores=scores, rate=1, entropy=NOTHING),
        NO_SCORES,
    ),
    "exponential_weights": (
        lambda scores: exponential_weights(scores=scores, rate=1, entropy=NOTHING),
        NO_SCORES,
    ),
    "Categorical": (lambda weights: Categorical(weights=weights), NO_WEIGHTS),
    "to_grid": (GRID.to_grid, NO_REALS),
    "from_grid": (GRID.from_grid, NO_CELLS),
    "DyadicGrid.fine": (lambda d: DyadicGrid.fine(distance=d), {OutOfRange: ["1e-400", "1e400"]}),
    "KeyedEntropy, key": (lambda key: KeyedEntropy(key=key, label="label"), NO_KEY),
    "KeyedEntropy, label": (lambda label: KeyedEntropy(key=KEY, label=label), NO_LABEL),
    "words": (
        lambda ask: [source().words(*ask) for source in SOURCES],
        {OutOfRange: [(-1, 8), (2, -1), (2, 65)], WrongKind: [(1.5, 8), (2, 8.0), (None, 8)]},
    ),
    "SystemEntropy": (SystemEntropy().bits, NO_WIDTH),
    "KeyedEntropy": (KeyedEntropy(key=KEY, label="").bits, NO_WIDTH),
    "ReplayEntropy": (ReplayEntropy([1] * 9).bits, NO_WIDTH),
    "ReplayEntropy, recorded": (lambda values: ReplayEntropy(values).bits(3), NO_RECORD),
    "exact_law, unexplored": (
        lambda mass: exact_law(lambda _: 0, unexplored=mass),
        {NotExact: [1e-9], OutOfRange: [Fraction(-1)]},
    ),
    "exact_law, max_runs": (
        lambda runs: exact_law(lambda _: 0, max_runs=runs),
        {OutOfRange: [-1], WrongKind: [0.5]},
    ),
    "exact_law": (exact_law, {WrongKind: [None], OutOfRange: [lambda e: e.bits(64)]}),
    "log_survival": (LAWS["Uniform"].log_survival, {OutOfRange: [5]}),
    "Bernoulli, words": (lambda words: Bernoulli(p="1/2", words=words), {WrongKind: ["wide"]}),
}


@pytest.mark.parametrize(("make", "wrong"), CASES.values(), ids=CASES)
def test_input_that_cannot_be_used_is_refused(make, wrong):
    all_refused(make, [(value, error) for error, values in wrong.items() for value in values])


def test_every_public_name_is_in_the_tables():
    shown = " ".join([*EXACT, *WHOLE, *ASKED, *CASES])
    without_input = {"SYSTEM", "Distribution", "Entropy", "ExactLaw", "Moments"}
    assert {name for name in noise.__all__ if name not in shown} <= without_input


# --- a refusal leaves no trace ----------------------------------------------------------------


@pytest.mark.parametrize("width", [-1, -8, -100, -1000, None, 1.5])
def test_a_refused_request_leaves_the_stream_as_it_was(width):
    streams = [KeyedEntropy(key=KEY, label="x") for _ in range(2)]
    with pytest.raises(DiscreetError):
        streams[0].bits(width)
    assert streams[0].bits(256) == streams[1].bits(256)


@pytest.mark.parametrize("width", [-1, -8, -100, -1000, None, 1.5])
def test_a_refused_request_does_not_spoil_what_the_system_gives(width):
    source = SystemEntropy()
    source.bits(400)
    with pytest.raises(DiscreetError):
        source.bits(width)
    drawn = [source.bits(64) for _ in range(50)]
    assert len(set(drawn)) == 50
    assert 0 not in drawn


# --- input that looks odd and can be used -----------------------------------------------------


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    "k",
    [
        np.int8(127),
        np.int8(-128),
        np.uint8(255),
        np.uint64(2),
        np.int64(INT64_MIN),
        np.uint64(2**64 - 1),
    ],
    ids=repr,
)
def test_an_outcome_in_a_numpy_integer_is_an_integer(law, k):
    for method in ("pmf_bounds", "cdf_bounds", "survival_bounds"):
        assert getattr(law, method)(k) == getattr(law, method)(int(k))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_a_parameter_in_a_numpy_integer_is_an_integer(kind):
    assert DiscreteLaplace(scale=kind(100)) == DiscreteLaplace(scale=100)
    assert Uniform(below=kind(100)) == Uniform(below=100)
    assert LAW.sample(kind(3)).shape == (3,)


@pytest.mark.parametrize("rate", ["1e300", "1e5000", 10**400])
@pytest.mark.parametrize("choose", [permute_and_flip, exponential_weights])
def test_however_steep_the_rate_the_best_candidate_wins(choose, rate):
    assert choose(scores=[0, 2**62, 2**62 - 1], rate=rate) == 1


@pytest.mark.parametrize("choose", [permute_and_flip, exponential_weights])
def test_however_flat_the_rate_someone_wins(choose):
    assert choose(scores=[0, 2**62, 5], rate="1e-4000") in range(3)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_count_of_zero_draws_nothing(law):
    assert law.sample(0, NOTHING).tolist() == []


def test_a_tail_beyond_all_floats_has_a_logarithm_to_show():
    assert LAW.log_survival(10**400) == -math.inf
