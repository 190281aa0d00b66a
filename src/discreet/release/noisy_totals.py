"""What the mechanisms gave: noisy totals and chosen leaves, from which all else is computed.

Trust: kernel.  No number without noise is ever stored here.

Definition.  A noisy total is a weighted mean of one or more runs of mechanisms on the same total.
Its *interval* holds the total without noise with a given probability:

    one or more runs of which none decides whether the group is shown: value ± ``half_width``
    a count that showed its group by reaching a threshold: ``shown-interval``
    several runs with such a count among them: the weighted mean of the ends of all intervals, each
    for so many coordinates more that all of them hold together

Where several coordinates are asked for, the intervals of so many totals hold at the same time.
Counts of a workload are sums of multiples of the same runs, and so not independent: each of m may
miss with an m-th of the chance.  With other totals among the m it is never too much: of those that
are independent, j stay within theirs with the chance c**(j / m), and the others with
1 - (m - j) (1 - c) / m, which is at least c**((m - j) / m), since c**t is convex in t.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import mechanisms
from discreet.plan.pricing.cell_strategy import CellStrategy
from discreet.plan.pricing.group_sensitivity import LeafChoice
from discreet.release.confidence_intervals.half_width import (
    Terms,
    coordinate_confidence,
    half_width,
    selected_count_intervals,
)
from discreet.release.confidence_intervals.noise_tails import Additive
from discreet.release.interval_arithmetic import Ends, added, multiplied
from discreet.release.value_arrays import Rationals, weighted
from discreet.requests.raw_totals import Integers, taken

__all__ = ["Chosen", "Noisy", "NoisyTotal", "Run", "drawn_sums", "joined_totals"]

_ONE = Fraction(1)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One run of a mechanism over all groups, and its weight in a mean.

    ``keys`` is the choice of keys that showed the groups by these very numbers, if one did.
    """

    values: Integers
    mechanism: Additive
    keys: mechanisms.NoisyKeys | None = None
    weight: Fraction = _ONE


@final
@dataclass(frozen=True, slots=True)
class NoisyTotal:
    """A total with noise in every group.

    >>> from discreet.mechanisms import Laplace
    >>> total = NoisyTotal((Run(values=np.array([40, 7]), mechanism=Laplace(scale=2)),))
    >>> [end.tolist() for end in total.interval(Fraction(19, 20))]
    [[34.0, 1.0], [46.0, 13.0]]

    ``shared`` says that other totals hold some of the same runs.
    """

    runs: tuple[Run, ...]
    shared: bool = False

    @property
    def linear(self) -> bool:
        """Whether the error is plain noise, whatever else is known."""
        return all(run.keys is None for run in self.runs)

    def terms(self, factor: Fraction = _ONE) -> Terms:
        """Return the noises that a multiple of this total holds."""
        return tuple((factor * run.weight, run.mechanism) for run in self.runs)

    def exact(self) -> Rationals:
        """Return the value of every group."""
        return weighted([(run.weight, run.values) for run in self.runs])

    def interval(self, confidence: Fraction, coordinates: int = 1) -> Ends:
        """Return what the total without noise lies between."""
        if len(self.runs) == 1 and not self.linear:
            return _interval(self.runs[0], confidence, coordinates)
        if self.shared:
            confidence, coordinates = 1 - (1 - confidence) / coordinates, 1
        if self.linear:
            return self.exact().within(half_width(self.terms(), confidence, coordinates))
        return self._averaged(confidence, coordinates * len(self.runs))

    def _averaged(self, confidence: Fraction, coordinates: int) -> Ends:
        """Return the weighted mean of the intervals of all runs."""
        ends = np.zeros(self.runs[0].values.shape), np.zeros(self.runs[0].values.shape)
        for run in self.runs:
            low, high = _interval(run, confidence, coordinates)
            weight = np.full(low.shape, float(run.weight))
            ends = added(ends, multiplied((weight, weight), (low, high)))
        return ends

    def taken(self, places: NDArray[np.int64]) -> NoisyTotal:
        """Return the groups at these places."""
        runs = tuple(replace(run, values=run.values[places]) for run in self.runs)
        return replace(self, runs=runs)


def joined_totals(
    strategy: CellStrategy, mechanism: Additive, drawn: Integers
) -> dict[str, NoisyTotal]:
    """Return the counts of a workload, from the noisy sums of all groups, group by group."""
    columns = np.ascontiguousarray(drawn.reshape(-1, len(strategy.sums)).T)
    return {
        name: NoisyTotal(
            tuple(
                Run(values=columns[place], mechanism=mechanism, weight=Fraction(weight))
                for place, weight in weights
            ),
            shared=True,
        )
        for name, weights in strategy.answers
    }


def drawn_sums(strategy: CellStrategy, totals: Mapping[str, NoisyTotal]) -> Integers:
    """Return the noisy sums that the counts of a workload hold; each is part of some count."""
    size = totals[strategy.names[0]].runs[0].values.size
    drawn = np.empty((size, len(strategy.sums)), np.int64)
    for name, weights in strategy.answers:
        for (place, _), run in zip(weights, totals[name].runs, strict=True):
            drawn[:, place] = run.values
    return drawn.ravel()


def _interval(run: Run, confidence: Fraction, coordinates: int) -> Ends:
    if run.keys is None:
        return NoisyTotal((replace(run, weight=_ONE),)).interval(confidence, coordinates)
    low, high = selected_count_intervals(
        run.keys, run.values, coordinate_confidence(confidence, coordinates).high
    )
    return weighted([(_ONE, low)]).down(), weighted([(_ONE, high)]).up()


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """The leaf that a choice selected in every group."""

    choice: LeafChoice
    leaves: Integers


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noisy:
    """Everything that was drawn for the groups that are shown.

    ``keys`` are Arrow arrays, one for each key; ``totals`` has the number of units under its name.
    """

    size: int
    keys: tuple[pa.Array, ...]
    totals: Mapping[str, NoisyTotal]
    chosen: tuple[Chosen, ...]

    def only(self, names: AbstractSet[str]) -> Noisy:
        """Return the same with these totals alone."""
        totals = {name: total for name, total in self.totals.items() if name in names}
        return replace(self, totals=totals)

    def taken(self, places: NDArray[np.int64]) -> Noisy:
        """Return the groups at these places, in this order."""
        return Noisy(
            size=places.size,
            keys=tuple(taken(key, places) for key in self.keys),
            totals={name: total.taken(places) for name, total in self.totals.items()},
            chosen=tuple(replace(each, leaves=each.leaves[places]) for each in self.chosen),
        )
