"""``discreet learn``: the course in the terminal, as notebooks, with puzzles and a quiz.

Trust: public.  The course is a package of its own, ``discreet-course``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from discreet.cli.exit_codes import errors_reported
from discreet.errors import WrongKind

if TYPE_CHECKING:  # a package of its own, which need not be installed
    from types import ModuleType

PageArgument = Annotated[str | None, typer.Argument(help="A page of the gallery; lists without.")]
NotebooksOption = Annotated[
    Path | None, typer.Option("--notebooks", help="Write all pages as notebooks to a new folder.")
]
PicturesOption = Annotated[
    Path | None, typer.Option("--pictures", help="Write the pictures that move, as one page.")
]
QuizOption = Annotated[bool, typer.Option("--quiz", help="Take the checkpoint of the course.")]
PuzzleOption = Annotated[str | None, typer.Option("--puzzle", help="A mechanism to break.")]
ExerciseOption = Annotated[str | None, typer.Option("--exercise", help="An exercise, such as L5.")]
AnswerOption = Annotated[
    str | None,
    typer.Option("--answer", help="An answer to it: a number, a choice, or a Python file."),
]
SolutionOption = Annotated[bool, typer.Option("--solution", help="Explain the exercise.")]
KeyOption = Annotated[
    Path | None, typer.Option("--answer-key", help="Write all exercises with their solutions.")
]


def learn(  # noqa: PLR0913  one for each option
    page: PageArgument = None,
    *,
    notebooks: NotebooksOption = None,
    pictures: PicturesOption = None,
    quiz: QuizOption = False,
    puzzle: PuzzleOption = None,
    exercise: ExerciseOption = None,
    answer: AnswerOption = None,
    solution: SolutionOption = False,
    answer_key: KeyOption = None,
) -> None:
    """Learn differential privacy: pages that run, exercises with a referee, puzzles, a quiz."""
    with errors_reported():
        course = _course()
        if notebooks is not None:
            made = course.write_notebooks(notebooks)
            sys.stdout.write(f"{len(made)} notebooks in {notebooks}\n")
        elif pictures is not None:
            _write(pictures, course.gallery_pages.moving_page())
            sys.stdout.write(f"open {pictures} in a browser\n")
        elif answer_key is not None:
            _write(answer_key, course.answer_key())
        elif quiz:
            _talk(course.terminal.ask_quiz(sys.stdin))
        elif puzzle is not None:
            _talk(course.terminal.play(puzzle, sys.stdin))
        elif exercise is not None:
            sys.stdout.write(f"{_exercise(course, exercise, answer, explain=solution)}\n")
        elif page is not None:
            _show(course.gallery_pages.terminal_text(page))
        else:
            sys.stdout.write(_contents(course))


def _course() -> ModuleType:
    """Load the course."""
    try:
        return importlib.import_module("discreet_course")
    except ModuleNotFoundError as error:
        if error.name != "discreet_course":
            raise
        raise WrongKind(
            what="the course is not installed.",
            why="its pages, exercises and puzzles are a package of their own.",
            do="pip install discreet-course",
        ) from None


def _exercise(course: ModuleType, key: str, answer: str | None, *, explain: bool) -> object:
    if explain:
        return course.solution(key)
    return course.book.question(key) if answer is None else course.book.check_text(key, answer)


def _contents(course: ModuleType) -> str:
    titles = course.gallery_pages.titles()
    width = max(map(len, titles))
    keys = {name: " ".join(each.key for each in course.exercises(name)) for name in titles}
    pages = "\n".join(
        f"  {name:{width}}  {title}" + (f" ({keys[name]})" if keys[name] else "")
        for name, title in titles.items()
    )
    return (
        f"Pages, with their exercises (discreet learn PAGE):\n{pages}\n\n"
        "An exercise: discreet learn --exercise L5; --answer ANSWER, or --solution.\n"
        f"Puzzles (discreet learn --puzzle NAME): {', '.join(course.puzzles())}\n"
        "A quiz: discreet learn --quiz. Notebooks: discreet learn --notebooks FOLDER.\n"
    )


def _show(source: str) -> None:
    from rich.markdown import Markdown  # noqa: PLC0415  slow to load, and shows pages alone

    Console(file=sys.stdout).print(Markdown(source))


def _talk(said: Iterable[str]) -> None:
    for words in said:
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()


def _write(path: Path, words: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(words)
    except OSError:
        raise WrongKind(
            what=f"the page '{path}' cannot be written, or something is there already.",
            why="nothing that exists is overwritten.",
            do="name a new file in a folder that exists.",
        ) from None
