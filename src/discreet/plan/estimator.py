"""Estimators: what an aggregate is computed from, and how far off it will be.

Trust: kernel.  A measure that an estimator needs and does not name would get no noise.

Definition.  Let T(m) be the noisy total of measure m in a group, in whole steps.

    Count(m)                       T(m), the noisy number of units among them
    Sum(m, step, center, count)    step T(m) + center T(count)
    Mean(m, count, ...)            center + step T(m) / T(count), within [low, high]
    Variance(m, squares, ...)      mean of squares minus square of the mean, at least 0

Estimators that choose a value among public ones define it in their own files.
``step`` is the value of one step of an integer total, and ``center`` what was subtracted from each
value before it was added up.  All of it is computed from what is released already.

The *error* of an aggregate is how far it is, at most, from the same aggregate of the bounded rows
without noise, with the confidence.  If bounds are still to be found, errors are forecast for
bounds from 0 to about 2**20, a number that nobody declares; that is their width w and the larger of
them in size, b.  Noise on a sum is proportional to b, noise on a mean to w and on a variance to
w**2, but for the rounding to steps.  So errors are said as multiples of these.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, final

from discreet import mechanisms
from discreet.errors import TooLarge
from discreet.exact import float_up
from discreet.plan.noise_errors import Additive, half_width
from discreet.plan.pricing.cube_strategy import CubeStrategy, Keys, entry_terms
from discreet.plan.pricing.group_sensitivity import Noise, ReleaseInput, Releases
from discreet.plan.pricing.linear_strategy import CellSensitivity
from discreet.plan.pricing.release_parts import LeafPart
from discreet.plan.statistics.contribution_bounds import ContributionBounds, Pair
from discreet.query.types import Type
from discreet.requests.engine_request import Leaves

REFERENCE_WIDTH: Final = 2**20 + Fraction(7, 3)
REFERENCE: Final[Pair] = (Fraction(0), REFERENCE_WIDTH)
"""Placeholders for bounds that are not known yet."""

_BELOW: Final = Fraction(1, 10)
_LARGEST_FLOAT: Final = Fraction(sys.float_info.max)

Factors = Mapping[str, Fraction]
"""Factors of the noises of measures."""

Linear = tuple[Factors, Fraction]
"""Factors of the noises of measures, and how far rounding moves the result besides."""

Choice = tuple[str, Fraction | str, int]
"""A choice of a leaf: its measure, what is chosen, and the offset."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """How far an output is from the truth about the bounded rows, at the confidence of the plan.

    ``half_width`` is None if that depends on the data; ``words`` says it in any case.  ``reach``
    is how far an interval goes to each side, if that is further.

    >>> Predicted(output="visits", half_width=Fraction(5), words="± 5").half_width
    Fraction(5, 1)
    """

    output: str
    half_width: Fraction | None
    words: str
    reach: Fraction | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseForecast:
    """How far the noise of a plan reaches.

    ``size`` is a public guess of how many rows of a group count, and ``level`` the grouping set
    that the group is of, where there are several.
    """

    releases: Releases
    confidence: Fraction
    size: int | None = None
    level: Keys | None = None
    _drawn: Mapping[str, Additive] = field(init=False, compare=False, repr=False)
    _shared: Mapping[str, Noise] = field(init=False, compare=False, repr=False)
    _cubes: Mapping[str, CubeStrategy] = field(init=False, compare=False, repr=False)
    _sums: Mapping[str, tuple[Noise, tuple[int, ...]]] = field(
        init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        """Find noises by what they are added to, once for all outputs."""
        noises = self.releases.noises
        drawn = {noise.measure: noise.mechanism for noise in noises}
        strategies = ((noise, noise.distances.strategy) for noise in noises)
        known = [(noise, each) for noise, each in strategies if each is not None]
        shared = {
            name: noise for noise, each in known if not each.source.frames for name in each.names
        }
        sums = {name: (noise, at) for noise, each in known for name, at in each.source.frames}
        cubes = {
            noise.measure: noise.distances.cells
            for noise in noises
            if isinstance(noise.distances, CellSensitivity)
            and isinstance(noise.distances.cells, CubeStrategy)
        }
        object.__setattr__(self, "_drawn", drawn)
        object.__setattr__(self, "_cubes", cubes)
        object.__setattr__(self, "_sums", sums)
        object.__setattr__(self, "_shared", shared)

    def noise(self, measure: str) -> Additive:
        """Return the noise on a measure."""
        if measure in self._drawn:
            return self._drawn[measure]
        keys = self.releases.selection
        if self.releases.chosen_by == measure and isinstance(keys, mechanisms.NoisyKeys):
            return keys.noise
        message = f"nothing is released of {measure}"
        raise LookupError(message)

    def half_width(self, terms: Factors, confidence: Fraction | None = None) -> Fraction:
        """Return how far a sum of multiples of noises is from zero, at most."""
        return self.repeated(terms, 1, confidence)

    def summed(self, name: str) -> Fraction | None:
        """Return how far a count or a window is off that is computed from sums of groups, at most.

        None if it is computed from the noisy totals of groups.
        """
        if name not in self._sums:
            return None
        noise, places = self._sums[name]
        strategy = noise.distances.strategy
        assert strategy is not None  # noqa: S101 (that is where the places come from)
        terms = {
            tuple(sorted(abs(Fraction(weight)) for _, weight in strategy.answers[at][1]))
            for at in places
        }
        widths = (
            half_width(tuple((each, noise.mechanism) for each in weights), self.confidence)
            for weights in terms
        )
        return max(widths) + (Fraction(0) if strategy.whole else Fraction(1, 2))

    def repeated(self, terms: Factors, times: int, confidence: Fraction | None = None) -> Fraction:
        """Return the same for a sum of so many groups, each with noises of its own."""
        sure = self.confidence if confidence is None else confidence
        return half_width(tuple(self._noises(terms)), sure, times=times)

    def rounding(self, terms: Factors) -> Fraction:
        """Return how far counts of a workload are moved by being rounded to whole numbers."""
        moved = Fraction(0)
        for name, factor in terms.items():
            noise = self._shared.get(name)
            strategy = None if noise is None else noise.distances.strategy
            if strategy is not None and not strategy.whole:
                moved += abs(factor) / 2
        return moved

    def _noises(self, terms: Factors) -> Iterator[tuple[Fraction, Additive]]:
        """Yield all noises of a sum; counts of a workload may share some."""
        rest = dict(sorted(terms.items()))
        together: dict[str, tuple[Noise, dict[str, Fraction]]] = {}
        for name in [name for name in rest if name in self._shared]:
            noise = self._shared[name]
            together.setdefault(noise.measure, (noise, {}))[1][name] = rest.pop(name)
        for noise, parts in together.values():
            strategy = noise.distances.strategy
            assert strategy is not None  # noqa: S101 (that is where the names come from)
            for factor in strategy.expanded(parts).values():
                yield factor, noise.mechanism
        for name, factor in rest.items():
            cube = None if self.level is None else self._cubes.get(name)
            if cube is None or self.level is None:
                yield factor, self.noise(name)
            else:
                for weight, law in entry_terms(cube, self.noise(name), self.level):
                    yield factor * weight, law

    def drawn_half_width(self, terms: Factors) -> Fraction:
        """Return the same without a count that selects the groups, which has its own noise."""
        drawn = {**self._drawn, **self._shared}
        return self.half_width({name: terms[name] for name in terms if name in drawn})

    def divided(self, count: str, *numerators: Factors) -> tuple[list[Fraction], Fraction]:
        """Return the half-widths of numerators, and the least number of rows that is believed."""
        miss = 1 - self.confidence
        part = (1 - _BELOW) * miss / len(numerators)
        below = self.half_width({count: Fraction(1)}, 1 - 2 * _BELOW * miss)  # on one side
        widths = [self.half_width(terms, 1 - part) for terms in numerators]
        return widths, Fraction(self.size or 0) - below

    def sized(self, name: str, half: Fraction) -> Predicted:
        """Return an error that holds for groups of the size that was guessed."""
        words = f"± {four_digits_up(half)} with {self.size} rows in the group"
        return Predicted(output=name, half_width=half, words=words)


class Estimator(ABC):
    """What an aggregate of a question is computed from.

    ``listed`` says that every group has a list of values, and ``counts`` that it is a plain number
    of rows, of different values, or of units.
    """

    __slots__ = ()
    listed: ClassVar[bool] = False
    counts: ClassVar[bool] = False

    @abstractmethod
    def inputs(self) -> Iterator[ReleaseInput]:
        """Yield what has to be released for it, in the order in which it is drawn."""

    @abstractmethod
    def value(self, kind: Type, noisy: Any) -> Any:
        """Return its value in every group, of :class:`discreet.aggregates.noisy_totals.Noisy`.

        It is a tuple of these for a list of values.
        """

    @abstractmethod
    def range(self, known: Any, box: Any, coordinates: int = 0) -> Any:
        """Return its range over a box of totals, where so many intervals hold together."""

    def interval(self, known: Any) -> Any:
        """Return its interval in every group, or None."""
        return self.range(known, known.box(self.totals()))

    def totals(self) -> tuple[str, ...]:
        """Return the noisy totals that it needs, each once."""
        return tuple(dict.fromkeys(name for name, level in self.inputs() if level is None))

    def choices(self) -> tuple[Choice, ...]:
        """Return the leaves that have to be chosen for it."""
        return ()

    def leaf_part(
        self, use: ReleaseInput, histogram: Leaves, limits: ContributionBounds
    ) -> LeafPart:
        """Return how a leaf of a histogram is chosen for it."""
        del limits
        message = f"nothing of {histogram.name} is chosen at {use[1]} for {type(self).__name__}"
        raise LookupError(message)

    def single(self) -> tuple[Estimator, ...]:
        """Return the numbers of which it has several, one by one."""
        return (self,)

    def aimed(self, offsets: Mapping[ReleaseInput, int]) -> Estimator:  # noqa: ARG002
        """Return the same with the offsets at which leaves are chosen, once these are known."""
        return self

    def steps(self) -> Factors:
        """Return what one step of each total stands for that is clamped to bounds on values."""
        return {}

    def clamped(self) -> tuple[str, ...]:
        """Return the measures that depend on bounds on values."""
        return tuple(self.steps())

    def value_bounds(self) -> tuple[Fraction, Fraction] | None:
        """Return the bounds of a value that is chosen among those of the rows; None for others."""
        return None

    def error_terms(self) -> dict[ReleaseInput, Fraction]:
        """Return by what the noise of each input is multiplied in the error, about.

        Means are multiplied by their number of rows, and so are variances, whose error is taken to
        first order, with the worst mean.
        """
        return {use: Fraction(1) for use in self.inputs()}

    def weight(self, use: ReleaseInput) -> int:  # noqa: ARG002
        """Return how much an input weighs where a price is divided (key ``split-shares``)."""
        return 2

    def linear(self, kind: Type) -> Linear | None:  # noqa: ARG002
        """Return it as a sum of multiples of noisy totals, shown as a type, if it is one."""
        return None

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted | None:  # noqa: ARG002
        """Return the error of an output that is more than a sum of noisy totals."""
        return None

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:  # noqa: ARG002
        """Say an error, forecast for the reference bounds, in terms of bounds to be found."""
        return predicted.words


def four_digits_up(number: Fraction) -> str:
    """Show a number to four digits, never less than it is.

    >>> four_digits_up(Fraction(1, 3)), four_digits_up(Fraction(12))
    ('0.3334', '12')
    >>> four_digits_up(Fraction(123456))
    '123500'
    """
    if number == 0:
        return "0"
    if number > _LARGEST_FLOAT:
        raise TooLarge(
            what="the error of an output is beyond the largest FLOAT.",
            why="neither the output nor its error could be shown.",
            do="multiply by smaller numbers, or measure in a coarser unit.",
        )
    digits = 3 - math.floor(math.log10(float_up(number)))
    rounded = math.ceil(number * Fraction(10) ** digits) / Fraction(10) ** digits
    if rounded.denominator == 1 and rounded < 10**9:
        return str(rounded)
    return f"{float(rounded):.4g}"
