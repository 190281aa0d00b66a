"""The one place where a program reads the joint histogram: spend, then draw.

Trust: kernel (T7).  Methods hold a measurer and never the histogram, so all their decisions depend
on released numbers alone.

Spending: what a program may still measure, decided before each step.

Every read of the histogram spends first, so every measurement was charged.

Theorem (key ``filter-concentrated``).  If mechanisms are chosen one after the other, in view of all
earlier answers, and one is run only if its rho and those of all earlier ones add up to at most a
bound that was fixed before, then all answers together are zero-concentrated with that bound.
So a program that decides by what it saw how exactly it measures next, and when it ends, costs no
more than its bound (``RhoFilter``).  One whose steps are fixed beforehand is charged for just these
(``PlannedSteps``): taking fewer of them is post-processing of taking all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf
from discreet.errors import OverBudget
from discreet.mechanisms import Exponential, Gaussian, Laplace
from discreet.noise import Entropy
from discreet.plan.pricing.calibration import epsilon_sum, rho_sum
from discreet.synthetic.dual_query.conjunctions import Conjunctions, count_conjunctions
from discreet.synthetic.dual_query.oracle import Oracle
from discreet.synthetic.dual_query.settings import DualQuerySettings, play
from discreet.synthetic.evidence import Measured, Selection
from discreet.synthetic.inference.inference import Marginal
from discreet.synthetic.joint import (
    GRID,
    LARGEST_COUNT,
    JointHistogram,
    UnitMoves,
    concentrated_leaf,
)
from discreet.units import PrivacyUnit

_LARGEST: Final = 1 << 62
_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1

Vector = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A marginal that may be selected: its weight, what the model expects of it, and a penalty.

    ``penalty`` is in rows, and taken off the distance between counts and expected counts.
    """

    marginal: Marginal
    expected: Vector
    weight: int = 1
    penalty: float = 0.0


def on_grid(expected: Vector) -> NDArray[np.int64]:
    """Round public numbers to the grid, within the range of counts.

    >>> on_grid(np.array([0.5, -1.0, float("nan")])).tolist()
    [524288, 0, 0]
    """
    inside = np.clip(np.nan_to_num(expected.ravel()), 0.0, float(LARGEST_COUNT))
    return np.rint(inside * GRID).astype(np.int64)


def _exact_sum(values: NDArray[np.int64]) -> int:
    """Add up many numbers from 0 to 2**61."""
    return (int((values >> _HALF).sum()) << _HALF) + int((values & _LOW).sum())


def _clamped(score: int) -> int:
    return max(-_LARGEST >> 1, min(_LARGEST >> 1, score))


@final
class JointMeasurer:
    """Draws what a program asks for, once it is spent, and keeps what was drawn.

    >>> from discreet.units import row
    >>> from discreet.noise import KeyedEntropy
    >>> from discreet.synthetic.measurer import RhoFilter
    >>> wards = JointHistogram((2,), (np.array([0, 1], np.uint8),), np.array([500, 700]))
    >>> stream = KeyedEntropy(key=bytes(32), label="doctest")
    >>> see = JointMeasurer(wards, UnitMoves(1, row()), RhoFilter(Fraction(1), row()), stream)
    >>> bool(abs(see.measure((0,), Gaussian(variance=2)).values - [500, 700]).max() < 9)
    True
    """

    __slots__ = ("_entropy", "_joint", "_measured", "_moves", "_rounds", "_spending")

    def __init__(
        self, joint: JointHistogram, moves: UnitMoves, spending: Spending, entropy: Entropy
    ) -> None:
        """Take the histogram, how one unit moves it, who decides on steps, and random bits."""
        self._joint = joint
        self._moves = moves
        self._spending = spending
        self._entropy = entropy
        self._measured: list[Measured] = []
        self._rounds = 0

    @property
    def measured(self) -> tuple[Measured, ...]:
        """What was measured so far, in order."""
        return tuple(self._measured)

    @property
    def spent(self) -> Fraction:
        """What was spent so far."""
        return self._spending.spent

    def measure(
        self,
        marginal: Marginal,
        noise: Gaussian | Laplace,
        *,
        cell: int | None = None,
        selection: Selection | None = None,
    ) -> Measured:
        """Measure all cells of a marginal, or one of them."""
        counts = self._joint.marginal(marginal)
        if cell is not None:
            counts = counts[cell : cell + 1]
        self._spending.spend(self._moves.measured(noise, single=cell is not None or not marginal))
        values = np.asarray(noise.run(counts, entropy=self._entropy), dtype=np.int64)
        gaussian = isinstance(noise, Gaussian)
        found = Measured(
            marginal=marginal,
            values=values,
            law="gaussian" if gaussian else "laplace",
            scale=noise.variance if isinstance(noise, Gaussian) else noise.scale,
            cell=cell,
            selection=selection,
        )
        self._measured.append(found)
        return found

    def select(self, candidates: Sequence[Candidate], scale: Fraction) -> tuple[int, Selection]:
        """Select the marginal that the model gets most wrong."""
        weight = max(candidate.weight for candidate in candidates)
        step = self._moves.selected(scale, candidates=len(candidates), weight=weight)
        self._spending.spend(step)
        scores = [self._score(candidate) for candidate in candidates]
        distance = Fraction(weight * self._moves.l1)
        return self._chosen(scores, scale, distance)

    def select_cell(
        self, expected: Sequence[tuple[Marginal, Vector]], scale: Fraction
    ) -> tuple[Marginal, int, Selection]:
        """Select the cell of one of some marginals that the model gets most wrong."""
        sizes = [public.size for _, public in expected]
        self._spending.spend(self._moves.selected_cell(scale, candidates=sum(sizes)))
        gaps = [
            np.abs(self._joint.marginal(marginal) * GRID - on_grid(public))
            for marginal, public in expected
        ]
        scores = np.concatenate(gaps)
        place, selection = self._chosen(scores, scale, Fraction(self._moves.rows))
        ends = np.cumsum(sizes)
        which = int(np.searchsorted(ends, place, side="right"))
        return expected[which][0], place - int(ends[which]) + sizes[which], selection

    def play(
        self, queries: Conjunctions, settings: DualQuerySettings, *, oracle: Oracle, stream: Entropy
    ) -> NDArray[np.int64]:
        """Play the game of DualQuery; the price is that of all its draws (key ``dual-query``)."""
        moves = self._moves
        rho = settings.rho(moved=moves.rows, replaces=moves.replaces)
        if rho:
            self._spending.spend(concentrated_leaf(rho, moves.unit))
        held, missed = count_conjunctions(queries, self._joint.codes, self._joint.counts)
        drawn = play(
            queries, held, missed, settings, oracle=oracle, stream=stream, entropy=self._entropy
        )
        return drawn.astype(np.int64)

    def _score(self, candidate: Candidate) -> int:
        counts = self._joint.marginal(candidate.marginal)
        gap = _exact_sum(np.abs(counts * GRID - on_grid(candidate.expected)))
        return _clamped(candidate.weight * (gap - round(candidate.penalty * GRID)))

    def _chosen(
        self, scores: Sequence[int] | NDArray[np.int64], scale: Fraction, distance: Fraction
    ) -> tuple[int, Selection]:
        choice = Exponential(candidates=len(scores), scale=scale * GRID)
        place = choice.run(scores, entropy=self._entropy)
        selection = Selection(
            round=self._rounds, candidates=len(scores), scale=scale, distance=distance
        )
        self._rounds += 1
        return place, selection


class Spending(Protocol):
    """Decides whether a step may be taken."""

    @property
    def spent(self) -> Fraction:
        """What was spent so far."""
        ...

    def spend(self, step: Leaf) -> None:
        """Spend the price of a step that is about to be taken, or refuse it."""
        ...


@final
class RhoFilter:
    """Steps of any kind, as long as their rhos add up to no more than a bound.

    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.units import row
    >>> left = RhoFilter(Fraction(1, 8), row())
    >>> left.spend(Leaf(Gaussian(variance=8)))
    >>> left.left
    Fraction(1, 16)
    """

    __slots__ = ("_bound", "_spent", "_unit")

    def __init__(self, bound: Fraction, unit: PrivacyUnit) -> None:
        """Take the bound, and whom it is about."""
        self._bound = bound
        self._unit = unit
        self._spent = Fraction(0)

    @property
    def spent(self) -> Fraction:
        """The rho of all steps so far."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """The rho that is left."""
        return self._bound - self._spent

    def price(self, step: Leaf) -> Fraction:
        """Return the rho of a step; it may not rest on an event of some probability."""
        rho, beside = rho_sum(step, self._unit)
        if beside:
            raise refused_step()
        return rho

    def spend(self, step: Leaf) -> None:
        """Spend the rho of a step, or refuse it."""
        after = self._spent + self.price(step)
        if after > self._bound:
            raise refused_step()
        self._spent = after


@final
class PlannedSteps:
    """Steps that were fixed beforehand, in any order, each as often as it was planned.

    >>> from discreet.mechanisms import Gaussian
    >>> from discreet.units import row
    >>> steps = PlannedSteps([Leaf(Gaussian(variance=8))], row())
    >>> steps.spend(Leaf(Gaussian(variance=8)))
    >>> steps.spend(Leaf(Gaussian(variance=8)))
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: a step of a program was not planned.
    ...
    """

    __slots__ = ("_left", "_pure", "_spent", "_unit")

    def __init__(self, steps: Iterable[Leaf], unit: PrivacyUnit, *, pure: bool = False) -> None:
        """Take all steps; ``pure`` says that epsilon is counted, and not rho."""
        self._left = Counter(map(_without_count, steps))
        self._unit = unit
        self._pure = pure
        self._spent = Fraction(0)

    @property
    def spent(self) -> Fraction:
        """The rho, or the epsilon, of all steps so far."""
        return self._spent

    def spend(self, step: Leaf) -> None:
        """Strike out a step, or refuse it."""
        planned = _without_count(step)
        if self._left[planned] < 1:
            raise refused_step()
        self._left[planned] -= 1
        price = epsilon_sum(step, self._unit) if self._pure else rho_sum(step, self._unit)
        if price is not None:
            self._spent += price[0]


def _without_count(step: Leaf) -> Leaf:
    """Return a selection among any number of candidates: its loss is that of its scale."""
    if not isinstance(step.source, Exponential):
        return step
    choice = Exponential(candidates=1, scale=step.source.scale, change=step.source.change)
    return Leaf(choice, name=step.name, unit=step.unit, added=step.added, replaced=step.replaced)


def refused_step() -> OverBudget:
    """Return the error for a step that was not paid for."""
    return OverBudget(
        what="a step of a program was not planned.",
        why="it would cost more than was charged.",
        do="report this: a program takes the steps that its plan has paid for.",
    )
