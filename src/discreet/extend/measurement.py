"""What a workshop measures, at what price, and the one place where it sees sums: with their noise.

Trust: kernel.  The noise is planned before a row is read, and a sum that could move further than
its plan says, or one that was not planned, is refused.

Definition.  A *planned sum* says by how much one row moves it, in how many places, how often it is
taken and which share of the price it gets.  A unit has at most ``rows`` rows, so that it moves the
sum by at most ``rows`` times as much (keys ``integer-rows``, ``row-tables``, ``moment-matrix``).
A price in rho, or in epsilon and delta, is spent on Gaussian noise, shared out in rho; a price in
epsilon alone on Laplace noise, shared out in epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.arrays import saturating_add
from discreet.errors import OutOfRange, OverBudget, WrongKind
from discreet.exact import decimal, positive
from discreet.extend.row_counts import rows_of_unit
from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import Entropy
from discreet.noise.laplace import drawn_together
from discreet.plan.pricing.calibration import Price, gaussian_rho, loss_of, price_of
from discreet.plan.pricing.group_sensitivity import root_up
from discreet.requests.engine_request import EngineRequest
from discreet.units import PrivacyUnit, Relation

Integers = NDArray[np.int64]

_STEP: Final = Fraction(255, 256)
_NEARLY: Final = 1 - Fraction(1, 1 << 14)  # one quick comparison then proves most prices
_TRIES: Final = 400
_AHEAD: Final = 1 << 16  # numbers of noise of one sum that are drawn at once
_TOGETHER: Final = 1 << 12  # numbers of noise of a whole fit, if it is drawn at once


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPrice:
    """What a release may cost: epsilon with or without delta, or rho.

    >>> AskedPrice.read(epsilon="0.5", delta="1e-6", rho=None).delta
    Fraction(1, 1000000)
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def read(
        cls, *, epsilon: object = None, delta: object = None, rho: object = None
    ) -> AskedPrice:
        """Read what a person typed; the same once for all that a fit asks."""
        try:
            return _read(epsilon, delta, rho)
        except TypeError:  # a list, say, which is refused
            return _read.__wrapped__(epsilon, delta, rho)

    @property
    def pure(self) -> bool:
        """Whether epsilon is all there is."""
        return self.rho is None and self.delta is None

    @property
    def nearly_rho(self) -> Fraction:
        """What it comes to in rho: as Gaussian noise for epsilon and delta, or as pure epsilon.

        >>> AskedPrice.read(epsilon="0.2").nearly_rho
        Fraction(1, 50)
        """
        if self.rho is not None or self.epsilon is None:
            return self.rho or Fraction(0)
        if self.delta is None:
            return self.epsilon**2 / 2
        return gaussian_rho(self.epsilon, self.delta)

    def document(self) -> dict[str, str | None]:
        """Return it in plain JSON."""
        fields = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: None if value is None else str(value) for name, value in fields.items()}


@lru_cache(maxsize=64, typed=True)
def _read(epsilon: object, delta: object, rho: object) -> AskedPrice:
    if (epsilon is None) == (rho is None):
        raise WrongKind("give epsilon=1 with delta='1e-6', say, or rho=0.1, and not both.")
    chance = None if delta is None else decimal(delta, name="delta")
    if chance is not None and not 0 <= chance < 1:
        raise OutOfRange("delta must be from 0 to below 1.")
    numbers = [
        None if value is None else positive(decimal(value, name=name), name=name)
        for name, value in (("epsilon", epsilon), ("rho", rho))
    ]
    return AskedPrice(epsilon=numbers[0], delta=chance or None, rho=numbers[1])


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoundedSum:
    """A sum of integer vectors, one of bounded length for each row; shows nothing.

    ``squared`` bounds the square of the L2 norm and ``linear`` the L1 norm of what a row adds;
    ``opposed`` says that what two rows add may point in opposite directions.
    """

    values: Integers
    squared: int
    linear: int
    opposed: bool

    def __repr__(self) -> str:
        """Show nothing: the sum has no noise yet."""
        return "BoundedSum(hidden)"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSum:
    """A sum that is taken ``times`` times, with what one row adds to it at most."""

    name: str
    squared: int
    linear: int
    opposed: bool
    coordinates: int
    times: int = 1
    share: Fraction = Fraction(1)

    def leaf(self, noise: Gaussian | Laplace, *, unit: PrivacyUnit, rows: int) -> Leaf:
        """Return the loss of taking it once, for a unit of this number of rows."""
        if isinstance(noise, Laplace):
            added = Fraction(rows * self.linear)
            replaced = 2 * added
        else:
            added = root_up(rows**2 * self.squared)
            factor = 4 if self.opposed else 2
            replaced = min(root_up(factor * rows**2 * self.squared), 2 * added)
        return Leaf(
            noise,
            name=self.name,
            unit=_added(unit),
            added=added,
            replaced=replaced if unit.relation.replaces else None,
            coordinates=1 if isinstance(noise, Laplace) else self.coordinates,
        )

    @property
    def numbers(self) -> int:
        """How many numbers it has, all times together."""
        return self.times * self.coordinates

    def moved(self, *, unit: PrivacyUnit, rows: int) -> int:
        """Return the square of how far a unit moves it in L2."""
        factor = (4 if self.opposed else 2) if unit.relation.replaces else 1
        return factor * rows**2 * self.squared


def _added(unit: PrivacyUnit) -> PrivacyUnit:
    if unit.relation is Relation.ADD_REMOVE:
        return unit
    return PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SumSchedule:
    """Planned sums with their noise, for a unit of at most this number of rows."""

    sums: tuple[PlannedSum, ...]
    noises: tuple[Gaussian | Laplace, ...]
    unit: PrivacyUnit
    rows: int
    asked: AskedPrice
    tree: Node = field(init=False, repr=False, compare=False)
    """The charged loss."""

    def __post_init__(self) -> None:
        """Compose the leaves, once."""
        leaves = [
            Repeat(leaf, each.times) if each.times > 1 else leaf
            for each, leaf in zip(self.sums, self.leaves, strict=True)
        ]
        tree = leaves[0] if len(leaves) == 1 else Sequential(*leaves)
        object.__setattr__(self, "tree", tree)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """What each sum costs once."""
        pairs = zip(self.sums, self.noises, strict=True)
        return tuple(each.leaf(noise, unit=self.unit, rows=self.rows) for each, noise in pairs)

    @property
    def price(self) -> Price:
        """What all of it is proved to cost."""
        return price_of(self.tree, self.unit, self.asked.delta)

    @property
    def numbers(self) -> int:
        """How many numbers all sums have together."""
        return sum(each.numbers for each in self.sums)

    def charged(self, request: EngineRequest, unit: PrivacyUnit) -> Node:
        """Return the tree, if this is planned for what engines enforce of a request."""
        if self.rows != rows_of_unit(request) or self.unit != unit:
            raise OutOfRange(
                "sums are planned for other bounds than their request has: plan them with "
                "rows=rows_of_unit(request), for the unit of the session."
            )
        return self.tree

    def noise(self, name: str) -> Gaussian | Laplace:
        """Return the noise of a sum."""
        return next(n for s, n in zip(self.sums, self.noises, strict=True) if s.name == name)


def scheduled(
    sums: Sequence[PlannedSum], asked: AskedPrice, *, unit: PrivacyUnit, rows: int
) -> SumSchedule:
    """Return the least noise, nearly, that keeps a price.

    >>> from discreet.units import row
    >>> one = PlannedSum(name="n", squared=1, linear=1, opposed=False, coordinates=4)
    >>> scheduled([one], AskedPrice.read(epsilon="0.5"), unit=row(), rows=3).noises[0].scale
    Fraction(6, 1)
    """
    return _schedule(tuple(sums), asked, unit, rows)


@lru_cache(maxsize=128)  # a price is the same each time, and finding its noise takes long
def _schedule(
    sums: tuple[PlannedSum, ...], asked: AskedPrice, unit: PrivacyUnit, rows: int
) -> SumSchedule:
    total = sum((each.share for each in sums), Fraction(0))
    if asked.pure:
        noises: list[Gaussian | Laplace] = []
        for each in sums:
            moved = each.linear * rows * (2 if unit.relation.replaces else 1)
            part = (asked.epsilon or Fraction(1)) * each.share / total
            noises.append(Laplace(scale=moved * each.times / part))
        return SumSchedule(sums=sums, noises=tuple(noises), unit=unit, rows=rows, asked=asked)

    parts = [
        Fraction(each.moved(unit=unit, rows=rows) * each.times) * total / (2 * each.share)
        for each in sums
    ]

    def at(rho: Fraction) -> SumSchedule:
        noises = [Gaussian(variance=part / rho) for part in parts]
        return SumSchedule(sums=sums, noises=tuple(noises), unit=unit, rows=rows, asked=asked)

    if asked.rho is not None:
        return at(asked.rho)
    return _within(at, asked)


def _within(at: Callable[[Fraction], SumSchedule], asked: AskedPrice) -> SumSchedule:
    """Return the schedule of nearly the largest rho that keeps epsilon and delta, as proved."""
    epsilon, delta = asked.epsilon or Fraction(0), asked.delta or Fraction(0)
    rho = Fraction(float(gaussian_rho(epsilon, delta))) * _NEARLY
    for _ in range(_TRIES):
        schedule = at(rho)
        if loss_of(schedule.tree, schedule.unit).keeps(epsilon=epsilon, delta=delta):
            return schedule
        rho *= _STEP
    raise OutOfRange(
        "no noise was found that keeps this epsilon and delta: give a larger epsilon or delta, or "
        "a price in rho."
    )


@final
class Measurer:
    """Takes planned sums, each as often as it was planned, and returns them with noise.

    >>> from discreet.noise import KeyedEntropy
    >>> from discreet.units import row
    >>> one = PlannedSum(name="n", squared=1, linear=1, opposed=False, coordinates=2)
    >>> plan = scheduled([one], AskedPrice.read(epsilon=1), unit=row(), rows=1)
    >>> see = Measurer(plan, KeyedEntropy(key=bytes(32), label="doctest"))
    >>> see.measure("n", BoundedSum(np.array([500, 700]), 1, 1, False)).shape
    (2,)
    """

    __slots__ = ("_ahead", "_entropy", "_left", "_planned", "_schedule")

    def __init__(self, schedule: SumSchedule, entropy: Entropy) -> None:
        """Take what was planned, and random bits."""
        self._schedule = schedule
        self._entropy = entropy
        self._ahead: dict[str, list[Integers]] = {}
        self._planned = {each.name: each for each in reversed(schedule.sums)}
        self._left = {name: each.times for name, each in self._planned.items()}

    @property
    def entropy(self) -> Entropy:
        """Random bits for choices that do not depend on data."""
        return self._entropy

    def measure(self, name: str, total: BoundedSum) -> Integers:
        """Return a sum with noise; refuse one that was not planned, or moves further."""
        planned = self._planned.get(name)
        fits = (
            planned is not None
            and self._left[name] > 0
            and total.squared <= planned.squared
            and total.linear <= planned.linear
            and total.values.size <= planned.coordinates
            and (planned.opposed or not total.opposed)
        )
        if planned is None or not fits:
            raise OverBudget(
                what="a workshop takes a sum that was not planned.",
                why="it would cost more than was charged.",
                do="report this: a workshop takes the sums that its plan has paid for.",
            )
        noise = self._drawn(planned)
        self._left[name] -= 1
        return saturating_add(np.asarray(total.values, np.int64), noise[: total.values.size])

    def noise(self, name: str) -> Gaussian | Laplace:
        """Return the distribution of the noise of a sum, which is public."""
        return self._schedule.noise(name)

    def _drawn(self, planned: PlannedSum) -> Integers:
        """Return noise for one more time; that of several times is drawn at once, used once."""
        if not self._ahead and self._schedule.numbers <= _TOGETHER:
            self._draw_everything()
        ahead = self._ahead.setdefault(planned.name, [])
        if not ahead:
            times = min(self._left[planned.name], max(1, _AHEAD // planned.coordinates))
            zeros = np.zeros((times, planned.coordinates), np.int64)
            ahead.extend(self.noise(planned.name).run(zeros, entropy=self._entropy))
        return ahead.pop()

    def _draw_everything(self) -> None:
        """Draw the noise of all sums, for as often as each was planned."""
        sums = self._schedule.sums
        laws = [noise.law for noise in self._schedule.noises]
        drawn = drawn_together(laws, [each.numbers for each in sums], self._entropy)
        for each, noise in zip(sums, drawn, strict=True):
            numbers = list(noise.reshape(each.times, each.coordinates))
            self._ahead.setdefault(each.name, numbers)
