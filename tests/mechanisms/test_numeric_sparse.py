"""NumericSparse: fresh noise for the numbers, and the price of both parts."""

import itertools
from fractions import Fraction

import pytest

from discreet.errors import WrongKind
from discreet.loss import Pure
from discreet.mechanisms.sparse_vector import NumericSparse, Sparse
from tests.twins.sparse_vector import neighbors, worst

WINDOW = range(-2, 3)


def outcomes(plan, count):
    """Yield the outcomes of a stream whose numbers are in a window."""
    for pattern in plan._comparison().patterns(count):
        yield from itertools.product(*(WINDOW if above else (None,) for above in pattern))


@pytest.mark.theorem("numeric-sparse")
@pytest.mark.parametrize("answers", [1, 2, 40])
@pytest.mark.parametrize("share", ["1/9", 0.5])
def test_both_parts_add_up_to_epsilon_exactly(answers, share):
    plan = NumericSparse(threshold=0, answers=answers, epsilon="0.7", share=share, sensitivity=3)
    comparing = 3 / plan.threshold_noise.scale + 2 * answers * 3 / plan.query_noise.scale
    assert comparing + answers * 3 / plan.answer_noise.scale == Fraction(7, 10)
    assert plan.loss(distance=2) == Pure(epsilon=Fraction(14, 10))


def test_belows_say_nothing_and_aboves_say_a_number():
    plan = NumericSparse(threshold=0, answers=2, epsilon=1)
    first, second, third = plan.run([-(10**6), 10**6, 2 * 10**6, 0])
    assert first is None
    assert abs(second - 10**6) < 10**4
    assert abs(third - 2 * 10**6) < 10**4


def test_the_comparisons_are_those_of_sparse_at_their_part_of_epsilon():
    plan = NumericSparse(threshold=0, answers=2, epsilon=9)
    part = Sparse(threshold=0, answers=2, epsilon=8)
    assert plan._comparison() == part._comparison()


@pytest.mark.theorem("numeric-sparse")
@pytest.mark.parametrize("answers", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_outcome_on_any_neighbors_exceeds_epsilon(answers, monotone):
    plan = NumericSparse(threshold=0, answers=answers, epsilon=2, share="1/2", monotone=monotone)

    def law(stream):
        chance = plan.reference_pmf(stream)
        return {outcome: chance(outcome) for outcome in outcomes(plan, len(stream))}

    assert worst(law, neighbors(2, (-1, 0, 1), monotone=monotone)).at_most <= 2


@pytest.mark.theorem("numeric-sparse")
def test_the_loss_is_tight_in_the_limit_of_many_belows():
    plan = NumericSparse(threshold=-40, answers=1, epsilon=3, share="1/3")
    outcome = (None,) * 40 + (1,)
    pair = (0,) * 40 + (1,), (1,) * 40 + (0,)
    found = worst(lambda stream: {outcome: plan.reference_pmf(stream)(outcome)}, [pair])
    assert 2.999 < found.at_least <= found.at_most <= 3


def test_the_chances_add_up():
    plan = NumericSparse(threshold=0, answers=1, epsilon=30, share="1/2")
    chance = plan.reference_pmf([0, 1])
    found = [chance((None, None))]
    found += [chance((number,)) for number in range(-12, 13)]
    found += [chance((None, number)) for number in range(-11, 14)]
    assert 1 - Fraction(1, 2**60) < sum(part.low for part in found) <= 1
    assert sum(part.high for part in found) < 1 + Fraction(1, 2**60)


@pytest.mark.parametrize("outcome", [(None,), (3, 3), (None, None, None), (None, 1, 1), ()])
def test_an_impossible_outcome_is_refused(outcome):
    with pytest.raises(WrongKind):
        NumericSparse(threshold=0, answers=1, epsilon=1).reference_pmf([0, 1])(outcome)


def test_the_error_covers_the_numbers():
    numeric = NumericSparse(threshold=0, answers=3, epsilon=1, share="1/9")
    comparing = Sparse(threshold=0, answers=3, epsilon="8/9")
    wide = numeric.error(confidence=0.9, queries=5)
    assert wide > comparing.error(confidence=0.9, queries=5)
    right = 1 - 2 * numeric.answer_noise.survival_bounds(wide).high
    assert right**3 >= Fraction(9, 10)
