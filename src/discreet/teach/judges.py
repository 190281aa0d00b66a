"""Referees of exercises: a number, a choice, and a program judged by its exact law.

Trust: public.

A number is compared with one that the library computes when it is needed.  A program draws its
coins from the ``entropy`` that it is given; all coins are tried (``discreet.noise.exact_law``), so
its epsilon is that of its law and no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, final

from discreet.errors import DiscreetError, WrongKind
from discreet.exact import decimal
from discreet.noise import ReplayEntropy, exact_law
from discreet.teach.exercise import Verdict

Program = Callable[[Any, ReplayEntropy], Hashable]
Law = Mapping[Hashable, Fraction]


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
        if isinstance(answer, float) and math.isinf(answer):
            given = answer
        else:
            given = float(decimal(answer, name="answer"))
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


def laws_of(program: Program, pair: tuple[Any, Any]) -> tuple[Law, Law]:
    """Return the exact laws of a program on two data sets.

    >>> laws_of(lambda bit, coins: bit ^ (coins.bits(2) == 0), (0, 1))[0]
    {1: Fraction(1, 4), 0: Fraction(3, 4)}
    """
    if not callable(program):
        raise WrongKind(
            what="the answer is not a function.",
            why="this exercise asks for a program, which is run on every coin.",
            do="give a function of the data and of the entropy that its coins come from.",
        )
    found = [exact_law(partial(program, data)) for data in pair]
    if any(law.unexplored for law in found):
        raise WrongKind(
            what="the program did not end on every coin.",
            why="its law is found by trying all of them.",
            do="draw a fixed number of bits: entropy.bits(8) has 256 equally likely values.",
        )
    return found[0].mass, found[1].mass


def epsilon_of(here: Law, there: Law) -> tuple[float, Hashable]:
    """Return the exact epsilon of two laws, and the output that attains it.

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

    ``useful`` returns what is missing from the laws of the program on the first pair, or nothing.
    """

    pairs: tuple[tuple[Any, Any], ...]
    epsilon: float
    useful: Callable[[Law, Law], str | None]
    example: Program

    def verdict(self, answer: Any) -> Verdict:
        """Try all coins, and compare the laws."""
        try:
            laws = [laws_of(answer, pair) for pair in self.pairs]
        except DiscreetError:
            raise
        except Exception as error:  # noqa: BLE001  whatever a student's program does
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
