"""Randomizers of numbers: the contract, exact variances, and the figures that they are known by."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError, OutOfRange, WrongKind
from discreet.local import (
    Direct,
    Record,
    TwoPoint,
    Unary,
    WindowResponse,
)
from tests.local import contract
from tests.local.contract import Broken, Mutant, RandomizerCase
from tests.noise.laws import WrongLaw, stream


def case(name, make, mutants=(2, "0.5"), **more):
    """Return a randomizer of few points, and the same with less and with more noise."""
    right = make(1)
    levels, points = right.levels(), right.points()
    return RandomizerCase(
        name,
        right,
        *(make(epsilon) for epsilon in mutants),
        estimate=lambda report: [levels[report]],
        truth=lambda code: [points[code]],
        **more,
    )


def window(epsilon):
    return WindowResponse(epsilon=epsilon, values=4, width=2, upper=(1, 5))


CASES = [
    case("two points", lambda epsilon: TwoPoint(epsilon=epsilon)),
    case("window", window, unexplored=Fraction(1, 10)),
    case(
        "wide window",
        lambda epsilon: WindowResponse.linear(epsilon=epsilon, values=3, width=4),
        mutants=(4, "0.1"),
        unexplored=Fraction(1, 10),
    ),
]
RECORD = RandomizerCase(
    "record",
    *(
        Record(parts=[Direct(epsilon=epsilon, values=2), TwoPoint(epsilon=epsilon)])
        for epsilon in (1, 2, "0.5")
    ),
)
every_case = pytest.mark.parametrize("case", [*CASES, RECORD], ids=str)
every_number = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.mark.theorem("window-response")
@every_case
def test_every_word_leads_to_the_claimed_law(case):
    contract.check_law(case, case.randomizer)


@pytest.mark.theorem("window-response")
@pytest.mark.theorem("sampled-attribute")
@every_case
def test_no_report_tells_more_than_epsilon_and_the_loss_is_tight(case):
    contract.check_privacy(case, case.randomizer)


@pytest.mark.theorem("window-response")
@pytest.mark.theorem("number-estimate")
@every_number
def test_levels_are_unbiased_and_vary_as_claimed(case):
    contract.check_unbiased(case, case.randomizer)
    randomizer = case.randomizer
    levels = randomizer.levels()
    for code, point in enumerate(randomizer.points()):
        law = randomizer.law(code)
        square = sum(p * y * y for p, y in zip(law, levels, strict=True))
        assert sum(law) == 1
        assert randomizer.variance(point).low == square - point**2


@every_case
def test_words_tallies_bytes_and_descriptions(case):
    contract.check_words(case, case.randomizer)
    contract.check_tally(case, case.randomizer)
    contract.check_bytes(case, case.randomizer)
    contract.check_described(case, case.randomizer)


@every_number
def test_mutants_are_caught(case):
    for wrong in (case.less, case.more):
        if case is not CASES[-1]:  # which takes long, and is made of the others
            with pytest.raises(WrongLaw):
                contract.check_law(case, Mutant(case.randomizer, wrong))
        with pytest.raises(Broken):
            contract.check_unbiased(case, Mutant(case.randomizer, wrong))
    with pytest.raises(Broken):
        contract.check_privacy(case, Mutant(case.randomizer, case.less))


# --- accuracy ---------------------------------------------------------------------------------


def test_the_worst_number_is_the_worst_of_many():
    for randomizer in (WindowResponse.minimax(epsilon=4, outcomes=8), TwoPoint(epsilon=1)):
        numbers = [Fraction(step, 200) for step in range(-200, 201)]
        worst = max(randomizer.variance(number).low for number in numbers)
        assert worst <= randomizer.variance().low <= worst * Fraction(1001, 1000)


def test_error_is_the_distance_that_is_kept_with_the_stated_chance():
    randomizer = window(1)
    reach = randomizer.error(confidence="0.6")
    for code, point in enumerate(randomizer.points()):
        near = [abs(level - point) <= reach for level in randomizer.levels()]
        chance = sum(p for p, inside in zip(randomizer.law(code), near, strict=True) if inside)
        assert chance >= Fraction(3, 5)


def test_the_mean_of_many_people_is_found():
    randomizer, people = WindowResponse.minimax(epsilon=1), 20_000
    codes = np.arange(people) % randomizer.values
    tally = randomizer.tally(randomizer.run_each(codes, entropy=stream("means")))
    points = np.array([float(point) for point in randomizer.points()])
    spread = math.sqrt(randomizer.variance().nearest() / people)
    assert abs(float(randomizer.mean(tally)) - points[codes].mean()) < 5 * spread
    sampled = float(randomizer.sample_variance(tally))
    truth = randomizer.variance().nearest() + points[codes].var()
    assert sampled == pytest.approx(truth, rel=0.05)


def test_bad_input_is_refused():
    for levels in ((1,), (5, 1, 0), "1 2 x", "1  2", (1, -2)):
        with pytest.raises(DiscreetError):
            WindowResponse(epsilon=1, values=4, width=1, upper=levels)
    with pytest.raises(OutOfRange):
        WindowResponse(epsilon=1, values=4, width=1, upper=(0, 0))  # points that do not rise
    with pytest.raises(OutOfRange):
        TwoPoint(epsilon=1, values=3)
    for epsilon in (0, -1, "x", 101, None):
        with pytest.raises(DiscreetError):
            WindowResponse.minimax(epsilon=epsilon)
    with pytest.raises(OutOfRange):
        window(1).variance(2)
    for tally in (np.zeros(5, np.int64), np.zeros(3, np.int64)):
        with pytest.raises(OutOfRange):
            window(1).mean(tally)
    with pytest.raises(OutOfRange):
        window(1).sample_variance(np.array([0, 1, 0, 0, 0]))
    with pytest.raises(OutOfRange):
        window(1).run_each(np.array([4]))


# --- several attributes -----------------------------------------------------------------------


def test_a_record_samples_people_and_splits_no_epsilon():
    record = Record(
        parts=[Unary(epsilon=1, values=9), WindowResponse.minimax(epsilon=1, outcomes=16)]
    )
    columns = [np.arange(6000) % 9, np.arange(6000) % record.parts[1].values]
    codes = record.codes(columns)
    assert all(np.array_equal(a, b) for a, b in zip(record.split(codes), columns, strict=True))
    reports = record.run_each(codes, entropy=stream("records"))
    tally = record.tally(reports)
    people, shares = record.of_part(tally, 0)
    others, numbers = record.of_part(tally, 1)
    assert people + others == 6000
    assert abs(people - 3000) < 5 * math.sqrt(1500)
    p, q = (float(chance) for chance in record.parts[0].exact_chances())
    supports = record.parts[0].supports(shares)
    assert abs(supports - people * (p / 9 + q * 8 / 9)).max() < 6.5 * math.sqrt(people / 4)
    assert numbers.sum() == others
    assert abs(float(record.parts[1].mean(numbers))) < 5 * math.sqrt(4.1 / others)
    assert record.loss().epsilon(delta=0) == pytest.approx(1)


@pytest.mark.parametrize("turned", [1, -1])
def test_a_record_loses_what_its_most_talkative_part_does(turned):
    parts = [Direct(epsilon=1, values=3), Direct(epsilon=2, values=2)][::turned]
    record = Record(parts=parts)
    laws = [record.reference_pmf(code) for code in range(record.values)]
    ratio = max(
        one[report].high / other[report].low for one in laws for other in laws for report in one
    )
    assert record.epsilon == 2
    assert math.exp(1.99) < ratio <= Fraction(math.exp(2)) * (1 + Fraction(1, 10**9))
    assert record.loss().epsilon(0) == pytest.approx(2)


def test_records_that_make_no_sense_are_refused():
    for parts in ([], [1], "ab"):
        with pytest.raises(WrongKind):
            Record(parts=parts)
    with pytest.raises(OutOfRange):
        Record(parts=[Direct(epsilon=1, values=1 << 24)] * 3)
    record = RECORD.randomizer
    with pytest.raises(WrongKind):
        record.codes([np.array([0])])
    for row in ([2, 0], [0, 2], [255, 0]):
        assert not record.unpack(np.array([row], np.uint8))[1].any()
