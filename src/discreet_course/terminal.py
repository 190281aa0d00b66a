"""A puzzle and the quiz in a terminal: one line in, one line out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from discreet.errors import DiscreetError
from discreet_course.checkpoint import QUIZ
from discreet_course.puzzle_game import Puzzle, puzzle


def _help(game: Puzzle) -> str:
    """Say what can be typed; which tables are neighbors is part of the puzzle."""
    table = json.dumps(list(game.example), separators=(",", ":"))
    return (
        f"A TABLE is written like {table}.\n"
        "draw TABLE          one answer on a table\n"
        "audit TABLE TABLE   a lower bound from 2,000 answers on each\n"
        "refute TABLE TABLE  two neighbors on which the claim fails\n"
        "keeps               the claim holds\n"
        "hint                costs 20 points\n"
        "quit"
    )


def play(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield what a puzzle says to each line, until it is solved.

    >>> [*play("no-data", ["refute [] [1]"])][-1]
    'right: it loses inf, and claims 0.6931. Score: 100.'
    """
    game = puzzle(name)
    yield f"{game.story}\n\n{_help(game)}"
    for line in lines:
        if line.strip() in {"quit", "exit"}:
            return
        yield _answered(game, line)
        if game.solved:
            return


def _answered(game: Puzzle, line: str) -> str:  # noqa: PLR0911  one for each command
    command, _, rest = line.strip().partition(" ")
    try:
        tables = _tables(rest)
        match command, len(tables):
            case "draw", 1:
                return str(game.draw(tables[0]))
            case "audit", 2:
                return str(game.estimate(*tables))
            case "refute", 2:
                return f"{game.refute(*tables)} Score: {game.score}."
            case "keeps", 0:
                return f"{game.keeps()} Score: {game.score}."
            case "hint", 0:
                return game.hint()
            case _:
                return _help(game)
    except DiscreetError as error:
        return error.what
    except ValueError:
        return f"that is no table.\n{_help(game)}"


def _tables(words: str) -> list[Any]:
    decoder, tables, rest = json.JSONDecoder(), [], words.strip()
    while rest:
        table, end = decoder.raw_decode(rest)
        tables.append(table)
        rest = rest[end:].strip()
    return tables


def ask_quiz(lines: Iterable[str]) -> Iterator[str]:
    """Yield the questions of the checkpoint and the reply to each choice.

    >>> [*ask_quiz(["9", "1"])][1]
    'give the number of a choice.'
    """
    given, right = iter(lines), 0
    for number, question in enumerate(QUIZ, 1):
        listed = "\n".join(f"  {n}  {words}" for n, words in enumerate(question.choices, 1))
        yield f"{number} of {len(QUIZ)}. {question.question}\n{listed}"
        for line in given:
            if line.strip().isdecimal() and 1 <= int(line) <= len(question.choices):
                verdict = question.answer(question.choices[int(line) - 1])
                right += verdict.right
                yield str(verdict)
                break
            yield "give the number of a choice."
        else:
            return
    yield f"{right} of {len(QUIZ)} at the first try."
