"""Referees of exercises: a number, a choice, and a program judged by its exact distribution.

A number is compared with one that the library computes when it is needed.  A program draws its
coins from the ``entropy`` that it is given; all coins are tried (``discreet.attacks.exact_law``),
so its epsilon is that of its distribution and no estimate.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType
from typing import Any, Final, final

from discreet.attacks import ReplayEntropy, exact_law
from discreet.errors import DiscreetError, WrongKind
from discreet.exact import decimal
from discreet_course.exercise import Verdict

Program = Callable[[Any, ReplayEntropy], Hashable]
Law = Mapping[Hashable, Fraction]
RUNS: Final = 50_000
"""How many coins a program may have: those of 15 bits and more."""
SECONDS: Final = 20
"""How many seconds of the processor a program may take on one data set."""
REPEATS: Final = 64
"""How many outputs are compared with those of a second run on the same coins, at least."""
_FIXED: Final = (
    "A loop that draws again never ends on some coins: draw a fixed number of bits, such as "
    "entropy.bits(8), which has 256 equally likely values."
)


@final
@dataclass(frozen=True, slots=True)
class Number:
    """A number that the library computes; known slips are named.

    >>> Number(lambda: 180_000, slips={200_000: "nobody is added."}).verdict(200_000)
    not yet: nobody is added.
    """

    value: Callable[[], Any]
    tolerance: float = 1e-3
    slips: Mapping[Any, str] | None = None

    def verdict(self, answer: Any) -> Verdict:
        """Compare with the number, within a relative tolerance."""
        given = _number(answer)
        if self._is(given, float(self.value())):
            return Verdict(right=True, words="that is the number.")
        for slip, words in (self.slips or {}).items():
            if self._is(given, float(slip)):
                return Verdict(right=False, words=words)
        more = "large" if given > float(self.value()) else "small"
        return Verdict(right=False, words=f"your number is too {more}.")

    def _is(self, given: float, wanted: float) -> bool:
        return math.isclose(given, wanted, rel_tol=self.tolerance, abs_tol=1e-12)

    def model(self) -> Any:
        """Return the number."""
        value = self.value()
        return value if isinstance(value, Fraction | int) else float(value)


@final
@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several words; each wrong one has its reason.

    >>> OneOf("no", {"yes": "look at the proof again."}).verdict("yes")
    not yet: look at the proof again.
    """

    right: str
    wrong: Mapping[str, str]

    def verdict(self, answer: Any) -> Verdict:
        """Compare with the choices."""
        if answer == self.right:
            return Verdict(right=True, words="that is it.")
        if isinstance(answer, str) and answer in self.wrong:
            return Verdict(right=False, words=self.wrong[answer])
        raise WrongKind(
            what="the answer is none of the choices.",
            why="this question is answered by one of them.",
            do=f"give {' or '.join(repr(name) for name in sorted([self.right, *self.wrong]))}.",
        )

    def model(self) -> str:
        """Return the right choice."""
        return self.right


def _number(answer: Any) -> float:
    """Return a number, which may be infinite: inf, infinity or ∞ in words."""
    if isinstance(answer, str) and answer.strip().lower() in {"inf", "infinity", "infinite", "∞"}:
        return math.inf
    if isinstance(answer, float) and math.isinf(answer):
        return answer
    return float(decimal(answer, name="answer"))


class UnfitProgramError(Exception):
    """A program whose distribution cannot be found; the words say why."""


class _Late(BaseException):
    """The time of a program is over; a program that catches all errors does not catch this."""


def laws_of(program: Program, pair: tuple[Any, Any]) -> tuple[Law, Law]:
    """Return the exact distributions of a program on two data sets.

    >>> laws_of(lambda bit, coins: bit ^ (coins.bits(2) == 0), (0, 1))[0]
    {1: Fraction(1, 4), 0: Fraction(3, 4)}
    """
    if not callable(program):
        raise WrongKind(
            what="the answer is not a function.",
            why="this exercise asks for a program, which is run on every coin.",
            do="give a function of the data and of the entropy that its coins come from.",
        )
    here, there = (_law_of(program, data) for data in pair)
    return here, there


def _law_of(program: Program, data: Any) -> Law:
    """Try all coins, and again until each answer was seen often enough to trust that it repeats."""
    deadline = time.thread_time() + SECONDS
    law, outputs = _tried(program, data, deadline)
    for _ in range(max(1, -(-REPEATS // len(outputs)))):
        if _tried(program, data, deadline)[1] != outputs:
            raise UnfitProgramError(
                "it gives different outputs on the same coins: draw all coins from entropy, and "
                "none from random, the clock or a counter."
            )
    return law


def _tried(program: Program, data: Any, deadline: float) -> tuple[Law, list[Hashable]]:
    outputs: list[Hashable] = []

    def run(entropy: ReplayEntropy) -> Hashable:
        with _until(deadline):
            output = program(data, entropy)
        outputs.append(output)
        return output

    try:
        found = exact_law(run, max_runs=RUNS)
    except _Late:
        raise UnfitProgramError(
            f"it had not tried all coins after {SECONDS} seconds. {_FIXED}"
        ) from None
    if found.unexplored:
        raise UnfitProgramError(f"after {RUNS:,} runs some coins were left. {_FIXED}")
    return found.mass, outputs


@contextmanager
def _until(deadline: float) -> Iterator[None]:
    """End a program that runs too long, at its next line."""

    def trace(frame: FrameType, *_: object) -> Any:
        if time.thread_time() > deadline:
            raise _Late
        return None if frame.f_globals.get("__name__", "").startswith("discreet.") else trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def epsilon_of(here: Law, there: Law) -> tuple[float, Hashable]:
    """Return the exact epsilon of two distributions, and the output that attains it.

    >>> epsilon_of({0: Fraction(3, 4), 1: Fraction(1, 4)}, {1: Fraction(1)})[0]
    inf
    """
    worst: tuple[float, Hashable] = (0.0, None)
    for p, q in ((here, there), (there, here)):
        for output, chance in p.items():
            other = q.get(output, Fraction(0))
            loss = math.inf if other == 0 else math.log(chance / other)
            worst = max(worst, (loss, output), key=lambda found: found[0])
    return worst


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateProgram:
    """A program that must lose at most epsilon, and still be of use.

    ``useful`` returns what the distributions of the program on the first pair lack, or nothing.
    """

    pairs: tuple[tuple[Any, Any], ...]
    epsilon: float
    useful: Callable[[Law, Law], str | None]
    example: Program

    def verdict(self, answer: Any) -> Verdict:
        """Try all coins, and compare the distributions."""
        try:
            laws = [laws_of(answer, pair) for pair in self.pairs]
        except DiscreetError:
            raise
        except UnfitProgramError as error:
            return Verdict(right=False, words=str(error))
        except Exception as error:  # noqa: BLE001  a student's program may raise anything
            words = f"the program stopped with {type(error).__name__}: {error}"
            return Verdict(right=False, words=words)
        for (here, there), pair in zip(laws, self.pairs, strict=True):
            loss, output = epsilon_of(here, there)
            if loss > self.epsilon * (1 + 1e-12):
                chances = (str(law.get(output, 0)) for law in (here, there))
                return Verdict(
                    right=False,
                    words=f"it loses {loss:.4g}, more than {self.epsilon:.4g}: on {pair[0]!r} and "
                    f"{pair[1]!r} the output {output!r} has the chances {' and '.join(chances)}.",
                )
        if missing := self.useful(*laws[0]):
            return Verdict(right=False, words=f"it is private, but {missing}")
        loss = max(epsilon_of(*law)[0] for law in laws)
        return Verdict(right=True, words=f"all coins tried, it loses {loss:.4g}.")

    def model(self) -> Program:
        """Return a program that is right."""
        return self.example
