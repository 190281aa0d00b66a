"""The quiz and the puzzles: right and wrong answers, scores, hints, and a terminal."""

import json
import math
import re
from fractions import Fraction

import pytest

import discreet_course as course
from discreet.attacks import exact_law
from discreet.errors import OutOfRange, UnknownName, WrongKind
from discreet_course.puzzle_game import _SHEETS
from discreet_course.terminal import ask_quiz, play

NAMES = course.puzzles()
FAULTY = [name for name in NAMES if name != "honest"]


@pytest.mark.parametrize("question", course.quiz(), ids=lambda question: question.question[:30])
def test_each_wrong_choice_has_a_reason_of_its_own(question):
    assert question.answer(question.right).right
    reasons = [question.answer(choice) for choice in question.wrong]
    assert not any(reasons)
    assert len({verdict.words for verdict in reasons}) == len(question.wrong) >= 2
    assert sorted([question.right, *question.wrong]) == list(question.choices)


def test_questions_are_counted_from_one():
    assert course.quiz(1) == course.quiz()[0]
    with pytest.raises(OutOfRange):
        course.quiz(0)


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_refuted_by_some_pair_and_denied_by_none(name):
    here, there = next(iter(_SHEETS[name].refutations()))
    game = course.puzzle(name)
    wrong = game.keeps()
    assert not wrong.right
    assert game.score == 90
    assert game.refute(here, there).right
    assert game.solved
    game.hint()
    assert game.score == 90  # what comes after costs nothing


@pytest.mark.parametrize("name", NAMES)
def test_laws_add_up_and_draws_follow_them(name):
    sheet, game = _SHEETS[name], course.puzzle(name)
    assert all(sum(sheet.law(table).values()) == 1 for table in sheet.tables)
    table = sheet.tables[1]
    found = exact_law(lambda coins: game.draw(table, entropy=coins), unexplored=Fraction(1, 16))
    for output, chance in sheet.law(table).items():
        assert found.mass.get(output, 0) <= chance <= found.mass.get(output, 0) + found.unexplored


def test_the_honest_one_keeps_its_promise_exactly():
    sheet, game = _SHEETS["honest"], course.puzzle("honest")
    assert not game.refute((0, 0, 0), (0, 0, 1)).right
    assert game.keeps().right
    worst = max(
        sheet.loss((here, there))
        for here in sheet.tables
        for there in sheet.tables
        if sheet.neighbors(here, there)
    )
    assert math.isclose(worst, math.log(2))


def test_pairs_that_are_no_neighbors_cost_points_and_bad_tables_do_not():
    game = course.puzzle("short-noise")
    assert not game.refute((0, 0, 0), (1, 1, 1)).right
    assert game.score == 90
    for bad in ("010", (1, 2.5), (9,), (0,) * 7):
        with pytest.raises(WrongKind):
            game.refute(bad, (0, 0, 0))
    assert game.score == 90
    with pytest.raises(UnknownName):
        course.puzzle("nobody")


def test_hints_cost_twenty_each_and_the_last_is_repeated():
    game = course.puzzle("no-data")
    told = [game.hint() for _ in range(4)]
    assert len(set(told)) == 2
    assert game.score == 60


def test_the_audit_sees_a_fault_from_answers_alone():
    game = course.puzzle("no-data")
    assert game.estimate((), (1,)).violates
    assert not course.puzzle("honest").estimate((0, 0, 0), (0, 0, 1)).violates


def test_a_puzzle_in_the_terminal():
    lines = [
        "draw [1]",
        "what",
        "refute x y",
        "hint",
        "refute [1] [1,0]",
        "refute [] [1]",
    ]
    said = [*play("no-data", lines)]
    assert len(said) == 7  # it ends when it is solved
    assert said[-1].endswith("Score: 70.")
    assert [*play("no-data", ["quit", "keeps"])][1:] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_puzzle_shows_one_table_that_it_takes(name):
    said = next(iter(play(name, [])))
    (shown,) = re.findall(r"\[[\d,]*\]", said.partition("A TABLE")[2])
    assert tuple(json.loads(shown)) in _SHEETS[name].tables
    assert course.puzzle(name).draw(json.loads(shown)) is not None


@pytest.mark.parametrize("words", ["smaller ε", "more noise", "very large amount", "How much"])
def test_the_checkpoint_of_the_course_is_in_the_quiz(words):
    assert any(words in question.question for question in course.quiz())


def test_the_quiz_in_the_terminal():
    right = [str(question.choices.index(question.right) + 1) for question in course.quiz()]
    said = [*ask_quiz(["x", *right])]
    assert said[1] == "give the number of a choice."
    assert said[-1].startswith(f"{len(right)} of {len(right)}")
