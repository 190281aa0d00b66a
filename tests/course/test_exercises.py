"""Every exercise: its model answer is right, slips are not, and the solution is not told."""

import math
import random
import re
import runpy
import time
from fractions import Fraction
from itertools import product

import pytest

import discreet_course as course
from discreet.errors import DiscreetError, UnknownName, WrongKind
from discreet.models import BetaBernoulli
from discreet_course import judges
from discreet_course.book import EXERCISES
from discreet_course.exercise import Verdict
from discreet_course.judges import Number, OneOf, PrivateProgram
from tests.house.pages import GALLERY, ROOT

written = runpy.run_path(str(ROOT / "docs" / "write_exercises.py"))["written"]
ALL = list(EXERCISES.values())
NUMBERS = [found for found in ALL if isinstance(found.judge, Number)]
CHOICES = [found for found in ALL if isinstance(found.judge, OneOf)]
PROGRAMS = [found for found in ALL if isinstance(found.judge, PrivateProgram)]


def key(exercise):
    return exercise.key


@pytest.mark.parametrize("exercise", ALL, ids=key)
def test_the_model_answer_is_right(exercise):
    verdict = course.check(exercise.key, exercise.judge.model())
    assert verdict.right, verdict.words
    assert bool(verdict)


@pytest.mark.parametrize("exercise", NUMBERS, ids=key)
def test_slips_and_other_numbers_are_wrong_and_the_number_is_not_told(exercise):
    wanted = float(exercise.judge.value())
    slips = exercise.judge.slips or {}
    assert slips
    for slip, words in slips.items():
        assert course.check(exercise.key, float(slip)) == Verdict(right=False, words=words)
    other = 7.25 if wanted == float("inf") else 1.2345 * wanted
    told = course.check(exercise.key, str(other))
    assert not told.right
    assert re.fullmatch(r"your number is too (large|small)\.", told.words)


@pytest.mark.parametrize("exercise", CHOICES, ids=key)
def test_every_wrong_choice_has_its_reason(exercise):
    for wrong, reason in exercise.judge.wrong.items():
        assert course.check(exercise.key, wrong) == Verdict(right=False, words=reason)
    with pytest.raises(WrongKind):
        course.check(exercise.key, "perhaps")


@pytest.mark.parametrize("exercise", PROGRAMS, ids=key)
def test_programs_that_leak_or_say_nothing_are_wrong(exercise):
    leak = course.check(exercise.key, lambda data, coins: data)
    assert not leak.right
    assert "loses inf" in leak.words
    constant = course.check(exercise.key, lambda data, coins: 7)
    assert not constant.right
    assert "it is private, but" in constant.words
    stopped = course.check(exercise.key, lambda data, coins: 1 // 0)
    assert "ZeroDivisionError" in stopped.words
    with pytest.raises(WrongKind):
        course.check(exercise.key, 3)


def test_a_program_is_judged_by_all_of_its_coins():
    """A leak with a chance of one in 4,096 is found, which no sample of a sane size would see."""

    def rare(bit, coins):
        return ("leak", bit) if coins.bits(12) == 0 else bit ^ (coins.bits(2) == 0)

    verdict = course.check("D3", rare)
    assert not verdict.right
    assert "loses inf" in verdict.words


def test_a_program_just_above_its_claim_is_refused():
    def close(bit, coins):
        return bit ^ (coins.bits(10) < 255)  # odds of 769 to 255, more than 3

    assert not course.check("D3", close).right
    assert course.check("D3", lambda bit, coins: bit ^ (coins.bits(10) < 256)).right


def redrawn(bit, coins):
    """A rejection loop, which has no end on some coins."""
    while (drawn := coins.bits(8)) >= 200:
        pass
    return bit ^ (drawn < 50)


def endless(bit, coins):
    while True:
        pass


@pytest.mark.parametrize("program", [redrawn, endless])
def test_a_program_without_an_end_is_told_so_in_time(program, monkeypatch):
    monkeypatch.setattr(judges, "SECONDS", 1)
    monkeypatch.setattr(judges, "RUNS", 5_000)
    begun = time.monotonic()
    verdict = course.check("D3", program)
    assert not verdict.right
    assert "draw a fixed number of bits" in verdict.words
    assert time.monotonic() - begun < 20


def test_a_program_that_draws_elsewhere_is_told_so_every_time():
    def elsewhere(bit, coins):
        return bit ^ (random.random() < 0.25)  # noqa: S311

    def half(bit, coins):
        return bit ^ (coins.bits(1) and random.random() < 0.5)  # noqa: S311

    for _ in range(8):
        for program in (elsewhere, half):
            verdict = course.check("D3", program)
            assert not verdict.right
            assert "same coins" in verdict.words


@pytest.mark.parametrize("answer", [math.inf, "inf", "∞", "Infinity", " inf "])
def test_infinity_is_a_number_where_it_is_right(answer):
    assert course.check("D4", answer).right
    assert not course.check("D1", answer).right


def test_the_answer_key_has_every_exercise():
    text = course.answer_key()
    assert all(f"**{each.key}.**" in text and each.solution in text for each in ALL)


@pytest.mark.parametrize("exercise", ALL, ids=key)
def test_a_solution_explains(exercise):
    assert len(course.solution(exercise.key)) > 15
    assert exercise.question.endswith(("?", ".", ")"))


def test_unknown_exercises_are_refused():
    for wrong in ("Z99", 3, None):
        with pytest.raises(UnknownName):
            course.check(wrong, 1)
    with pytest.raises(DiscreetError):
        course.check("L5", "many")


@pytest.mark.parametrize("page", sorted({found.page for found in ALL}))
def test_a_page_has_three_to_five_exercises_and_shows_them(page):
    assert 3 <= len(course.exercises(page)) <= 5
    text = (GALLERY / f"{page}.md").read_text(encoding="utf-8")
    assert written(text, page) == text, "run docs/write_exercises.py"


def test_tables_that_fit_ten_bits_differ_in_four_of_them_at_most():
    """Exercise F1, by all subsets of smaller tables: the bound is attained and never passed."""
    truth, most = (1, 1, 0, 0, 1, 0), 0
    subsets = [*product((0, 1), repeat=6)]
    for guess in product((0, 1), repeat=6):
        gaps = [
            sum(s * (a - b) for s, a, b in zip(chosen, truth, guess, strict=True))
            for chosen in subsets
        ]
        if max(map(abs, gaps)) <= 2:  # some answers with errors of at most 1 fit both
            most = max(most, sum(a != b for a, b in zip(truth, guess, strict=True)))
    assert most == course.exercises("attack-first")[0].judge.model() == 4


def test_fractions_and_text_are_numbers_too():
    assert course.check("D1", Fraction(1, 3)).right
    assert course.check("S2", "0.1").right


def test_a_count_below_zero_says_what_zero_says():
    """Exercise B2: the posterior of a Laplace count is the same from 0 down, and moves above."""
    at = {
        z: BetaBernoulli(people=30, released=z, epsilon="0.3").posterior.interval("0.9")
        for z in (-40, -4, 0, 1)
    }
    assert at[-4] == pytest.approx(at[0], rel=1e-12)
    assert at[-40] == pytest.approx(at[0], rel=1e-12)
    assert at[1][1] > at[0][1] + 1e-4
