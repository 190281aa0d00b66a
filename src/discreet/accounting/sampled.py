"""Releases of a secret sample.

Trust: kernel.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.accounting.node import Node, checked_node
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import ExactNumber
from discreet.loss.limits import checked_count, checked_rate
from discreet.units import PrivacyUnit, same_unit

__all__ = ["Sampled"]


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

    def branches(self) -> tuple[tuple[str, Node], ...]:
        """Return what runs on the sample."""
        return (("", self.child),)
