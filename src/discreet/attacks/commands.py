"""Auditing a program: each run of a command prints an answer.

Trust: public.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.attacks.subjects import Answers, Raised
from discreet.errors import WrongKind
from discreet.exact import whole

__all__ = ["Command"]

_PLACE: Final = "{data}"


@final
@dataclass(frozen=True, slots=True, init=False)
class Command:
    """A command line; a data set is the path of a file.

    The path takes the place of ``{data}`` in the arguments, and is in the environment under
    ``variable``.  No shell is in between.  An answer is what was printed; a program that ends with
    another code than 0 has failed, which is an answer too.

    With ``lines`` above 1 one run prints so many answers, a line each; they must be independent, as
    if each had been printed by a run of its own.

    >>> Command("echo {data} 12").draw("some.csv", 2)
    ['some.csv 12', 'some.csv 12']
    >>> Command("printenv TABLE", variable="TABLE").draw("some.csv", 1)
    ['some.csv']
    """

    words: tuple[str, ...]
    variable: str
    lines: int
    timeout: float

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        variable: str = "DISCREET_DATA",
        lines: int = 1,
        timeout: float = 60.0,
    ) -> None:
        """Take a command as one text or as words, and how long a run may take, in seconds."""
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
        if not words or shutil.which(words[0]) is None:
            raise WrongKind(
                what="the command is empty, or its program is not there.",
                why="an audit runs it many times.",
                do="give a command that runs in a terminal, such as 'python3 count.py {data}'.",
            )
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "lines", whole(lines, name="lines", low=1))
        object.__setattr__(self, "timeout", timeout)

    def draw(self, data: Any, n: int) -> Answers:
        """Run the command until it has printed n answers, as many at a time as there are cores."""
        path = os.fspath(data)
        runs = -(-n // self.lines)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            found = pool.map(self._run, [path] * runs)
            return [answer for answers in found for answer in answers][:n]

    def _run(self, path: str) -> list[Any]:
        words = [word.replace(_PLACE, path) for word in self.words]
        try:
            done = subprocess.run(  # noqa: S603  (the command is what is audited)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, self.variable: path},
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return self._counted([Raised("timeout")])
        text = done.stdout.decode("utf-8", "replace")
        if self.lines == 1:
            return [_answer(done.returncode, text.rstrip("\n"))]
        return self._counted([_answer(done.returncode, line) for line in text.splitlines()])

    def _counted(self, answers: list[Any]) -> list[Any]:
        if len(answers) != self.lines:
            raise WrongKind(
                what=f"a run did not print {self.lines} lines.",
                why="each line is taken for one answer.",
                do="print one line for each answer, or leave lines out.",
            )
        return answers


def _answer(code: int, text: str) -> str | Raised:
    return Raised(f"exit code {code}", told=text) if code else text
