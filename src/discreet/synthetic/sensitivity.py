"""What one unit moves: each measurement and each selection of a program, as a leaf with its price.

Trust: kernel.  Programs are planned and carried out with the same leaves.

Definition.  A *measurement* adds noise to all counts of a marginal, or to one of them.  A *score*
of a marginal is a weight times (the L1 distance between its counts and public numbers, less a
public number); a score of a cell is the distance between its count and a public number.  Public
numbers are rounded to a fixed grid of 2**-20 rows first, so that scores are integers on the grid.

Theorem (key ``synthetic-scores``).  Let one unit move the joint histogram by at most d rows (key
``joint-histogram``).  Then a score of weight w moves by at most w d, and by 2 w d where one unit
replaces another; the score of a cell moves by at most d either way.
Proof.  By the triangle inequality a distance to fixed numbers moves by at most as much as the
counts do in L1; for one cell, by as much as its count does.  Rounding concerns public numbers
alone.  Clamping a score to 62 bits moves no two scores apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting import Leaf
from discreet.loss import ZeroConcentrated
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.plan.pricing.group_sensitivity import root_up
from discreet.units import PrivacyUnit, Relation

GRID: Final = 1 << 20
"""Steps of the grid of public numbers in scores, for each row."""


@final
@dataclass(frozen=True, slots=True)
class UnitMoves:
    """How far one unit moves what a program measures, and under which relation.

    >>> from discreet.units import row
    >>> UnitMoves(2, row()).measured(Gaussian(variance=8)).source.concentrated(distance=2).rho
    Fraction(1, 4)
    """

    rows: int
    unit: PrivacyUnit

    @property
    def replaces(self) -> bool:
        """Whether one unit may take the place of another."""
        return self.unit.relation.replaces

    @property
    def l1(self) -> int:
        """How far a marginal moves in L1 between neighbors."""
        return 2 * self.rows if self.replaces else self.rows

    @property
    def l2_squared(self) -> int:
        """How far a marginal moves in L2 between neighbors, squared."""
        return 2 * self.rows**2 if self.replaces else self.rows**2

    def measured(self, noise: Gaussian | Laplace, *, single: bool = False) -> Leaf:
        """Return the leaf of noise on all counts of a marginal, or on a single one."""
        if isinstance(noise, Laplace):
            far = Fraction(self.rows if single else 2 * self.rows)
            return self._leaf(noise, "count", Fraction(self.rows), far)
        far = root_up(self.rows**2 if single else 2 * self.rows**2)
        return self._leaf(
            noise, "count", Fraction(self.rows), far, coordinates=1 if single else self.l1
        )

    def selected(self, scale: Fraction, *, candidates: int, weight: int) -> Leaf:
        """Return the leaf of a selection among marginals, by scores of at most this weight.

        ``scale`` is in rows times weights.
        """
        far = Fraction(weight * self.rows * GRID)
        return self._leaf(_choice(scale, candidates), "choice", far, 2 * far)

    def selected_cell(self, scale: Fraction, *, candidates: int) -> Leaf:
        """Return the leaf of a selection among cells."""
        far = Fraction(self.rows * GRID)
        return self._leaf(_choice(scale, candidates), "choice", far, far)

    def chosen(self, choice: Exponential, *, added: int, replaced: int) -> Leaf:
        """Return the leaf of a selection by scores that move as far as these."""
        return self._leaf(choice, "choice", Fraction(added), Fraction(replaced))

    def _leaf(
        self,
        source: Gaussian | Laplace | Exponential,
        name: str,
        added: Fraction,
        replaced: Fraction,
        coordinates: int = 1,
    ) -> Leaf:
        whose = PrivacyUnit(
            name=self.unit.name, columns=self.unit.columns, relation=Relation.ADD_REMOVE
        )
        return Leaf(
            source,
            name=name,
            unit=whose,
            added=added,
            replaced=replaced if self.replaces else None,
            coordinates=coordinates,
        )


def concentrated_leaf(rho: Fraction, unit: PrivacyUnit) -> Leaf:
    """Return a leaf of a zero-concentrated loss between neighbors of the unit's own relation.

    What is certified where one unit replaces another holds where one is added or removed.
    """
    whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
    loss = ZeroConcentrated(rho=rho)
    return Leaf(loss, unit=whose, replaced=loss if unit.relation.replaces else None)


def _choice(scale: Fraction, candidates: int) -> Exponential:
    return Exponential(candidates=candidates, scale=scale * GRID)
