"""``discreet learn``: the course in the terminal, as notebooks, with puzzles and a quiz.

Trust: public.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from discreet import teach  # whose names are loaded when a command first needs them
from discreet.cli.exit_codes import errors_reported
from discreet.errors import WrongKind

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
    str | None, typer.Option("--answer", help="An answer to it; its solution is told without.")
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
) -> None:
    """Learn differential privacy: pages that run, exercises with a referee, puzzles, a quiz."""
    with errors_reported():
        if notebooks is not None:
            made = teach.write_notebooks(notebooks)
            sys.stdout.write(f"{len(made)} notebooks in {notebooks}\n")
        elif pictures is not None:
            _write(pictures, teach.gallery_pages.moving_page())
            sys.stdout.write(f"open {pictures} in a browser\n")
        elif quiz:
            _talk(teach.terminal.ask_quiz(sys.stdin))
        elif puzzle is not None:
            _talk(teach.terminal.play(puzzle, sys.stdin))
        elif exercise is not None:
            found = teach.solution(exercise) if answer is None else teach.check(exercise, answer)
            sys.stdout.write(f"{found}\n")
        elif page is not None:
            _show(teach.gallery_pages.text(page))
        else:
            sys.stdout.write(_contents())


def _contents() -> str:
    titles = teach.gallery_pages.titles()
    width = max(map(len, titles))
    pages = "\n".join(f"  {name:{width}}  {title}" for name, title in titles.items())
    names = ", ".join(teach.puzzles())
    return (
        f"Pages (discreet learn PAGE):\n{pages}\n\n"
        f"Puzzles (discreet learn --puzzle NAME): {names}\n"
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
