"""The exercises of all pages, and what judges and explains them."""

from __future__ import annotations

import runpy
from typing import Any, Final

from discreet.errors import UnknownName, WrongKind
from discreet_course.exercise import Exercise, Verdict
from discreet_course.judges import OneOf, PrivateProgram
from discreet_course.topics import attacks, definitions, mechanisms, models, properties, streams

TOPICS: Final = (definitions, mechanisms, properties, streams, models, attacks)
EXERCISES: Final[dict[str, Exercise]] = {
    exercise.key: exercise for topic in TOPICS for exercise in topic.EXERCISES
}


def exercises(page: str | None = None) -> tuple[Exercise, ...]:
    """Return the exercises of a page of the gallery, or all.

    >>> [exercise.key for exercise in exercises("ten-rows")]
    ['X1', 'X2', 'X3']
    """
    return tuple(found for found in EXERCISES.values() if page in (None, found.page))


def check(key: str, answer: Any) -> Verdict:
    """Judge an answer to an exercise: a number, a choice, or a program.

    >>> check("L5", 200_000).right
    False
    >>> check("L5", 180_000)
    right: that is the number.
    """
    return _named(key).judge.verdict(answer)


def answer_key() -> str:
    """Return all exercises with their solutions, page by page, for teachers.

    >>> answer_key().startswith("# Answer key")
    True
    """
    lines, page = ["# Answer key"], ""
    for found in EXERCISES.values():
        if found.page != page:
            page = found.page
            lines.append(f"## {page}")
        lines.append(f"**{found.key}.** {found.question}")
        lines.append(found.solution)
    return "\n\n".join(lines) + "\n"


def question(key: str) -> str:
    """Return what an exercise asks, and how an answer is handed in.

    >>> question("L5").splitlines()[-1]
    'Answer: discreet learn --exercise L5 --answer ANSWER'
    """
    found = _named(key)
    if isinstance(found.judge, PrivateProgram):
        how = f"a Python file that defines program(data, entropy): --exercise {key} --answer my.py"
    elif isinstance(found.judge, OneOf):
        choices = " | ".join(sorted([found.judge.right, *found.judge.wrong]))
        how = f"discreet learn --exercise {key} --answer '{choices}'"
    else:
        how = f"discreet learn --exercise {key} --answer ANSWER"
    return f"{found.question}\nAnswer: {how}"


def check_text(key: str, text: str) -> Verdict:
    """Judge an answer of the command line: a number, a choice, or the name of a Python file.

    >>> check_text("D4", "inf").right
    True
    """
    if not isinstance(_named(key).judge, PrivateProgram):
        return check(key, text)
    try:
        program = runpy.run_path(text).get("program")
    except OSError:
        raise WrongKind(
            what=f"there is no Python file '{text}'.",
            why="this exercise is answered by a program.",
            do="write a file that defines program(data, entropy), and give its name.",
        ) from None
    except Exception as error:  # noqa: BLE001  a student's file may raise anything
        return Verdict(right=False, words=f"the file stopped with {type(error).__name__}: {error}")
    if program is None:
        return Verdict(right=False, words="the file defines no function named program.")
    return check(key, program)


def solution(key: str) -> str:
    """Explain the solution of an exercise.

    >>> solution("L5").startswith("A salary of 200 000")
    True
    """
    return _named(key).solution


def _named(key: str) -> Exercise:
    found = EXERCISES.get(key) if isinstance(key, str) else None
    if found is None:
        raise UnknownName(
            what="there is no such exercise.",
            why="each is known by a letter and a number.",
            do=f"give one of {', '.join(EXERCISES)}.",
        )
    return found
