"""Generators: pairs of neighbors that try one mistake, from mild to gross.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from discreet.attacks.neighbors import Pair, pairs_of
from discreet.errors import WrongKind


@final
@dataclass(frozen=True, slots=True)
class Generator:
    """Pairs that differ in one unit, all in the same way.

    >>> print(Generator("one more", ((0, 1), (0, 2))))
    one more (2 pairs)
    """

    name: str
    pairs: tuple[Pair, ...]

    def __str__(self) -> str:
        """Describe the tried pairs and their number."""
        return f"{self.name} ({len(self.pairs)} pair{'s' * (len(self.pairs) != 1)})"


Neighbors = Pair | Iterable[Pair] | Iterable[Generator]
"""What to compare: one pair, several, or generators of them."""


def generators_of(neighbors: object) -> list[Generator]:
    """Return generators as they are, and each of several pairs as one of its own.

    >>> generators_of([(0, 1), (1, 0)])
    [Generator(name='pair 1 of 2', pairs=((0, 1),)), Generator(name='pair 2 of 2', pairs=((1, 0),))]
    """
    listed = neighbors
    if isinstance(neighbors, Iterable) and not isinstance(neighbors, tuple):
        listed = list(neighbors)
    if isinstance(listed, list | tuple) and any(isinstance(each, Generator) for each in listed):
        return _checked(listed)
    pairs = pairs_of(listed)
    return [
        Generator(f"pair {number} of {len(pairs)}", (pair,))
        for number, pair in enumerate(pairs, start=1)
    ]


def _checked(listed: Iterable[object]) -> list[Generator]:
    generators = [each for each in listed if isinstance(each, Generator) and each.pairs]
    names = {generator.name for generator in generators}
    if len(generators) != len(list(listed)) or len(names) != len(generators):
        raise WrongKind(
            what="the neighbors are not all generators with pairs, each with a name of its own.",
            why="what is found is told by the name of a generator.",
            do="give what neighbors_for returns, or generators with different names.",
        )
    return generators
