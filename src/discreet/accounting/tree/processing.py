"""Before and after a release: preprocessing, secret samples, shuffled reports, post-processing.

Trust: kernel.

Theorem (key ``preprocessing``; McSherry 2009, Privacy Integrated Queries).  If a function of the
table turns one row into at most d rows, then tables that differ by r removed and i inserted rows
go to tables that differ by at most d r and d i; what is released of its result costs what it costs
there.  Where no d holds, neighbors may go to tables as far apart as you like, and nothing is
protected.
Theorem (key ``post-processing``).  A function of the answer alone costs nothing.

Definition.  A sample is drawn afresh, and kept secret: by ``rate``, where each record enters it
with that probability, independently; or of ``size`` records out of a ``population`` whose number is
public, all samples of that size being equally likely.  With a rate, all records of one ``unit`` may
be drawn together: they enter the sample or stay out as one.
Theorem (key ``poisson-sampling``).  A record that is likely not in the sample loses less: sampling
by rate is accounted for under add/remove and replace.
Theorem (key ``amplification``; Balle, Barthe and Gaboardi 2018).  So is a sample of fixed size,
where records are replaced.  Where one is added or removed, the population is not public.
What runs on one sample is one node: the sample amplifies what all of it loses together, and each
further node draws a sample of its own.

Theorem (key ``shuffling``; Feldman, McMillan and Talwar 2021).  If each of n people runs the leaf
on their own row, and all reports are released in random order, then replacing one row loses less
than it does in the leaf.  It needs a leaf with a finite epsilon at delta 0, and a public n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from discreet.accounting.scopes.box import Box
from discreet.accounting.tree.certificates import checked_name
from discreet.accounting.tree.leaf import Leaf
from discreet.accounting.tree.node import Node, checked_node
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import ExactNumber
from discreet.loss.parameters import checked_count, checked_rate
from discreet.units import PrivacyUnit, same_unit


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Group(Node):
    """Release something of a table in which one row has become up to ``distance`` rows.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> print(Group(Leaf(Pure(epsilon=1)), distance=3))
    One row becomes up to 3
    └── Pure(epsilon=1)
    """

    child: Node
    distance: int | None

    def __init__(self, child: Node, *, distance: float) -> None:
        """Take a node, and how many rows one row can become: infinity where there is no bound."""
        object.__setattr__(self, "child", checked_node(child))
        endless = isinstance(distance, float) and distance == math.inf
        most = None if endless else checked_count(distance, name="distance", low=0)
        object.__setattr__(self, "distance", most)

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Group({self.child!r}, distance={_inf_or(self.distance)})"

    def title(self) -> str:
        """Say how many rows."""
        if self.distance is None:
            return "One row becomes any number"
        return f"One row becomes up to {self.distance}"


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Post(Node):
    """Release a function of the answer; it costs what the answer costs.

    >>> from discreet.accounting import Leaf
    >>> from discreet.loss import Pure
    >>> print(Post(Leaf(Pure(epsilon=1)), name="rounded"))
    Post: rounded
    └── Pure(epsilon=1)
    """

    child: Node
    name: str

    passes_rows: ClassVar[bool] = True

    def __init__(self, child: Node, *, name: str = "") -> None:
        """Take a node, and what to call the function."""
        object.__setattr__(self, "child", checked_node(child))
        object.__setattr__(self, "name", checked_name(name))

    def __repr__(self) -> str:
        """Show how to make it again."""
        return f"Post({self.child!r}{f', name={self.name!r}' if self.name else ''})"

    def title(self) -> str:
        """Name the function."""
        return f"Post: {self.name}" if self.name else "Post"

    def regions(self, shared: Callable[[str], bool]) -> tuple[tuple[Box, Node], ...]:  # noqa: ARG002
        """Return what is processed, about whatever it is about."""
        return ((Box.everything(), self.child),)


def _inf_or(distance: int | None) -> str:
    return "math.inf" if distance is None else str(distance)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Sampled(Node):
    """Release something of a secret sample.

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Gaussian
    >>> print(Sampled(Leaf(Gaussian(sigma=1)), rate=0.01))
    Sampled at rate 1/100
    └── Gaussian(variance=1)
    >>> print(Sampled(Leaf(Gaussian(sigma=1)), size=10, population=1000))
    Sampled: 10 of 1000
    └── Gaussian(variance=1)
    """

    child: Node
    rate: Fraction | None
    size: int | None
    population: int | None
    unit: PrivacyUnit | None

    def __init__(
        self,
        child: Node,
        *,
        rate: ExactNumber | float | None = None,
        size: int | None = None,
        population: int | None = None,
        unit: PrivacyUnit | None = None,
    ) -> None:
        """Take a node and a rate, and whose records are drawn together; or size and population."""
        fixed = size is not None and population is not None
        if (rate is not None) == (size is not None or population is not None) or (
            rate is None and not fixed
        ):
            raise WrongKind(
                what="a sample is given neither by a rate nor by a size and a population.",
                why="the two ways of drawing lose differently, and one of them must be used.",
                do="give rate=..., or size=... and population=...",
            )
        if unit is not None and (rate is None or not same_unit(unit).columns):
            raise WrongKind(
                what="a unit is given with a sample of rows, or of fixed size.",
                why="rows are drawn one by one, and only a rate draws all rows of a unit at once.",
                do='leave the unit out, or give a rate and, say, unit=person("id").',
            )
        object.__setattr__(self, "child", checked_node(child))
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "rate", None if rate is None else checked_rate(rate))
        taken = None if size is None else checked_count(size, name="size")
        people = None if population is None else checked_count(population, name="population")
        if taken is not None and people is not None and taken > people:
            raise OutOfRange(
                what="the size of a sample is above the population.",
                why="no record is drawn twice.",
                do="give size <= population.",
            )
        object.__setattr__(self, "size", taken)
        object.__setattr__(self, "population", people)

    def __repr__(self) -> str:
        """Show how to make it again."""
        if self.rate is not None:
            together = "" if self.unit is None else f", unit={self.unit!r}"
            return f"Sampled({self.child!r}, rate={self.rate!r}{together})"
        return f"Sampled({self.child!r}, size={self.size}, population={self.population})"

    def title(self) -> str:
        """Say how the sample is drawn."""
        if self.rate is not None:
            together = "" if self.unit is None else f", by {self.unit.name}"
            return f"Sampled at rate {self.rate}{together}"
        return f"Sampled: {self.size} of {self.population}"

    def takes_whole(self, columns: Collection[str]) -> bool:
        """Whether all rows of just this unit are drawn together."""
        return self.unit is not None and {*columns} == {*self.unit.columns}


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
