"""What can be audited: anything that gives an answer about a data set, also a program.

Trust: public.

Definition.  A subject draws n independent answers about a data set: ``draw(data, n)``.  They come
as an array with n rows, as a mapping from names to such arrays (masked if an answer lacks that
part), or as a sequence of n values of any kind.

    Calls       any function of a data set
    Batches     any function of a data set and a number, which gives that many answers at once
    Runs        a mechanism of this package
    Command     a program that prints an answer
    AuditedQuestion  what a session answers, with the release drawn many times on the same totals
    AskedQuestion  what a session answers, each time through a ledger of its own

A failure is an answer as well: the analyst sees the error.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.randomized_response import RandomizedResponse

Answers = NDArray[Any] | Mapping[str, NDArray[Any]] | Sequence[Any]
"""Many answers: an array, named arrays, or a sequence."""


@runtime_checkable
class Subject(Protocol):
    """A source of answers about a data set."""

    def draw(self, data: Any, n: int) -> Answers:
        """Return n independent answers."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Raised:
    """An error in place of an answer: its class, and its released part.

    >>> Raised("ValueError")
    Raised(kind='ValueError', told='')
    """

    kind: str
    told: str = ""


@final
@dataclass(frozen=True, slots=True)
class Calls:
    """A function of a data set, called once for each answer.

    >>> Calls(len).draw("abc", 2)
    [3, 3]
    >>> Calls(int).draw("x", 1)
    [Raised(kind='ValueError', told='')]
    """

    function: Callable[[Any], Any]

    def draw(self, data: Any, n: int) -> Answers:
        """Call the function n times."""
        return [self._once(data) for _ in range(n)]

    def _once(self, data: Any) -> Any:
        try:
            return self.function(data)
        except Exception as error:  # noqa: BLE001  (an answer like any other)
            return Raised(type(error).__name__)


@final
@dataclass(frozen=True, slots=True)
class Batches:
    """A function of a data set and a number, which gives that many answers.

    >>> Batches(lambda data, n: np.full(n, sum(data))).draw([1, 2], 3)
    array([3, 3, 3])
    """

    function: Callable[[Any, int], Answers]

    def draw(self, data: Any, n: int) -> Answers:
        """Call the function once."""
        return self.function(data, n)


@final
@dataclass(frozen=True, slots=True)
class Runs:
    """A mechanism of this package; noise that is added to numbers is drawn all at once.

    >>> from discreet.mechanisms import Laplace
    >>> Runs(Laplace(scale=1)).draw(7, 5).shape, Runs(Laplace(scale=1)).draw([1, 2], 5).shape
    ((5,), (5, 2))
    """

    mechanism: Mechanism[Any, Any]

    def draw(self, data: Any, n: int) -> Answers:
        """Run the mechanism n times."""
        match self.mechanism:
            case AdditiveNoise():
                many = np.tile(np.asarray(data), (n, *(1 for _ in np.shape(data))))
                drawn: NDArray[Any] = self.mechanism.run(many)
                return drawn
            case RandomizedResponse():
                return self.mechanism.run_each([data] * n)
            case _:
                return Calls(self.mechanism.run).draw(data, n)


def subject_of(mechanism: object) -> Subject:
    """Return anything that can be audited as a subject.

    A function with an attribute ``batch``, a function of the data and a number, is drawn from by
    that.

    >>> subject_of(len)
    Calls(function=<built-in function len>)
    """
    if isinstance(mechanism, Mechanism):
        return Runs(mechanism)
    if isinstance(mechanism, Subject):
        return mechanism
    batch = getattr(mechanism, "batch", None)
    if callable(batch):
        return Batches(batch)
    if callable(mechanism):
        return Calls(mechanism)
    raise WrongKind(
        what=f"an object of type {type(mechanism).__name__} cannot be audited.",
        why="an audit draws many answers about two data sets and compares them.",
        do="give a function of a data set, a mechanism, an AuditedQuestion or a Command.",
    )


_PLACE: Final = "{data}"
TIMEOUT: Final = "timeout"
"""The answer of a run that took too long."""


@final
@dataclass(frozen=True, slots=True, init=False)
class Command:
    """A command line; a data set is the path of a file.

    The path replaces ``{data}`` in the arguments, and is in the environment under ``variable``.  No
    shell is involved.  The answer is what the program prints; an exit code other than 0 is a
    failure, which is an answer too.

    A run that takes too long is an answer as well, since the analyst observes it; ``timeouts``
    counts them.  With ``lines`` above 1 one run prints that many answers, a line each; they must be
    independent, as if each had been printed by a run of its own, so no such run may time out.

    >>> Command("echo {data} 12").draw("some.csv", 2)
    ['some.csv 12', 'some.csv 12']
    >>> Command("printenv TABLE", variable="TABLE").draw("some.csv", 1)
    ['some.csv']
    """

    words: tuple[str, ...]
    variable: str
    lines: int
    timeout: float
    _late: list[str] = field(compare=False, repr=False)

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
        object.__setattr__(self, "timeout", _seconds(timeout))
        object.__setattr__(self, "_late", [])

    @property
    def timeouts(self) -> int:
        """How many runs have taken too long so far."""
        return len(self._late)

    def draw(self, data: Any, n: int) -> Answers:
        """Run the command until it has printed n answers, as many at a time as there are cores."""
        path = os.fspath(data)
        runs = -(-n // self.lines)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            outputs = pool.map(self._run, [path] * runs)
            return [answer for answers in outputs for answer in answers][:n]

    def _run(self, path: str) -> list[Any]:
        words = [word.replace(_PLACE, path) for word in self.words]
        try:
            done = subprocess.run(  # noqa: S603  (the command is the audited subject)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, self.variable: path},
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return self._too_late(path)
        text = done.stdout.decode("utf-8", "replace")
        if self.lines == 1:
            return [_answer(done.returncode, text.rstrip("\n"))]
        return self._counted([_answer(done.returncode, line) for line in text.splitlines()])

    def _too_late(self, path: str) -> list[Any]:
        self._late.append(path)
        if self.lines == 1:
            return [Raised(TIMEOUT)]
        raise WrongKind(
            what=f"a run took longer than {self.timeout:g} seconds.",
            why=f"it should have printed {self.lines} answers, and lines of one run that all fail "
            "together are not independent.",
            do="give it more time, or have it print fewer lines.",
        )

    def _counted(self, answers: list[Any]) -> list[Any]:
        if len(answers) != self.lines:
            raise WrongKind(
                what=f"a run did not print {self.lines} lines.",
                why="each line is taken for one answer.",
                do="print one line for each answer, or leave lines out.",
            )
        return answers


def _seconds(timeout: object) -> float:
    seconds = float(decimal(timeout, name="timeout"))
    if seconds <= 0:
        raise OutOfRange(
            what="timeout is not above zero.",
            why="it is how many seconds a run may take.",
            do="give a number of seconds, such as 60.",
        )
    return seconds


def _answer(code: int, text: str) -> str | Raised:
    return Raised(f"exit code {code}", told=text) if code else text
