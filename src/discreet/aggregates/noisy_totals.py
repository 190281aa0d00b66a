"""Noisy totals: what mechanisms gave, by group, and the intervals of sums of them.

Trust: kernel.  No number without noise is ever stored here, and all else is computed from these
totals and leaves.  Intervals are functions of what is released; none looks at the data.

Definition.  A noisy total is a weighted mean of one or more runs of mechanisms on the same total.
Its *interval* holds the total without noise with a given probability:

    one or more runs of which none decides whether the group is shown: value ± ``half_width``
    a count that showed its group by reaching a threshold: ``shown-interval``
    several runs with such a count among them: the weighted mean of the ends of all intervals, each
    for so many coordinates more that all of them hold together

If several coordinates are asked for, the intervals of so many totals hold at the same time.

Definition.  What an interval is about is the aggregate of the bounded rows: after each unit has
been cut to its share of groups and rows, and every value to its bounds and to whole steps.  With at
least the confidence the interval of one number holds it; numbers of different groups, or columns,
each have this chance, not all of them together.

    counts, plain sums      the exact quantiles of the noise (key ``weighted-noise-reach``)
    centered sums           the law of step Z + center Y, by convolution (the same key)
    means                   all ratios that the two noises allow (key ``ratio-interval``)
    the two, of counts that chose their groups    the same, clear of the threshold (``clear-count``)
    variances, formulas     a box: the intervals of all totals that are needed, at a confidence of
                            which all together are left with the one asked for (``joint-box``)
    quantiles               a part of a span of leaves around it, or leaves below and above it

Theorem (key ``joint-box``).  Let independent noises stay within r_1, ..., r_k with chances
c**(1/k) each.  Then all of them do with chance c, and with this chance the range of a function over
the box of all totals that are so near holds its value at the totals without noise.

Counts are not negative, nor are sums of what is not negative; intervals end there, noisy totals do
not, and what is shown of them does (:mod:`discreet.release.columns`).

Quantiles are chosen together with the two ends of their intervals, which aim so far beside the rank
that they hardly ever miss on their own side; that needs no number of rows.  How far that is was
fixed when it was paid for.  At a higher confidence, as one of several columns of a formula has it,
an interval goes from bound to bound of the values.

Counts of a workload are sums of multiples of the same runs, and so not independent: each of m may
miss with an m-th of the chance.  With other totals among the m it is never too much: of those that
are independent, j stay within theirs with the chance c**(j / m), and the others with
1 - (m - j) (1 - c) / m, which is at least c**((m - j) / m), since c**t is convex in t.

Definition.  Every answer of a strategy is a sum of exact multiples of noisy sums, so its error is
that of a weighted sum of independent noises (key ``weighted-noise-reach``), and its interval is the
value and ``half_width`` on both sides, cut off at zero.  Several groups, or columns, may have the
same answer.

``selected_count_intervals`` bound counts that were released because they passed a threshold: the
intervals of :meth:`discreet.mechanisms.NoisyKeys.intervals`, many at once and in floats.  An end is
moved inward only past numbers that are ruled out for sure, so an interval is never narrower than
the exact one (key ``shown-interval``); it is wider only if floats cannot decide.

Sums and means hold the noise of such a count besides other noise.  Far above the threshold it is as
good as any other noise.
Definition.  T is the threshold, a and b are distances with P[Z < -a] <= ``_HIDDEN`` and P[Z >= b]
at most m (1 - ``_HIDDEN``).  A count is *clear* if it is at least T + a + b.
Theorem (key ``clear-count``).  Let an error event E depend on Z and on independent noise, with
P[E] <= m (1 - ``_HIDDEN``).  Given that a group is shown, whatever it counts, the chance that its
count is clear and E occurs is at most m.
Proof.  A group that counts n >= T + a is shown with a chance of at least 1 - ``_HIDDEN``, so given
that, E has a chance of at most m.  For n < T + a, P[n + Z >= T + a + b | n + Z >= T] rises with n,
since the noise is log-concave, and at n = T + a it is at most P[Z >= b] / P[Z >= -a] <= m.
So if the others have intervals of their own, which miss with a chance of at most 1 - c - m given
that the group is shown, both together miss with at most 1 - c.

Coordinates that show a group by what they add up to (key ``sum-keys``) are its totals, too.
Definition.  S is the sum of their noises, T the threshold, a and b are distances with
P[S < -a] <= h = ``_HIDDEN`` and P[S >= b] <= ``OTHERS`` (1 - h) (1 - c).  A group is *clear* if its
noisy coordinates add up to at least T + a + b.  Its intervals miss with a chance of (1 - h) (1 - c)
without the choice, those of others with half of (1 - ``OTHERS``) (1 - c); of k draws, each of which
has shown the group, with 2**-k times as much.
Theorem (key ``shown-sums``).  The chance that a group is shown and one interval of it misses is at
most 1 - c; and so it is given that the group is shown, if that has a chance of at least one half.
Proof.  An interval of a higher confidence holds one of a lower, so both kinds miss together with a
chance of at most (1 - h) (1 - c).  A group whose coordinates add up to T + a or more is shown with
a chance of at least 1 - h.  For others, given that they are shown, the chance to be clear is at
most P[S >= b] / P[S >= -a], as above; S is log-concave as a sum of such noises.  And what misses
with a chance x misses with at most 2 x, given an event of at least one half.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import mechanisms
from discreet.aggregates.intervals import Ends, Floats, Rationals, added, multiplied, weighted
from discreet.exact import float_down, float_up
from discreet.mechanisms.sum_keys import sum_tail, sums_of
from discreet.noise.distribution import first_true
from discreet.plan.estimator import Estimator
from discreet.plan.noise_errors import (
    Additive,
    Terms,
    coordinate_confidence,
    half_width,
    tail_bounds,
    tail_quantile,
)
from discreet.plan.pricing.group_sensitivity import LeafChoice
from discreet.plan.pricing.linear_strategy import CellStrategy, SimplexTotals, key_order
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, ScalarMeasure
from discreet.requests.raw_totals import Integers, taken

Values = NDArray[Any]
Box = Mapping[str, Ends]
"""Intervals of totals that hold at the same time."""

_ONE = Fraction(1)


def typed_values(exact: Rationals, kind: Type) -> Values:
    """Round to whole numbers, halves to the even one, or to the nearest floats."""
    return exact.rounded() if kind is Type.INTEGER else exact.nearest()


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One run of a mechanism over all groups, and its weight in a mean.

    ``keys`` is the choice of keys that showed the groups by these very numbers, if one did.  Runs
    of several totals with the same ``draw`` have the same noise.  Values that are computed from
    several noises have them as ``noises``, each with its weight in the total.
    """

    values: Integers
    mechanism: Additive
    keys: mechanisms.NoisyKeys | None = None
    weight: Fraction = _ONE
    draw: tuple[object, int] | None = None
    noises: Terms = ()

    def parts(self) -> Iterator[tuple[object, Fraction, Additive]]:
        """Yield its noises: what tells each from others, its weight in the total, and its law."""
        for place, (weight, law) in enumerate(self.noises):
            yield (self, place), weight, law
        if not self.noises:
            yield self.draw or self, self.weight, self.mechanism


@final
@dataclass(frozen=True, slots=True)
class NoisyTotal:
    """A total with noise in every group.

    >>> from discreet.mechanisms import Laplace
    >>> total = NoisyTotal((Run(values=np.array([40, 7]), mechanism=Laplace(scale=2)),))
    >>> [end.tolist() for end in total.interval(Fraction(19, 20))]
    [[34.0, 1.0], [46.0, 13.0]]

    ``shared`` says that other totals hold some of the same runs; ``row_bounds`` is between what one
    row adds to a total of a workload; ``shown_by`` are the choices that have shown the groups by
    what the runs add up to, one for each draw.
    """

    runs: tuple[Run, ...]
    shared: bool = False
    row_bounds: tuple[Fraction, Fraction] = (Fraction(0), _ONE)
    shown_by: tuple[mechanisms.SumKeys, ...] = ()

    @property
    def linear(self) -> bool:
        """Whether the error is plain noise, whatever else is known."""
        return all(run.keys is None for run in self.runs)

    def terms(self, factor: Fraction = _ONE) -> Terms:
        """Return the noises that a multiple of this total holds."""
        return tuple((factor * weight, law) for run in self.runs for _, weight, law in run.parts())

    def exact(self) -> Rationals:
        """Return the value of every group."""
        return weighted([(run.weight, run.values) for run in self.runs])

    def interval(self, confidence: Fraction, coordinates: int = 1) -> Ends:
        """Return what the total without noise is between."""
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


def noise_terms(totals: Sequence[tuple[Fraction, NoisyTotal]]) -> Terms:
    """Return the noises in a sum of multiples of totals, each once, though totals may share some.

    >>> from discreet.mechanisms import Laplace
    >>> draw = object(), 0
    >>> once = NoisyTotal((Run(values=np.array([1]), mechanism=Laplace(scale=2), draw=draw),))
    >>> [int(weight) for weight, _ in noise_terms([(Fraction(3), once), (Fraction(-1), once)])]
    [2]
    """
    found: dict[object, tuple[Fraction, Additive]] = {}
    for factor, total in totals:
        for run in total.runs:
            for name, weight, law in run.parts():
                known = found.get(name, (Fraction(0), law))[0]
                found[name] = known + factor * weight, law
    return tuple(term for term in found.values() if term[0])


def joined_totals(
    strategy: CellStrategy, mechanism: Additive, drawn: Integers, selection: object = None
) -> dict[str, NoisyTotal]:
    """Return the counts of a workload, from the noisy sums of all groups, group by group."""
    shown_by = (selection,) if isinstance(selection, mechanisms.SumKeys) else ()
    columns, once = np.ascontiguousarray(drawn.reshape(-1, len(strategy.sums)).T), object()
    return {
        name: NoisyTotal(
            tuple(
                Run(
                    values=columns[place],
                    mechanism=mechanism,
                    weight=Fraction(weight),
                    draw=(once, place),
                )
                for place, weight in weights
            ),
            shared=True,
            row_bounds=strategy.row_bounds(name),
            shown_by=shown_by if isinstance(strategy.source, SimplexTotals) else (),
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

    ``keys`` are Arrow arrays, one for each key; ``totals`` has the number of units under its name,
    and ``sums`` the sums of all groups, by the measure that they stand for; ``other`` has the
    totals of all groups that are not shown, if they are asked for.  ``known`` is what was computed
    from these numbers once, for all quantiles of a list.
    """

    size: int
    keys: tuple[pa.Array, ...]
    totals: Mapping[str, NoisyTotal]
    chosen: tuple[Chosen, ...]
    sums: Mapping[str, GroupSums] = field(default_factory=dict)
    other: Mapping[str, NoisyTotal] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

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
            sums=self.sums,
        )

    def groups(self) -> list[tuple[Any, ...]]:
        """Return the keys of every group."""
        return list(zip(*(key.to_pylist() for key in self.keys), strict=True))


@final
@dataclass(frozen=True, slots=True)
class Intervals:
    """The groups of a release, and the confidence of their intervals."""

    request: EngineRequest
    noisy: Noisy
    confidence: Fraction

    def box(self, measures: tuple[str, ...], others: int = 0) -> dict[str, Ends]:
        """Return intervals of totals that hold at the same time, and so many others with them."""
        count = len(measures) + others
        return {
            name: self.signed(name, self.noisy.totals[name].interval(self.confidence, count))
            for name in measures
        }

    def linear(self, estimator: Estimator) -> bool:
        """Say whether the noise of all its totals depends on nothing else."""
        return all(self.noisy.totals[name].linear for name in estimator.totals())

    def part(self, groups: NDArray[np.bool_], confidence: Fraction) -> Intervals:
        """Return some of the groups, at another confidence."""
        return Intervals(self.request, self.noisy.taken(np.flatnonzero(groups)), confidence)

    def constant(self, number: Fraction) -> Ends:
        """Return the same number in every group, enclosed."""
        size = self.noisy.size
        return np.full(size, float_down(number)), np.full(size, float_up(number))

    @staticmethod
    def point(values: Floats) -> Ends:
        """Return intervals of one value each, for an interval that has to hold it."""
        floats: Floats = np.nan_to_num(values.astype(np.float64), posinf=np.inf, neginf=-np.inf)
        return floats, floats

    def of_ratio(
        self,
        total: str,
        count: str | None,
        of_noise: Callable[[Intervals], Ends],
        in_box: Callable[[Intervals], Ends],
    ) -> Ends:
        """Return the intervals of a total and a count, which may have shown the groups.

        The noise is taken as it is if it depends on nothing else, and if the count is clear of
        its threshold; boxes are taken elsewhere.  Both may miss with a part of the chance (key
        ``clear-count``).
        """
        totals, confidence, size = self.noisy.totals, self.confidence, self.noisy.size
        runs = () if count is None else totals[count].runs
        if totals[total].linear and all(run.keys is None for run in runs):
            return of_noise(self)
        keys = runs[0].keys if len(runs) == 1 and totals[total].linear else None
        if keys is None:
            return in_box(self)
        clear = clear_counts(keys, runs[0].values, confidence)
        ends = np.empty(size), np.empty(size)
        inside = self.part(clear, 1 - clear_miss_chance(confidence))
        ends[0][clear], ends[1][clear] = of_noise(inside)
        if not clear.all():
            apart = self.part(~clear, 1 - (1 - confidence) * OTHERS)
            ends[0][~clear], ends[1][~clear] = in_box(apart)
        return ends

    def signed(self, name: str, ends: Ends) -> Ends:
        """End at zero if no unit adds anything beyond it.

        A number that noise has moved beyond zero is shown as zero, and its interval reaches as far
        to the possible side as noise does.  What is left of the interval around the number as it
        was drawn may be a point, and would be read as certain; it is a part of this one, which so
        holds the number without noise no less often.
        """
        low, high = self._bounds(name)
        half = (ends[1] - ends[0]) / 2
        if low >= 0:
            return np.maximum(ends[0], 0.0), np.maximum(ends[1], half)
        if high <= 0:
            return np.minimum(ends[0], -half), np.minimum(ends[1], 0.0)
        return ends

    def _bounds(self, name: str) -> tuple[int | Fraction, int | Fraction]:
        found = next((each for each in self.request.measures if each.name == name), None)
        return (
            found.ends if isinstance(found, ScalarMeasure) else self.noisy.totals[name].row_bounds
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSums:
    """The noisy sums of groups of a strategy, from which running counts are computed."""

    strategy: CellStrategy
    mechanism: Additive
    drawn: Integers

    def frames(self, keys: Sequence[tuple[Any, ...]]) -> dict[str, FramedCounts]:
        """Return what is computed, by its name, for groups with these keys."""
        answers = [weights for _, weights in self.strategy.answers]
        bottom = math.lcm(*(weight.denominator for weights in answers for _, weight in weights))
        drawn = self.drawn.tolist()
        tops = np.empty(len(answers), object)
        tops[:] = [sum(int(each * bottom) * drawn[at] for at, each in some) for some in answers]
        noises = [
            tuple(
                (size, self.mechanism) for size in sorted(abs(Fraction(each)) for _, each in some)
            )
            for some in answers
        ]
        places = np.empty(len(keys), np.int64)
        places[key_order(keys)] = np.arange(len(keys))
        return {
            name: FramedCounts(Rationals(tops, bottom), noises, np.array(listed, np.int64)[places])
            for name, listed in self.strategy.source.frames
        }


@final
@dataclass(frozen=True, slots=True, eq=False)
class FramedCounts:
    """Different sums of groups, the noises in them, and which of these sums every group has."""

    exact: Rationals
    noises: Sequence[Terms]
    places: Integers

    def values(self) -> Integers:
        """Return the count of every group, rounded to a whole number."""
        return self.exact.rounded()[self.places]

    def ends(self, confidence: Fraction) -> Ends:
        """Return between what the counts without noise lie; none is below zero."""
        alike: dict[Terms, list[int]] = {}
        for at in np.unique(self.places).tolist():
            alike.setdefault(self.noises[at], []).append(at)
        low, high = np.empty(len(self.noises)), np.empty(len(self.noises))
        for terms, listed in alike.items():
            some = Rationals(self.exact.tops[listed], self.exact.bottom)
            low[listed], high[listed] = some.within(half_width(terms, confidence))
        return np.maximum(low, 0.0)[self.places], np.maximum(high, 0.0)[self.places]


OTHERS: Final = Fraction(1, 32)
"""The part of what may be missed that is left to counts that are not clear."""

_HIDDEN: Final = Fraction(1, 256)
_RAREST_TAIL: Final = Fraction(1, 1 << 20)
_LARGEST: Final = 1 << 50


def clear_miss_chance(confidence: Fraction) -> Fraction:
    """Return how often the interval of a clear count may miss, if the group were always shown.

    >>> float(clear_miss_chance(Fraction(19, 20)))
    0.048248291015625
    """
    return (1 - confidence) * (1 - OTHERS) * (1 - _HIDDEN)


def clear_counts(
    keys: mechanisms.NoisyKeys, counts: Integers, confidence: Fraction
) -> NDArray[np.bool_]:
    """Say which counts are clear of the threshold.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.mechanisms import NoisyKeys
    >>> keys = NoisyKeys(noise=Laplace(scale=2), threshold=30, groups=1, relation="add_remove")
    >>> clear_counts(keys, np.array([30, 40, 50]), Fraction(19, 20)).tolist()
    [False, False, True]
    """
    below = tail_quantile(keys.noise, float(2 * _HIDDEN))
    above = tail_quantile(keys.noise, float(2 * clear_miss_chance(confidence))) + 1
    return np.asarray(counts >= keys.threshold + below + above)


def shown_confidences(
    noisy: Noisy, confidence: Fraction
) -> list[tuple[NDArray[np.bool_], Fraction]]:
    """Return some of the groups, and the confidence with which their intervals are computed.

    So that they hold with the one that is given (key ``shown-sums``).
    """
    totals = [each for each in noisy.totals.values() if each.shown_by]
    if not totals:
        return [(np.ones(noisy.size, np.bool_), confidence)]
    missed, clear = 1 - confidence, np.zeros(noisy.size, np.bool_)
    draws = max(len(each.shown_by) for each in totals)
    if draws == 1:
        (keys,) = totals[0].shown_by
        columns = {run.draw: run.values for each in totals for run in each.runs}
        sums = sums_of(np.stack([*columns.values()], axis=1))
        clear = np.asarray(sums >= keys.threshold + _sums_aside(keys, confidence), np.bool_)
    near = 1 - missed * (1 - OTHERS) / 2**draws
    return [(clear, 1 - missed * (1 - _HIDDEN)), (~clear, near)]


@functools.lru_cache(maxsize=64)
def _sums_aside(keys: mechanisms.SumKeys, confidence: Fraction) -> int:
    """Return how far above the threshold sums are clear of it."""
    chances = _HIDDEN, OTHERS * (1 - _HIDDEN) * (1 - confidence)
    return sum(
        first_true(lambda m: sum_tail(keys.noise, keys.coordinates, m) <= chance)  # noqa: B023
        for chance in chances
    )


def selected_count_intervals(
    keys: mechanisms.NoisyKeys, counts: Integers, confidence: Fraction
) -> tuple[Integers, Integers]:
    """Return between what the true counts of shown groups lie, each with this probability.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.mechanisms import NoisyKeys
    >>> keys = NoisyKeys(noise=Laplace(scale=2), threshold=10, groups=1, relation="add_remove")
    >>> low, high = selected_count_intervals(keys, np.array([10, 15, 90]), Fraction(9, 10))
    >>> low.tolist(), high.tolist()
    ([1, 1, 85], [13, 19, 95])
    """
    values, places = np.unique(counts, return_inverse=True)
    low, high = _ends_of(keys, values.tobytes(), confidence)
    return low[places], high[places]


@functools.lru_cache(maxsize=8)
def _ends_of(
    keys: mechanisms.NoisyKeys, data: bytes, confidence: Fraction
) -> tuple[Integers, Integers]:
    """Return the intervals of different counts; several columns ask for the same."""
    values, tail = np.frombuffer(data, np.int64), (1 - confidence) / 2
    if tail < _RAREST_TAIL or values.max(initial=0) > _LARGEST:
        return keys.intervals(values, confidence=confidence)
    ends = _Ends(keys, tail, values.astype(np.float64))
    top = np.maximum(ends.counts, float(keys.fewest))
    far = float(tail_quantile(keys.noise, float(2 * tail)))
    every = np.arange(values.size)
    if not bool(ends.too_many(every, top + far + 2.0).all()):  # floats cannot decide
        return keys.intervals(values, confidence=confidence)
    nothing = np.full(top.shape, keys.fewest - 1.0)
    low = _nearest(top, nothing, ends.counts - far, ends.too_few)
    high = _nearest(top, top + far + 2.0, ends.counts + far, ends.too_many)
    return low.astype(np.int64), high.astype(np.int64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Noisy counts, and which numbers they rule out for sure."""

    keys: mechanisms.NoisyKeys
    tail: Fraction
    counts: Floats

    def too_few(self, at: Integers, units: Floats) -> NDArray[np.bool_]:
        """Say whether so few hardly ever give such counts, or larger ones."""
        upper = tail_bounds(self.keys.noise, self.counts[at] - units)[1]
        shown = tail_bounds(self.keys.noise, self.keys.threshold - units)[0]
        return np.asarray(upper <= float(self.tail) * shown)

    def too_many(self, at: Integers, units: Floats) -> NDArray[np.bool_]:
        """Say whether so many hardly ever give such counts, or smaller ones."""
        upper = tail_bounds(self.keys.noise, self.counts[at] + 1.0 - units)[0]
        shown = tail_bounds(self.keys.noise, self.keys.threshold - units)[1]
        return np.asarray(upper >= float(1 - self.tail) * shown)


def _nearest(
    inside: Floats,
    outside: Floats,
    guess: Floats,
    ruled_out: Callable[[Integers, Floats], NDArray[np.bool_]],
) -> Floats:
    """Move two numbers toward each other, until nothing is between; return the one inside.

    Numbers next to the guess are tried first, and then the middle.
    """
    inside, outside, tried = inside.copy(), outside.copy(), [guess, guess - 1.0, guess + 1.0]
    while (at := np.flatnonzero(np.abs(inside - outside) > 1.0)).size:
        middle = np.floor((inside[at] + outside[at]) / 2.0)
        if tried:
            next_, ends = tried.pop()[at], (inside[at], outside[at])
            between = (np.minimum(*ends) < next_) & (next_ < np.maximum(*ends))
            middle = np.where(between, next_, middle)
        out = ruled_out(at, middle)
        inside[at[~out]], outside[at[out]] = middle[~out], middle[out]
    return inside
