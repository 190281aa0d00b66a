"""Releases of shuffled reports.

Trust: kernel.

Theorem (key ``shuffling``; Feldman, McMillan and Talwar 2021).  If each of n people runs the leaf
on their own row, and all reports are released in random order, then replacing one row loses less
than it does in the leaf.  It needs a leaf with a finite epsilon at delta 0, and a public n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.accounting.leaf import Leaf
from discreet.accounting.node import Node
from discreet.errors import WrongKind
from discreet.loss.limits import checked_count

__all__ = ["Shuffled"]


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Shuffled(Node):
    """Release the reports of a population, in random order.

    >>> from discreet.mechanisms import RandomizedResponse
    >>> print(Shuffled(Leaf(RandomizedResponse(epsilon=1)), population=1000))
    Shuffled reports of 1000
    └── RandomizedResponse(epsilon=1, categories=(0, 1))
    """

    child: Leaf
    population: int

    def __init__(self, child: Leaf, *, population: int) -> None:
        """Take what each person runs on their own row, and how many people there are."""
        if not isinstance(child, Leaf):
            raise WrongKind(
                what=f"what is shuffled is a {type(child).__name__}, not a leaf.",
                why="each person runs one local randomizer on one row.",
                do="give the leaf of that randomizer, such as Leaf(RandomizedResponse(epsilon=1)).",
            )
        object.__setattr__(self, "child", child)
        object.__setattr__(self, "population", checked_count(population, name="population", low=2))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Shuffled({self.child!r}, population={self.population})"

    def title(self) -> str:
        """Say how many people."""
        return f"Shuffled reports of {self.population}"

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return what each person runs."""
        return (("", self.child),)
