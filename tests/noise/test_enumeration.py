from fractions import Fraction

import pytest

from discreet.attacks import ReplayEntropy, exact_law
from discreet.errors import EntropyExhausted, OutOfRange


def test_replay_serves_what_was_recorded_and_no_more():
    replay = ReplayEntropy([3, 200, 1])
    assert replay.bits(2) == 3
    assert replay.words(1, 8).tolist() == [200]
    assert replay.bits(0) == 0
    assert replay.bits(1) == 1
    with pytest.raises(EntropyExhausted):
        replay.bits(1)


def test_replay_refuses_words_of_another_width():
    with pytest.raises(OutOfRange):
        ReplayEntropy([4]).bits(2)


def test_two_dice():
    def program(entropy):
        while True:
            die = entropy.bits(3)
            if die < 6:
                return die

    law = exact_law(program, unexplored=Fraction(1, 2**20))
    assert law.unexplored <= Fraction(1, 2**20)
    for face in range(6):
        assert law.mass[face] <= Fraction(1, 6) <= law.mass[face] + law.unexplored


def test_a_fair_coin_is_explored_completely():
    law = exact_law(lambda entropy: entropy.bits(1))
    assert law.unexplored == 0
    assert law.mass == {0: Fraction(1, 2), 1: Fraction(1, 2)}


def test_the_number_of_runs_is_bounded():
    law = exact_law(lambda entropy: [entropy.bits(1) for _ in range(60)] and 0, max_runs=50)
    assert law.unexplored == 1


def test_words_too_wide_to_enumerate_are_refused():
    with pytest.raises(OutOfRange):
        exact_law(lambda entropy: entropy.bits(64))
