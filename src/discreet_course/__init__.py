"""The course: the gallery's exercises and their referees, a quiz, puzzles, and notebooks.

>>> import discreet_course as course
>>> print(course.check("L5", 180_000))
right: that is the number.
"""

from __future__ import annotations

from discreet_course import gallery_pages, terminal
from discreet_course.book import answer_key, check, exercises, solution
from discreet_course.checkpoint import QuizQuestion, quiz
from discreet_course.exercise import Exercise, Verdict
from discreet_course.notebooks import write_notebooks
from discreet_course.puzzle_game import Puzzle, puzzle, puzzles

__all__ = [
    "Exercise",
    "Puzzle",
    "QuizQuestion",
    "Verdict",
    "answer_key",
    "check",
    "exercises",
    "gallery_pages",
    "puzzle",
    "puzzles",
    "quiz",
    "solution",
    "terminal",
    "write_notebooks",
]
