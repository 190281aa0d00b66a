"""What cannot be used is refused by the right error, in three sentences, before a bit is drawn."""

import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.errors import DiscreetError, NotExact, OutOfRange, TooLarge, WrongKind
from discreet.noise import (
    Bernoulli,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    DyadicGrid,
    ExpNeg,
    Geometric,
    KeyedEntropy,
    Logistic,
    Ratio,
    ReplayEntropy,
    SystemEntropy,
    Uniform,
    exact_law,
    exponential_weights,
    permute_and_flip,
)
from tests.conftest import steady_text

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
    for sentence in (caught.value.what, caught.value.why, caught.value.do):
        assert sentence.strip().endswith(".")
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
    "ExpNeg": (ExpNeg, NEGATIVE),
    "Geometric": (lambda x: Geometric(scale=x), NOT_POSITIVE + TOO_WIDE + TOO_NARROW),
    "Logistic": (Logistic, NEGATIVE),
    "Ratio": (Ratio, NOT_A_CHANCE),
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
    "Geometric": Geometric(scale=3),
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
    if name not in {"Categorical", "Uniform"}  # known exactly, whatever the precision
}
ASKED |= {
    f"{type(chance).__name__}.enclose": (chance.enclose, [(-1, OutOfRange), (-1000, OutOfRange)])
    for chance in (Ratio("1/3"), ExpNeg(1), Logistic(1))
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


def scores(values, error):
    for choose in (permute_and_flip, exponential_weights):
        call = functools.partial(choose, scores=values, rate=1, entropy=NOTHING)
        yield f"{choose.__name__}: {name_of(values)}", call, error


def weights(values, error):
    yield f"Categorical: {name_of(values)}", (lambda: Categorical(weights=values)), error


def to_grid(values, error):
    yield f"to_grid: {name_of(values)}", (lambda: GRID.to_grid(values)), error


def from_grid(values, error):
    yield f"from_grid: {name_of(values)}", (lambda: GRID.from_grid(values)), error


def keyed(key, label, error):
    yield (
        f"KeyedEntropy: {name_of(key)}, {name_of(label)}",
        (lambda: KeyedEntropy(key=key, label=label)),
        error,
    )


def words(count, width, error):
    for source in (SystemEntropy(), KeyedEntropy(key=KEY, label=""), ReplayEntropy([1] * 9)):
        yield (
            f"{type(source).__name__}.words: {name_of(count)}, {name_of(width)}",
            (lambda source=source: source.words(count, width)),
            error,
        )


def bits(width, error):
    for source in (SystemEntropy(), KeyedEntropy(key=KEY, label=""), ReplayEntropy([1] * 9)):
        yield (
            f"{type(source).__name__}.bits: {name_of(width)}",
            (lambda source=source: source.bits(width)),
            error,
        )


def recorded(values, error):
    yield f"ReplayEntropy: {name_of(values)}", (lambda: ReplayEntropy(values).bits(3)), error


CASES = [
    # scores: a sequence of integers, or of fractions
    *scores([], OutOfRange),
    *scores((), OutOfRange),
    *scores(np.array([], np.int64), OutOfRange),
    *scores([1, 2.0], NotExact),
    *scores([1.0, 2.0], NotExact),
    *scores([math.nan, 1], NotExact),
    *scores([math.inf], NotExact),
    *scores([np.float64(1), np.float64(2)], NotExact),
    *scores(np.array([1.0, 2.0]), NotExact),
    *scores(np.array([1, 2], np.float32), NotExact),
    *scores(np.array([1, 2], np.float16), NotExact),
    *scores([1, Fraction(1, 2)], WrongKind),
    *scores([1, True], WrongKind),
    *scores([True, False], WrongKind),
    *scores([1, None], WrongKind),
    *scores([1, "2"], WrongKind),
    *scores(["1", "2"], WrongKind),
    *scores([Decimal(1), Decimal(2)], WrongKind),
    *scores([[1, 2], [3, 4]], WrongKind),
    *scores([[1, 2], [3]], WrongKind),
    *scores("12", WrongKind),
    *scores(b"12", WrongKind),
    *scores(5, WrongKind),
    *scores(None, WrongKind),
    *scores({1, 2}, WrongKind),
    *scores({1: 2}, WrongKind),
    *scores(np.array(5), WrongKind),
    *scores(np.array([[1, 2]]), WrongKind),
    *scores(np.array([[1, 2]], object), WrongKind),
    *scores(np.array([True, False]), WrongKind),
    *scores([2**63, 0], TooLarge),
    *scores([-(2**63) - 1, 0], TooLarge),
    *scores([INT64_MIN, INT64_MAX], TooLarge),
    *scores(np.array([INT64_MIN, INT64_MAX]), TooLarge),
    *scores(np.array([2**64 - 1, 0], np.uint64), TooLarge),
    *scores([Fraction(1, 10**30), Fraction(1, 3)], TooLarge),
    # a scale for each element: integers over a common denominator
    # weights of finitely many outcomes
    *weights([], OutOfRange),
    *weights([0, 0], OutOfRange),
    *weights([1, -1], OutOfRange),
    *weights(np.array([0.5, 0.5]), NotExact),
    *weights(np.array([[1, 2]]), WrongKind),
    *weights(np.array(5), WrongKind),
    *weights(5, WrongKind),
    *weights(None, WrongKind),
    *weights("12", WrongKind),
    *weights({1, 2}, WrongKind),
    *weights({0: 1}, WrongKind),
    # a grid for floats of 64 bits
    *to_grid(np.array([1.0], np.float32), NotExact),
    *to_grid(np.array([1.0], np.float16), NotExact),
    *to_grid([Fraction(1, 3), math.nan], NotExact),
    *to_grid([Fraction(1, 3), "1"], WrongKind),
    *to_grid(2**52, TooLarge),
    *to_grid([Fraction(2**53)], TooLarge),
    *to_grid([math.nan], OutOfRange),
    *to_grid([1.0, math.inf], OutOfRange),
    *to_grid(-math.inf, OutOfRange),
    *to_grid([2.0**52], TooLarge),
    *to_grid([-(2.0**53)], TooLarge),
    *to_grid([1.7e308], TooLarge),
    *to_grid(None, WrongKind),
    *to_grid("1.5", WrongKind),
    *to_grid([True], WrongKind),
    *to_grid([1j], WrongKind),
    *to_grid([[1.0], [2.0, 3.0]], WrongKind),
    *from_grid(None, WrongKind),
    *from_grid([1.5], WrongKind),
    *from_grid(np.array([1.0]), WrongKind),
    *from_grid([True], WrongKind),
    *from_grid("1", WrongKind),
    *from_grid([[1], [2, 3]], WrongKind),
    ("DyadicGrid.fine: tiny", lambda: DyadicGrid.fine(distance="1e-400"), OutOfRange),
    ("DyadicGrid.fine: huge", lambda: DyadicGrid.fine(distance="1e400"), OutOfRange),
    # keyed streams
    *keyed(b"", "label", OutOfRange),
    *keyed(bytes(31), "label", OutOfRange),
    *keyed(bytes(33), "label", OutOfRange),
    *keyed("k" * 32, "label", WrongKind),
    *keyed(bytearray(32), "label", WrongKind),
    *keyed(memoryview(KEY), "label", WrongKind),
    *keyed(np.zeros(32, np.uint8), "label", WrongKind),
    *keyed(32, "label", WrongKind),
    *keyed(None, "label", WrongKind),
    *keyed(KEY, None, WrongKind),
    *keyed(KEY, 5, WrongKind),
    *keyed(KEY, ("a", "b"), WrongKind),
    *keyed(KEY, bytearray(b"label"), WrongKind),
    *keyed(KEY, "\ud800", WrongKind),  # half a character has no spelling in bytes
    # words
    *words(-1, 8, OutOfRange),
    *words(2, -1, OutOfRange),
    *words(2, 65, OutOfRange),
    *words(1.5, 8, WrongKind),
    *words(2, 8.0, WrongKind),
    *words(None, 8, WrongKind),
    *words(2, "8", WrongKind),
    *bits(-1, OutOfRange),
    *bits(-8, OutOfRange),
    *bits(-1000, OutOfRange),
    *bits(1.5, WrongKind),
    *bits(None, WrongKind),
    *bits("8", WrongKind),
    *recorded(5, WrongKind),
    *recorded(None, WrongKind),
    *recorded([1.5], WrongKind),
    *recorded(["1"], WrongKind),
    *recorded([None], WrongKind),
    *recorded([-1], OutOfRange),
    *recorded([8], OutOfRange),
    # programs and tails
    ("exact_law: float", lambda: exact_law(lambda _: 0, unexplored=1e-9), NotExact),
    ("exact_law: negative", lambda: exact_law(lambda _: 0, unexplored=Fraction(-1)), OutOfRange),
    ("exact_law: no runs", lambda: exact_law(lambda _: 0, max_runs=-1), OutOfRange),
    ("exact_law: half a run", lambda: exact_law(lambda _: 0, max_runs=0.5), WrongKind),
    ("exact_law: no program", lambda: exact_law(None), WrongKind),
    ("exact_law: a wide word", lambda: exact_law(lambda e: e.bits(64)), OutOfRange),
    ("log_survival: beyond", lambda: LAWS["Uniform"].log_survival(5), OutOfRange),
    ("Bernoulli: words", lambda: Bernoulli(p="1/2", words="wide"), WrongKind),
]


@pytest.mark.parametrize(
    ("call", "error"),
    [pytest.param(call, error, id=steady_text(name)) for name, call, error in CASES],
)
def test_input_that_cannot_be_used_is_refused(call, error):
    refused(call, error)


def test_every_public_name_is_in_the_tables():
    shown = " ".join([*EXACT, *WHOLE, *ASKED, *(name for name, _, _ in CASES)])
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
    for confine in ():
        law = confine(LAW, low=kind(0), high=kind(100))
        assert law == confine(LAW, low=0, high=100)
        assert law.pmf_bounds(100) == confine(LAW, low=0, high=100).pmf_bounds(100)
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
