"""Break this mechanism: puzzles with a hidden fault, exact distributions and an audit as referees.

Each puzzle claims an epsilon.  You may draw answers, audit a pair of neighbors, ask for hints, and
then name a pair on which the claim fails, or say that it keeps its promise.  A pair is judged by
the exact distributions of both answers, so that luck plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, final

from discreet.attacks import Measured, estimate_epsilon
from discreet.errors import UnknownName, WrongKind
from discreet.noise import SYSTEM, Entropy
from discreet_course import puzzle_laws as laws
from discreet_course.exercise import Verdict
from discreet_course.judges import epsilon_of
from discreet_course.puzzle_laws import Law, Rows

_FULL, _HINT, _WRONG = 100, 20, 10


def _replaced(here: Rows, there: Rows) -> bool:
    pairs = zip(here, there, strict=False)
    return len(here) == len(there) and sum(a != b for a, b in pairs) == 1


def _one_row(here: Rows, there: Rows) -> bool:
    short, long = sorted((here, there), key=len)
    cut = (long[:at] + long[at + 1 :] for at in range(len(long)))
    return len(long) == len(short) + 1 and any(found == short for found in cut)


def _one_person(here: Rows, there: Rows) -> bool:
    gone = set(here) ^ set(there)
    rest = [tuple(row for row in rows if row not in gone) for rows in (here, there)]
    return len(gone) == 1 and rest[0] == rest[1]


def _counts_move(here: Rows, there: Rows) -> bool:
    pairs = [*zip(here, there, strict=False)]
    return len(here) == len(there) and here != there and all(abs(a - b) <= 1 for a, b in pairs)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    """What a puzzle says, what it does, and who is a neighbor."""

    story: str
    claim: float
    neighbors: Callable[[Rows, Rows], bool]
    law: Callable[[Rows], Law]
    tables: tuple[Rows, ...]
    hints: tuple[str, ...]

    def refutations(self) -> Iterable[tuple[Rows, Rows]]:
        """Yield the pairs of its tables on which the claim fails."""
        for here in self.tables:
            for there in self.tables:
                if self.neighbors(here, there) and self.loss((here, there)) > self.claim + 1e-9:
                    yield here, there

    def loss(self, pair: tuple[Rows, Rows]) -> float:
        """Return the exact epsilon between two tables."""
        return epsilon_of(self.law(pair[0]), self.law(pair[1]))[0]


_BITS = tuple(laws.bits(3))
_SIZES = tuple(rows for length in range(4) for rows in laws.bits(length))
_VISITS: tuple[Rows, ...] = ((), (1,), (1, 1), (1, 2), (1, 1, 2), (2,), (1, 1, 1))
_COUNTS = tuple((a, b) for a in range(4) for b in range(4))
_SHEETS: Final = {
    "shared-coin": _Sheet(
        story="Three people answer yes (1) or no (0) by randomized response with chances 3/4 and "
        "1/4. Claim: ln 3 for one answer that is replaced. Tables are tuples of three bits.",
        claim=math.log(3),
        neighbors=_replaced,
        law=laws.shared_coin,
        tables=_BITS,
        hints=("Draw often. How many different outputs do you see?", "Who tosses the coins?"),
    ),
    "short-noise": _Sheet(
        story="A count of ones with noise of -1, 0 or 1, chances 1/4, 1/2, 1/4. Claim: ln 2 for "
        "one bit that is replaced. Tables are tuples of three bits.",
        claim=math.log(2),
        neighbors=_replaced,
        law=laws.short_noise,
        tables=_BITS,
        hints=("Ratios in the middle are fine.", "What is the largest output on each table?"),
    ),
    "busy-patient": _Sheet(
        story="A count of visits with geometric noise of ratio 1/2, clamped to 0...4. A table is a "
        "tuple of patients, one entry for each visit. Claim: ln 2 for a patient.",
        claim=math.log(2),
        neighbors=_one_person,
        law=laws.busy_patient,
        tables=_VISITS,
        hints=("Neighbors are patients, not visits.", "How far can one patient move the count?"),
    ),
    "bare-counts": _Sheet(
        story="Two counts are compared with one noisy threshold near 2; the outputs say which are "
        "at least that large. Claim: ln 4 where each count moves by at most 1.",
        claim=math.log(4),
        neighbors=_counts_move,
        law=laws.bare_counts,
        tables=_COUNTS,
        hints=("Where is the noise, and where is none?", "Let one count rise and the other fall."),
    ),
    "no-data": _Sheet(
        story="A count of rows with geometric noise of ratio 1/2, clamped to 0...4. Claim: ln 2 "
        "for a row that is added or removed.",
        claim=math.log(2),
        neighbors=_one_row,
        law=laws.no_data,
        tables=_SIZES,
        hints=("Most pairs are fine.", "What would a careful programmer do without any rows?"),
    ),
    "exact-size": _Sheet(
        story="The mean of bits: a noisy sum, clamped to 0...4, over the number of rows. Claim: "
        "ln 2 for a row that is added or removed.",
        claim=math.log(2),
        neighbors=_one_row,
        law=laws.exact_size,
        tables=_SIZES,
        hints=("The sum is fine.", "Which outputs are possible with two rows, and with three?"),
    ),
    "honest": _Sheet(
        story="A count of ones with geometric noise of ratio 1/2, clamped to 0...4. Claim: ln 2 "
        "for one bit that is replaced. Tables are tuples of three bits.",
        claim=math.log(2),
        neighbors=_replaced,
        law=laws.honest,
        tables=_BITS,
        hints=("Compare each output on each pair.", "Not every puzzle has a fault."),
    ),
}


@final
@dataclass(slots=True)
class Puzzle:
    """A mechanism to break, and the player's score."""

    name: str
    score: int = _FULL
    solved: bool = False
    _sheet: _Sheet = field(init=False, repr=False)
    _given: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        """Take the sheet of its name."""
        self._sheet = _SHEETS[self.name]

    @property
    def story(self) -> str:
        """What the mechanism says that it does."""
        return self._sheet.story

    @property
    def example(self) -> Rows:
        """A table that it takes."""
        return self._sheet.tables[-1]

    @property
    def claim(self) -> float:
        """The epsilon that it claims."""
        return self._sheet.claim

    def draw(self, table: Any, *, entropy: Entropy = SYSTEM) -> Any:
        """Return one answer of the mechanism on a table."""
        law = self._sheet.law(_rows(table))
        whole = math.lcm(*(chance.denominator for chance in law.values()))
        place = whole
        while place >= whole:
            place = entropy.bits(whole.bit_length())
        for output, chance in law.items():
            place -= int(chance * whole)
            if place < 0:
                return output
        raise AssertionError  # probabilities of a distribution add up to one

    def estimate(self, here: Any, there: Any, *, n: int = 2000) -> Measured:
        """Audit the claim on a pair, from answers alone."""
        pair = (_rows(here), _rows(there))
        return estimate_epsilon(self.draw, pair, n, claim=self.claim, level="0.01")

    def hint(self) -> str:
        """Return the next hint; each costs 20 points."""
        hints = self._sheet.hints
        told = hints[min(self._given, len(hints) - 1)]
        if self._given < len(hints):
            self._given += 1
            self._lose(_HINT)
        return told

    def refute(self, here: Any, there: Any) -> Verdict:
        """Name two neighbors on which the claim fails; a pair that does not costs 10 points."""
        pair = (_rows(here), _rows(there))
        if not self._sheet.neighbors(*pair):
            return self._wrong("these tables are no neighbors in the sense of the claim.")
        loss = self._sheet.loss(pair)
        if loss <= self.claim + 1e-9:
            return self._wrong(f"on this pair it loses {loss:.4g}, which is within the claim.")
        self.solved = True
        return Verdict(right=True, words=f"it loses {loss:.4g}, and claims {self.claim:.4g}.")

    def keeps(self) -> Verdict:
        """Say that the claim holds for all neighbors; a wrong word costs 10 points."""
        if any(True for _ in self._sheet.refutations()):
            return self._wrong("some pair of neighbors loses more than the claim.")
        self.solved = True
        return Verdict(right=True, words="all pairs of neighbors are within the claim.")

    def _wrong(self, words: str) -> Verdict:
        self._lose(_WRONG)
        return Verdict(right=False, words=words)

    def _lose(self, points: int) -> None:
        if not self.solved:
            self.score = max(0, self.score - points)


def puzzles() -> tuple[str, ...]:
    """Return the names of all puzzles.

    >>> puzzles()[0]
    'shared-coin'
    """
    return tuple(_SHEETS)


def puzzle(name: str) -> Puzzle:
    """Return a puzzle by its name.

    >>> game = puzzle("no-data")
    >>> game.refute((1, 0), (1,)), game.score
    (not yet: on this pair it loses 0.6931, which is within the claim., 90)
    """
    if name not in _SHEETS:
        raise UnknownName(
            what="there is no such puzzle.",
            why="each is known by its name.",
            do=f"give one of {', '.join(_SHEETS)}.",
        )
    return Puzzle(name)


def _rows(table: Any) -> Rows:
    if not isinstance(table, list | tuple) or not all(type(entry) is int for entry in table):
        raise WrongKind(
            what="the table is not a tuple of integers.",
            why="that is what all puzzles count.",
            do="give a tuple, such as (1, 0, 1).",
        )
    if len(table) > 6 or any(not 0 <= entry <= 4 for entry in table):
        raise WrongKind(
            what="the table has more than six entries, or one that is not between 0 and 4.",
            why="the mechanisms are written for small tables.",
            do="give a smaller table.",
        )
    return tuple(table)
