"""Published tables: what they leave open, by enumeration; SQL conditions; and what is refused."""

import math
from itertools import product

import duckdb
import numpy as np
import pytest

from discreet.errors import OutOfRange, WrongKind
from discreet_course.reconstruction import fourier, linear, predicates, published, recovered
from discreet_course.reconstruction.curators import exactly
from discreet_course.reconstruction.published import Published, exact, known, rounded, suppressed
from tests.course.reconstruction.test_fourier import coins, fixed

PEOPLE = 8


def fitting(statements):
    """All tables of bits that fit."""
    tables = np.array(list(product((0, 1), repeat=statements.people)))
    sums = tables @ statements.weights.T
    inside = (sums >= statements.low - 1e-9) & (sums <= statements.high + 1e-9)
    return tables[inside.all(axis=1)]


def statements(seed, questions):
    """A secret, and statements of all three kinds about it."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, PEOPLE)
    sets = rng.integers(0, 2, (questions, PEOPLE))
    totals = sets @ bits
    small = totals < 3
    parts = []
    if small.any():
        parts.append(suppressed(sets[small], below=3))
    if (~small).any():
        parts.append(rounded(sets[~small], 2 * np.floor(totals[~small] / 2 + 0.5), base=2))
    parts.append(exact(np.ones((1, PEOPLE)), [bits.sum()]))
    together = parts[0]
    for part in parts[1:]:
        together = together.also(part)
    return bits, together


@pytest.mark.parametrize("seed", range(12))
def test_what_is_certain_is_true_of_all_tables_that_fit(seed):
    bits, said = statements(seed, questions=3 + seed)
    tables = fitting(said)
    assert bits.tolist() in tables.tolist()
    found = known(said, entropy=fixed(f"votes {seed}"))
    assert (found.low <= tables.min(axis=0) + 1e-6).all()
    assert (found.high >= tables.max(axis=0) - 1e-6).all()
    assert (found.guess[found.certain] == bits[found.certain]).all()
    assert (tables[:, found.certain] == bits[found.certain]).all()
    assert (found.confidence[found.certain] == 1).all()
    assert ((found.confidence >= 0.5) & (found.confidence <= 1)).all()


def test_ends_are_those_of_a_linear_program_by_hand():
    found = known(exact([[1, 1, 0], [0, 1, 1]], [1, 1]), entropy=fixed("hand"))
    assert found.low.tolist() == pytest.approx([0, 0, 0])
    assert found.high.tolist() == pytest.approx([1, 1, 1])
    assert not found.certain.any()
    wage = known(exact([[1, 1], [1, -1]], [70, 10]), secrets=(0, 100))
    assert wage.near.tolist() == pytest.approx([40, 30])
    assert wage.certain.all()
    near = known(rounded([[1, 0]], [40], base=10), secrets=(0, 100))
    assert (near.low[0], near.high[0]) == pytest.approx((35, 45))
    assert near.confidence.tolist() == pytest.approx([0.9, 0])


def test_suppression_gives_way_to_totals():
    """A table with margins: the cells that were hidden follow from the others."""
    cells = np.eye(4)
    shown = exact(cells[:1], [1]).also(suppressed(cells[1:2], below=5, least=1))
    margins = exact([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], [2, 1, 1])
    found = known(shown.also(margins))
    assert found.certain.all()
    assert found.guess.tolist() == [1, 1, 0, 1]


def test_votes_are_worth_what_they_say():
    """Over many secrets, guesses with few votes are wrong more often than those with many."""
    sure, unsure = [], []
    for seed in range(30):
        bits, said = statements(100 + seed, questions=4)
        found = known(said, entropy=fixed(f"worth {seed}"))
        right = found.guess == bits
        sure += right[found.confidence > 0.9].tolist()
        unsure += right[found.confidence < 0.7].tolist()
    assert np.mean(sure) > 0.85 > np.mean(unsure) > 0.4


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Published([[1, 1]], low=[2], high=[1]),
        lambda: rounded([[1]], [1], base=0),
        lambda: suppressed([[1]], below=math.inf),
        lambda: known(exact([[1]], [1]), secrets=(1, 0)),
        lambda: known(exact([[1], [1]], [0, 1])),
    ],
)
def test_what_no_table_fits_is_refused(wrong):
    with pytest.raises(OutOfRange):
        wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rounded([[1]], [1], base="5"),
        lambda: rounded([[1]], [1], base=None),
        lambda: suppressed([[1]], below=math.nan),
        lambda: suppressed([[1]], below=5, least="1"),
        lambda: known(exact([[1]], [1]), secrets=("0", "1")),
        lambda: known(exact([[1]], [1]), secrets=(1,)),
        lambda: known([[1]]),
        lambda: exact([[1]], [1]).also([[1]]),
        lambda: linear.least_squares([[1]], [1], secrets=(1,)),
        lambda: linear.linear_program([[1]], [1], secrets=(0, math.nan)),
        lambda: linear.linear_program([[1]], [1], gap="0.1"),
        lambda: linear.expected(3, questions=9, deviation=None),
    ],
)
def test_what_is_no_number_is_told_so(wrong):
    with pytest.raises(WrongKind):
        wrong()


@pytest.mark.parametrize("gap", [0, -1, math.inf])
def test_a_gap_that_no_sum_reaches_is_refused(gap):
    with pytest.raises(OutOfRange):
        linear.linear_program([[1]], [1], gap=gap)


# --- numbers, confidence and the gap ------------------------------------------------------------


@pytest.mark.parametrize("attack", [linear.least_squares, linear.linear_program])
def test_numbers_are_found_between_their_ends(attack):
    rng = np.random.default_rng(1)
    wages = rng.uniform(20, 90, 60)
    sets = linear.random_halves(60, questions=240, entropy=fixed("wages"))
    found = attack(sets, sets @ wages + rng.normal(scale=3, size=240), secrets=(20, 90))
    assert np.abs(found.near - wages).max() < 3
    assert np.mean(np.abs(found.free - wages) < 2 * found.deviation) > 0.85


@pytest.mark.parametrize("attack", [linear.least_squares, linear.linear_program])
@pytest.mark.parametrize("noise", [3.0, 6.0])
def test_confidence_is_close_to_the_share_that_is_right(attack, noise):
    rng = np.random.default_rng(5)
    right, said = [], []
    for turn in range(4):
        bits = coins(100, f"bits {turn}")
        sets = linear.random_halves(100, questions=300, entropy=fixed(f"sets {turn}"))
        found = attack(sets, sets @ bits + rng.normal(scale=noise, size=300))
        right += (found.guess == bits).tolist()
        said += found.confidence.tolist()
    assert abs(np.mean(right) - np.mean(said)) < 0.06
    sure = np.array(said) > np.median(said)
    assert np.mean(np.array(right)[sure]) >= np.mean(np.array(right)[~sure])


def structured():
    """110 people, and 400 conditions on two public columns each, with errors of at most 1."""
    rng = np.random.default_rng(5)
    columns = np.stack([rng.integers(0, size, 110) for size in (60, 5, 8, 2, 12)])
    rows = []
    for _ in range(400):
        a, b = rng.choice(5, 2, replace=False)
        low = columns[a] <= rng.choice(columns[a])
        rows.append((low & (columns[b] <= rng.choice(columns[b]))).astype(np.uint8))
    sets, bits = np.array(rows), rng.integers(0, 2, 110)
    return bits, sets, sets @ bits + rng.integers(-1, 2, 400)


def test_the_gap_is_fine_enough_to_miss_nobody_whom_the_optimum_finds():
    bits, sets, answers = structured()
    found = linear.linear_program(sets, answers)
    fine = linear.linear_program(sets, answers, gap=1e-4)
    coarse = linear.linear_program(sets, answers, gap=0.01)
    assert found.guess.tolist() == fine.guess.tolist()
    assert recovered(bits, coarse.guess) < recovered(bits, found.guess)


# --- from SQL to the matrix ---------------------------------------------------------------------


def test_conditions_on_public_columns_give_everybody_away():
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE people AS SELECT i AS id, (i * 37) % 41 AS age, (i * 11) % 7 AS zip, "
        "(i * i) % 5 < 2 AS ill FROM range(60) AS t(i)"
    )
    conditions = [f"age <= {age}" for age in range(41)]
    conditions += [
        f"zip = {zip_code} AND age <= {age}" for zip_code in range(7) for age in range(41)
    ]
    who = predicates.people(connection, table="people", name="id", conditions=conditions)
    truth = [
        bool(x) for (x,) in connection.execute("SELECT ill FROM people ORDER BY id").fetchall()
    ]
    asked = {"table": "people", "secret": "ill", "conditions": conditions}
    counts = predicates.asked(exactly(connection), **asked)
    assert counts.tolist() == (who.sets @ np.array(truth)).tolist()
    guess = linear.linear_program(who.sets, counts).guess
    assert who.guessed(guess) == dict(enumerate(map(int, truth)))
    found = known(exact(who.sets, counts), votes=1)
    assert found.certain.all()


def test_null_conditions_are_not_met_and_names_are_unique():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, NULL), (2, 5)) AS v(id, age)")
    found = predicates.people(connection, table="t", name="id", conditions=["age > 3"])
    assert found.sets.tolist() == [[0, 1]]
    with pytest.raises(WrongKind):
        found.guessed([1])
    for wrong in ([], "age > 3"):
        with pytest.raises(WrongKind):
            predicates.people(connection, table="t", name="id", conditions=wrong)
    connection.execute("INSERT INTO t VALUES (2, 9)")
    with pytest.raises(WrongKind):
        predicates.people(connection, table="t", name="id", conditions=["age > 3"])


# --- lists, NaN and lengths ---------------------------------------------------------------------

SETS = [[1, 0], [1, 1]]
ATTACKS = [linear.least_squares, linear.linear_program]


@pytest.mark.parametrize("attack", ATTACKS)
def test_lists_will_do(attack):
    assert attack(SETS, [1, 1]).guess.tolist() == [1, 0]


@pytest.mark.parametrize("attack", [*ATTACKS, published.exact])
@pytest.mark.parametrize(
    ("sets", "answers"),
    [
        (SETS, [1, math.nan]),
        (SETS, [1]),
        (SETS, [1, 2, 3]),
        (SETS, [[1, 2]]),
        ([1, 0], [1, 2]),
        ([[1, math.nan], [1, 1]], [1, 2]),
        ([[1, 0], [1]], [1, 2]),
        (SETS, ["1", "x"]),
        ([], []),
        (None, [1]),
    ],
)
def test_nan_and_wrong_lengths_are_refused(attack, sets, answers):
    with pytest.raises(WrongKind):
        attack(sets, answers)


@pytest.mark.parametrize("answers", [[1.0] * 3, [1.0, math.nan, 1.0, 1.0], [1.0] * 8])
def test_the_fourier_attack_needs_an_answer_to_every_question(answers):
    with pytest.raises(WrongKind):
        fourier.guess(answers, people=4)


def test_guesses_are_as_many_as_people():
    with pytest.raises(OutOfRange):
        recovered([1, 0], [1])
    with pytest.raises(OutOfRange):
        linear.least_squares(SETS, [1, 1], secrets=(0, math.inf))


@pytest.mark.parametrize("attack", [linear.least_squares, linear.linear_program])
def test_people_whom_no_question_tells_apart_are_guessed_without_confidence(attack):
    """Exact answers, two people in the same sets: nobody knows which of them it is."""
    sets = np.array([[age <= at for age in (20, 31, 31, 45, 60)] for at in (20, 31, 45, 60)])
    found = attack(sets, sets @ np.array([1, 0, 1, 1, 0]))
    assert found.confidence[[1, 2]].tolist() == [0.5, 0.5]
    assert found.deviation[[1, 2]].tolist() == [math.inf, math.inf]
    assert found.confidence[[0, 3, 4]].min() > 0.999
    assert found.guess[[0, 3, 4]].tolist() == [1, 1, 0]
    assert found.gap <= 0.001
