"""The exact distribution of a sampler, by trying every word that it could have drawn.

Trust: public.  Tests and audits rest on it; no release does.

``ReplayEntropy`` answers a sampler's requests for words from a list.  ``exact_law`` runs a program
on every list: if the program asks beyond the end of its list, that list is extended by each of the
2**width equally likely words.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import EntropyExhausted, OutOfRange, WrongKind
from discreet.exact import ExactNumber, probability, whole
from discreet.noise.entropy import checked_count, word_type

Outcome = TypeVar("Outcome", bound="Hashable")

_WIDEST_BRANCH = 16  # bits of a word whose values are all tried


@final
class ReplayEntropy:
    """Entropy that serves recorded words, and refuses to invent more.

    >>> ReplayEntropy([5, 6, 7]).words(2, width=3).tolist()
    [5, 6]
    """

    __slots__ = ("_position", "_recorded", "wanted")

    def __init__(self, recorded: Iterable[int]) -> None:
        self._recorded = tuple(
            whole(word, name="each word", low=0) for word in listed(recorded, name="recorded words")
        )
        self._position = 0
        self.wanted = 0

    def bits(self, width: int) -> int:
        """Return the next recorded word."""
        if whole(width, name="width", low=0) == 0:
            return 0
        if self._position == len(self._recorded):
            self.wanted = width
            raise EntropyExhausted(
                what="a recorded stream has no words left.",
                why="inventing words would make the replay mean something else.",
                do="record more words.",
            )
        word = self._recorded[self._position]
        if not 0 <= word < 1 << width:
            raise OutOfRange(f"recorded word {self._position} has more than {width} bits.")
        self._position += 1
        return word

    def words(self, count: int, width: int) -> NDArray[np.unsignedinteger[Any]]:
        """Return the next ``count`` recorded words."""
        kind = word_type(whole(width, name="width", low=0))
        return np.array([self.bits(width) for _ in range(checked_count(count))], dtype=kind)


@final
@dataclass(frozen=True, slots=True)
class ExactLaw(Generic[Outcome]):
    """Probabilities found so far, and the mass not yet explored.

    The true probability of an outcome is between ``mass[outcome]`` and
    ``mass[outcome] + unexplored``.
    """

    mass: Mapping[Outcome, Fraction]
    unexplored: Fraction


def exact_law(
    program: Callable[[ReplayEntropy], Outcome],
    *,
    unexplored: ExactNumber = 0,
    max_runs: int = 1_000_000,
) -> ExactLaw[Outcome]:
    """Enumerate the outcomes of a program, likeliest words first.

    Stops when at most ``unexplored`` mass is left, or after ``max_runs`` runs.

    >>> law = exact_law(lambda entropy: entropy.bits(1) + entropy.bits(1))
    >>> {outcome: str(mass) for outcome, mass in law.mass.items()}
    {0: '1/4', 1: '1/2', 2: '1/4'}
    """
    if not callable(program):
        raise WrongKind("program must be a function of one argument, the entropy.")
    enough = probability(unexplored, name="unexplored")
    runs = whole(max_runs, name="max_runs", low=0)
    mass: dict[Outcome, Fraction] = {}
    left = Fraction(1)
    order = itertools.count()
    # ranked by depth in bits: every word is uniform, so shallower means likelier
    frontier: list[tuple[int, int, tuple[int, ...]]] = [(0, next(order), ())]
    for _ in range(runs):
        if not frontier or left <= enough:
            break
        depth, _, recorded = heapq.heappop(frontier)
        entropy = ReplayEntropy(recorded)
        try:
            outcome = program(entropy)
        except EntropyExhausted:
            for word in _branches(entropy.wanted):
                heapq.heappush(frontier, (depth + entropy.wanted, next(order), (*recorded, word)))
        else:
            weight = Fraction(1, 1 << depth)
            mass[outcome] = mass.get(outcome, Fraction(0)) + weight
            left -= weight
    return ExactLaw(mass, left)


def _branches(width: int) -> range:
    if width > _WIDEST_BRANCH:
        raise OutOfRange(f"the program asked for a word of {width} bits; use narrower words.")
    return range(1 << width)
