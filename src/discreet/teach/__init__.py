"""Teach: the gallery's exercises and their referees, a quiz, puzzles, and pages to take along.

Trust: public.

>>> import discreet as dp
>>> print(dp.teach.check("L5", 180_000))
right: that is the number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.teach import gallery_pages, terminal
    from discreet.teach.book import check, exercises, solution
    from discreet.teach.checkpoint import QuizQuestion, quiz
    from discreet.teach.exercise import Exercise, Verdict
    from discreet.teach.notebooks import write_notebooks
    from discreet.teach.puzzle_game import Puzzle, puzzle, puzzles

__all__ = [
    "Exercise",
    "Puzzle",
    "QuizQuestion",
    "Verdict",
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

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "book": ("check", "exercises", "solution"),
            "exercise": ("Exercise", "Verdict"),
            "notebooks": ("write_notebooks",),
            "puzzle_game": ("Puzzle", "puzzle", "puzzles"),
            "checkpoint": ("QuizQuestion", "quiz"),
        },
        rooms=("gallery_pages", "terminal"),
    )
