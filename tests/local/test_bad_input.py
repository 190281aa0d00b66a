"""Randomizers refuse what is no parameter, no code and no row, before a word is drawn."""

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.local import Direct, Domain, Hadamard, Hashing, Subset, Unary, choose, randomizer_of

KINDS = [Direct, Unary, Subset, Hadamard, Hashing]


class Silent:
    """Entropy that must not be asked."""

    def words(self, count, width):
        raise AssertionError("a word was drawn")

    bits = words


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0, "1e-7", -1, "zero", float("nan"), None, 101, [1]])
def test_epsilons_that_promise_nothing(kind, epsilon):
    with pytest.raises(DiscreetError):
        kind(epsilon=epsilon, values=4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.000001", 100])
def test_the_smallest_and_largest_epsilon_work(kind, epsilon):
    randomizer = kind(epsilon=epsilon, values=4)
    reports = randomizer.run_each(np.array([0, 1, 2, 3]))
    assert len(randomizer.supports(randomizer.tally(reports))) == 4
    assert 0 < randomizer.variance().low < 10**14
    price = randomizer.loss().epsilon(delta=0)
    assert price == pytest.approx(float(randomizer.epsilon), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [1, 0, -3, 2.0, "4", None, True, 2**49])
def test_numbers_of_values_that_hide_nothing(kind, values):
    with pytest.raises(DiscreetError):
        kind(epsilon=1, values=values)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_outside_the_domain(kind):
    randomizer = kind(epsilon=1, values=4)
    for codes in (
        np.array([0, 4]),
        np.array([-1]),
        np.array([0.0]),
        np.array([[1]]),
        [1, 2],
        np.array([True]),
        np.array(["a"]),
        None,
    ):
        with pytest.raises(DiscreetError) as refusal:
            randomizer.run_each(codes, entropy=Silent())
        assert "4" not in str(refusal.value)
    for value in (4, -1, 1.0, "1", None, True):
        with pytest.raises(DiscreetError):
            randomizer.run(value, entropy=Silent())
        with pytest.raises(DiscreetError):
            randomizer.reference_pmf(value)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_reports(kind):
    randomizer = kind(epsilon=1, values=4)
    reports = randomizer.run_each(np.array([], np.int64))
    assert len(reports) == 0
    assert randomizer.supports(randomizer.tally(reports)).tolist() == [0, 0, 0, 0]
    assert len(randomizer.pack(reports)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_no_bytes(kind):
    randomizer = kind(epsilon=1, values=40)
    size = randomizer.report_bytes
    for rows in (b"\0", np.zeros((2, size + 1), np.uint8), np.zeros((2, size), np.int64), None):
        with pytest.raises(DiscreetError):
            randomizer.unpack(rows)


def test_parameters_of_their_own():
    wrong = [
        lambda: Unary(epsilon=1, values=4, coding="other"),
        lambda: Subset(epsilon=1, values=4, size=0),
        lambda: Subset(epsilon=1, values=4, size=4),
        lambda: Hashing(epsilon=1, values=4, cells=1),
        lambda: Hashing(epsilon=1, values=4, pool=-1),
        lambda: Hashing(epsilon=1, values=2**40),  # a seed of its own would be too long
        lambda: Hashing(epsilon=1, values=4).supports_of(np.zeros(4, np.int64), np.array([1])),
        lambda: Hashing(epsilon=1, values=4, pool=2).floor(["a"]),
        lambda: Direct(epsilon=1, values=4).variance(2),
        lambda: Direct(epsilon=1, values=4).variance("a"),
        lambda: choose(1, epsilon=1),
        lambda: choose("four", epsilon=1),
        lambda: choose(Domain(["a", "b"]), epsilon=0),
        lambda: choose(4, epsilon=1, wire=0),
        lambda: choose(4, epsilon=1, people=0),
        lambda: choose(2**20, epsilon=1, wire=2),
    ]
    for make in wrong:
        with pytest.raises(DiscreetError):
            make()


@pytest.mark.parametrize(
    "description",
    [
        None,
        [],
        {},
        {"name": "direct"},
        {"name": "other", "epsilon": "1", "values": 4},
        {"name": "direct", "epsilon": 1, "values": 4},
        {"name": "direct", "epsilon": 1.0, "values": 4},
        {"name": "direct", "epsilon": "1.0", "values": 4},  # another spelling of 1
        {"name": "direct", "epsilon": "1", "values": 4, "more": 1},
        {"name": "subset", "epsilon": "1", "values": 4},  # its size is not said
        {"name": "direct", "epsilon": "1", "values": "4"},
        {"name": ["direct"], "epsilon": "1", "values": 4},
    ],
)
def test_descriptions_that_describe_nothing(description):
    with pytest.raises(DiscreetError):
        randomizer_of(description)
