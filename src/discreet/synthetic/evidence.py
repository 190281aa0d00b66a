"""The evidence of a synthetic table: what was released of the data, and all that a ledger keeps.

Trust: kernel.  Everything that is stored here was drawn by a mechanism and paid for, or is public.

Models and rows follow from the evidence, at any size and at any time, so no table is stored: a
reader can fit a better model to it years later, for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from discreet.synthetic.constraints import Constraint
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.values import CodedDomain, Marginal, Measurement

FORMAT: Final = 1
"""The format in which evidence is stored."""

Law = Literal["gaussian", "laplace"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How a marginal, or a cell, was chosen by the exponential mechanism.

    ``scale`` and ``distance`` are in rows times weights: the chosen score is at most
    ``scale * ln(candidates / beta)`` below the best, with a chance of at least 1 - beta.
    ``round`` counts the selections of a program from 0.

    >>> Selection(round=0, candidates=8, scale=Fraction(4), distance=Fraction(1)).candidates
    8
    """

    round: int
    candidates: int
    scale: Fraction
    distance: Fraction


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """Noisy counts of all cells of a marginal, or of one of them.

    ``scale`` is the variance of discrete Gaussian noise, or the scale of discrete Laplace noise.
    ``cell`` is the number of the one cell that was measured, in C order; None stands for all.

    >>> wards = Measured(marginal=(0,), values=np.array([5, 7]), law="gaussian", scale=Fraction(4))
    >>> wards.variance, wards.measurement.total
    (Fraction(4, 1), 12)
    """

    marginal: Marginal
    values: NDArray[np.int64]
    law: Law
    scale: Fraction
    cell: int | None = None
    selection: Selection | None = None

    @property
    def variance(self) -> Fraction:
        """The variance of the noise on each count, or a little more than it."""
        return self.scale if self.law == "gaussian" else 2 * self.scale**2

    @property
    def measurement(self) -> Measurement:
        """What inference reads, where all cells were measured."""
        return Measurement(marginal=self.marginal, values=self.values, variance=self.variance)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What a synthetic table rests on.

    ``method`` are the name and the public parameters of the method; ``domain`` has the bins that
    were bought, where they were.  ``rows`` are the rows that DualQuery released, as codes.
    ``spent`` is the price of what was measured, in rho, or in epsilon where ``pure``: at most what
    was charged.  ``sources`` are the states of the tables that were read.
    """

    digest: str
    method: Mapping[str, Any]
    domain: Domain
    constraints: tuple[Constraint, ...] = ()
    measured: tuple[Measured, ...] = ()
    rows: NDArray[np.int64] | None = None
    spent: Fraction = Fraction(0)
    pure: bool = False
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def coded(self) -> CodedDomain:
        """The domain as inference reads it."""
        return self.domain.coded

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The marginals of which all cells were measured."""
        return tuple(each.measurement for each in self.measured if each.cell is None)

    def __repr__(self) -> str:
        """Show how much there is of it."""
        name = self.method.get("name", "?")
        return f"<evidence: {len(self.measured)} measurements by {name}>"
