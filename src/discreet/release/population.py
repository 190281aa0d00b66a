"""Populations: intervals and tests that include sampling, and not only noise.

Trust: public.  All of it is computed from released numbers and public parameters of their noise
(key ``post-processing``): no data is read, and nothing is paid.

Definition.  The units of a group are a sample of independent draws from a population; the
parameters are the expected count, the share, mean and quantile of the population, as limits and
bounds leave it.  Values of one unit may depend on each other in any way.

With noisy numerator S + X and count n + Y, a mean or share theta has S - theta n with variance
n v from sampling, v being the variance of the values (theta (1 - theta) for a share, as released
for a mean), and at most r n v if a unit has up to r rows: the square of a sum of r numbers is at
most r times the sum of their squares.  X - theta Y has the variance of its noises.  The interval
holds every theta for which the noisy S - theta n is at most k deviations from zero (Wilson 1927;
Fieller 1954), where k is the quantile of a normal number and of Laplace noise with the kurtosis of
all of it: 1.96 at 95 % if there is none.  The expected count is treated alike, with the variance of
a Poisson number, r times where units have r rows.

A quantile has its interval between quantiles of other levels, which were released too: those that
lie h / n away, where h**2 is n q (1 - q) k**2 and the square of how far noise moves its rank.

Tests of a difference use its variance if there is none: shares are pooled, means are not (Welch).
These are approximations for n of some tens and more: tests/release/test_population.py simulates how
many intervals hold the parameter; more do where a unit has many rows, and of quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.aggregates.count import Count
from discreet.aggregates.intervals import Ends
from discreet.aggregates.mean import Mean
from discreet.aggregates.noisy_totals import Chosen, Noisy, NoisyTotal
from discreet.aggregates.quantile import (
    QuantileEstimator,
    QuantilesEstimator,
    Rising,
    rising_leaves,
)
from discreet.aggregates.variance import Variance
from discreet.errors import UnknownName, WrongKind
from discreet.mechanisms import Laplace
from discreet.query.expression_text import said
from discreet.query.expressions import Call, Column, Expression, Grouped, Literal, conjuncts
from discreet.query.types import Type
from discreet.requests.engine_request import Total

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.plan import Plan
    from discreet.plan.statistics.answer_layout import Estimate
    from discreet.release.release import Release

KINDS: Final = ("noise", "population", "none")
_HALVES: Final = 40
_LEAST_SHARE: Final = 0.01
_LONGEST: Final = 60.0
_SUPPORTED: Final = (
    "counts, shares as COUNTIF(x) / COUNT(*), means as AVG(x) with STDDEV(x), and quantiles as "
    "PERCENTILE_CONT(x, 0.5) with COUNT(x) and levels on both sides"
)

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The difference of two groups, with an interval and a test that know of noise and sampling.

    ``p_value`` is how often two groups that do not differ would show a difference this large.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    confidence: Fraction

    def __str__(self) -> str:
        """Say it in a line."""
        percent = f"{100 * float(self.confidence):g} %"
        least = 0.001
        shown = "< 0.001" if self.p_value < least else f"= {self.p_value:.2g}"
        return (
            f"difference {self.difference:.4g} ({self.low:.4g} to {self.high:.4g}, {percent} "
            f"with noise and sampling), p {shown}"
        )


def check_intervals(kind: object) -> str:
    """Refuse what is not a kind of intervals; False is none, and True or None the usual kind.

    >>> check_intervals("population"), check_intervals(False), check_intervals(None)
    ('population', 'none', 'noise')
    """
    if kind is None or isinstance(kind, bool):
        return "none" if kind is False else "noise"
    if kind not in KINDS:
        raise WrongKind(f"intervals must be 'noise', 'population' or 'none', got {kind!r:.40}.")
    return str(kind)


def check_population(plan: Plan) -> None:
    """Refuse outputs without a population interval, and say what to ask in addition; it is free."""
    for output in plan.layout.outputs:
        _parameter_of(plan, output.expression, output.name)


def population_ends(plan: Plan, parts: Sequence[Noisy]) -> dict[str, Ends]:
    """Return the intervals of all outputs that have some, for all groups."""
    found: dict[str, Ends] = {}
    for output in plan.layout.outputs:
        kind = _parameter_of(plan, output.expression, output.name)
        if kind is not None:
            ends = [kind.ends(part, plan.confidence) for part in parts]
            low, high = (np.concatenate(side) for side in zip(*ends, strict=True))
            found[output.name] = low, high
    return found


def compare(release: Release, column: str, first: object, second: object) -> Comparison:
    """Compare two groups of an answer; see ``Release.compare``."""
    plan = release.plan
    output = next((each for each in plan.layout.outputs if each.name == column), None)
    kind = None if output is None else _parameter_of(plan, output.expression, column)
    whole = first is None and second is None
    fits = isinstance(kind, _Difference if whole else _Ratio) and len(release.parts) == 1
    if not fits or (isinstance(kind, _Ratio) and kind.rows is None):
        needed = "a difference of shares or means" if whole else "a share or a mean"
        raise WrongKind(f"column {column} is not {needed} of the answer that was asked.")
    (noisy,) = release.parts
    if isinstance(kind, _Difference):
        (found, *more) = kind.compared(noisy, plan.confidence)
        if more:
            raise WrongKind(f"the answer has {noisy.size} groups: name two keys.")
        return found
    assert isinstance(kind, _Ratio)  # noqa: S101  (checked above)
    listed, groups = noisy.groups(), list(kind.groups(noisy))
    places = []
    for group in (first, second):
        key = group if isinstance(group, tuple) else (group,)
        if key not in listed:
            raise UnknownName(
                what=f"there is no group {group} in the answer.",
                why="two groups of one answer are compared.",
                do="give keys as the answer shows them; a tuple if there are several.",
            )
        places.append(listed.index(key))
    if places[0] == places[1]:
        raise WrongKind("a group is compared with itself.")
    return _compared(groups[places[0]], groups[places[1]], plan.confidence)


# --- what is estimated ------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Ratio:
    """A share or a mean: a centered noisy sum over a noisy count; an expected count without one."""

    top: str
    step: Fraction
    rows: str | None
    spread: Variance | None
    center: float
    bounds: tuple[float, float]
    most: int

    def ends(self, noisy: Noisy, confidence: Fraction) -> Ends:
        """Return the intervals of all groups."""
        low, high = np.empty(noisy.size), np.empty(noisy.size)
        groups = list(self.groups(noisy))
        for place, group in enumerate(groups):
            low[place], high[place] = group.interval(float(confidence))
        low = np.maximum(low + self.center, self.bounds[0])
        high = np.minimum(high + self.center, self.bounds[1])
        return np.minimum(low, self.bounds[1]), np.maximum(high, self.bounds[0])

    def groups(self, noisy: Noisy) -> Iterator[_Group]:
        tops = noisy.totals[self.top].exact().nearest() * float(self.step)
        rows = np.ones(noisy.size)
        if self.rows is not None:
            rows = noisy.totals[self.rows].exact().nearest()
        spreads: Sequence[float | None] = [None] * noisy.size
        if self.spread is not None:
            values = self.spread.value(Type.FLOAT, noisy)
            spreads = [float(each) for each in (values**2 if self.spread.root else values)]
        draws = _draws(noisy, self.top, self.step, self.rows)
        for top, n, spread in zip(tops.tolist(), rows.tolist(), spreads, strict=True):
            yield _Group(
                top=top,
                rows=n,
                spread=spread,
                draws=draws,
                counted=self.rows is None,
                most=self.most,
                center=self.center,
                farthest=(self.bounds[0] - self.center, self.bounds[1] - self.center),
            )


def _compared(
    one: _Group, other: _Group, confidence: Fraction, *, apart: bool = True
) -> Comparison:
    """Compare two groups of different units; ``apart`` says that they share no draw of noise."""
    estimates = one.estimate, other.estimate
    difference = estimates[0] + one.center - estimates[1] - other.center
    null: tuple[float | None, float | None] = None, None
    if one.spread is None and other.spread is None:
        rows = max(one.rows, 1.0), max(other.rows, 1.0)
        shares = estimates[0] + one.center, estimates[1] + other.center
        pooled = (shares[0] * rows[0] + shares[1] * rows[1]) / sum(rows)
        null = pooled - one.center, pooled - other.center
    half = _difference(one, other, (None, None), apart=apart).reach(float(confidence))
    return Comparison(
        first=estimates[0] + one.center,
        second=estimates[1] + other.center,
        difference=difference,
        low=difference - half,
        high=difference + half,
        p_value=_difference(one, other, null, apart=apart).beyond(abs(difference)),
        confidence=confidence,
    )


def _difference(
    one: _Group, other: _Group, thetas: tuple[float | None, float | None], *, apart: bool
) -> _Error:
    """Return the error of the difference of two estimates."""
    first, second = one.terms(thetas[0]), other.terms(thetas[1])
    joined: _Terms = {("first", name): term for name, term in first.items()} if apart else first
    for name, (factor, law) in second.items():
        known = joined.get(name, (0.0, law))[0]
        joined[name] = known - factor, law
    return _Error.of(joined, variance=one.sampling(thetas[0]) + other.sampling(thetas[1]))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """The difference of two shares or means of different rows."""

    first: _Ratio
    second: _Ratio

    def compared(self, noisy: Noisy, confidence: Fraction) -> list[Comparison]:
        """Compare both in every group."""
        pairs = zip(self.first.groups(noisy), self.second.groups(noisy), strict=True)
        return [_compared(one, other, confidence, apart=False) for one, other in pairs]

    def ends(self, noisy: Noisy, confidence: Fraction) -> Ends:
        """Return the intervals of all groups."""
        found = self.compared(noisy, confidence)
        return np.array([each.low for each in found]), np.array([each.high for each in found])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Quantile:
    """A quantile between released quantiles of other levels."""

    quantile: QuantileEstimator
    rows: str
    most: int

    def ends(self, noisy: Noisy, confidence: Fraction) -> Ends:
        """Return the intervals of all groups: at ranks that sampling and noise may reach."""
        grid, level = self.quantile.grid, float(self.quantile.level)
        rising = rising_leaves(self.quantile.measure, noisy)
        levels = sorted(rising)
        leaves = np.stack([rising[each][0] for each in levels]).astype(np.float64)
        rows = np.maximum(noisy.totals[self.rows].exact().nearest(), 1.0)
        normal = _Error(variance=1.0).reach(float(confidence))
        sampling = self.most * rows * level * (1 - level) * normal**2
        far = np.sqrt(sampling + _rank_noise(rising[self.quantile.level]) ** 2) / rows
        first, last = rising[levels[0]], rising[levels[-1]]
        ends = np.zeros(noisy.size), np.full(noisy.size, grid.leaves - 1.0)
        if first[1] is not None and last[2] is not None:
            ends = (
                np.maximum(first[1].leaves.astype(np.float64), 0.0),
                np.minimum(last[2].leaves.astype(np.float64), grid.leaves - 1.0),
            )
        beyond = _rank_noise(first) / rows, _rank_noise(last) / rows
        found = np.empty((2, noisy.size))
        for place in range(noisy.size):
            at = [float(levels[0]) - beyond[0][place], *map(float, levels)]
            at.append(float(levels[-1]) + beyond[1][place])
            column = [ends[0][place], *leaves[:, place], ends[1][place]]
            for side, edge in ((0, 0.0), (1, grid.leaves - 1.0)):
                wanted = level + (far[place] if side else -far[place])
                inside = at[0] <= wanted <= at[-1]
                found[side, place] = np.interp(wanted, at, column) if inside else edge
        width, start = float(grid.width), float(grid.value(0))
        return start + width * (found[0] - 0.5), start + width * (found[1] + 0.5)


def _rank_noise(risen: Rising) -> float:
    """Return how far noise moves the rank of a quantile: as far as the ends of its interval."""
    ends = [each for each in risen[1:] if isinstance(each, Chosen)]
    return float(max((abs(each.choice.offset) for each in ends), default=0))


_Parameter = _Ratio | _Difference | _Quantile


def _parameter_of(plan: Plan, expression: Expression, name: str) -> _Parameter | None:
    """Return what an output estimates; None of keys, and of spreads that others need."""
    if plan.cube is not None:
        raise WrongKind(
            what="tables of several levels have no intervals for the population.",
            why="their cells share noise and rows.",
            do="ask for one level with GROUP BY alone, or for intervals='noise'.",
        )
    estimates = {each.slot: each for each in plan.estimates}
    match expression:
        case Grouped():
            return None
        case Column(name=slot) if slot in estimates:
            return _single(plan, estimates[slot], name)
        case Call(function="/", arguments=(Column(name=one), Column(name=other))) if {
            one,
            other,
        } <= estimates.keys() and _is_share(estimates[one], estimates[other]):
            return _share(plan, estimates[one].estimator, estimates[other].estimator)
        case Call(function="-", arguments=(left, right)):
            first, second = (_parameter_of(plan, side, name) for side in (left, right))
            ratios = isinstance(first, _Ratio) and isinstance(second, _Ratio)
            if ratios and _apart(*(_where(estimates, side) for side in (left, right))):
                return _Difference(first=first, second=second)  # type: ignore[arg-type]
        case _:
            pass
    raise _unknown(name)


def _where(estimates: Mapping[str, Estimate], side: Expression) -> Expression | None:
    """Return the condition on the rows of a share or a mean."""
    last = side.arguments[-1] if isinstance(side, Call) else side
    return estimates[last.name].aggregate.where if isinstance(last, Column) else None


def _apart(one: Expression | None, other: Expression | None) -> bool:
    """Whether no row meets both conditions, as is plain to see: NOT, or = with other values."""
    if one is None or other is None:
        return False
    for first in conjuncts(one):
        for second in conjuncts(other):
            if Call("NOT", (first,)) == second or Call("NOT", (second,)) == first:
                return True
            match first, second:
                case (
                    Call(function="=", arguments=(column, Literal() as value)),
                    Call(function="=", arguments=(same, Literal() as another)),
                ) if column == same and value != another:
                    return True
                case _:
                    pass
    return False


def _single(plan: Plan, estimate: Estimate, name: str) -> _Parameter | None:
    match estimate.estimator:
        case Count(measure=measure) if not estimate.aggregate.distinct or measure == "units":
            return _Ratio(
                top=measure,
                step=Fraction(1),
                rows=None,
                spread=None,
                center=0.0,
                bounds=(0.0, math.inf),
                most=_most(plan, measure),
            )
        case Mean() as mean:
            return _mean(plan, mean, estimate)
        case QuantileEstimator() as quantile:
            return _quantile(plan, quantile, estimate)
        case Variance() | QuantilesEstimator():
            return None
        case _:
            raise _unknown(name)


def _is_share(part: Estimate, whole: Estimate) -> bool:
    """Whether one count is of some of the rows of another."""
    one, other = part.aggregate, whole.aggregate
    counts = isinstance(part.estimator, Count) and isinstance(whole.estimator, Count)
    plain = not (one.distinct or other.distinct)
    conditions = set() if one.where is None else set(conjuncts(one.where))
    same = other.where is None or set(conjuncts(other.where)) <= conditions
    return counts and plain and same and other.argument in {None, one.argument}


def _share(plan: Plan, part: Any, whole: Any) -> _Ratio:
    return _Ratio(
        top=part.measure,
        step=Fraction(1),
        rows=whole.measure,
        spread=None,
        center=0.0,
        bounds=(0.0, 1.0),
        most=max(_most(plan, part.measure), _most(plan, whole.measure)),
    )


def _mean(plan: Plan, mean: Mean, estimate: Estimate) -> _Ratio:
    ends = Fraction(0), Fraction(1)
    binary = (mean.low, mean.high) == ends and mean.step == Fraction(1, 2)  # integers: 0 or 1
    spreads = (each.estimator for each in plan.estimates)
    spread = next((v for v in spreads if isinstance(v, Variance) and v.mean == mean), None)
    if spread is None and not binary:
        asked = said(estimate.aggregate).replace("AVG(", "STDDEV(", 1)
        raise WrongKind(
            what=f"the spread of the values behind {said(estimate.aggregate)} is not asked for.",
            why="how far a sample mean is from the mean of the population follows from it.",
            do=f"ask for {asked} in the same question.",
        )
    center = float(mean.center)
    return _Ratio(
        top=mean.measure,
        step=mean.step,
        rows=mean.count,
        spread=spread,
        center=center,
        bounds=(float(mean.low), float(mean.high)),
        most=_most(plan, mean.count),
    )


def _quantile(plan: Plan, quantile: QuantileEstimator, estimate: Estimate) -> _Quantile | None:
    listed: set[Fraction] = set()
    count: str | None = None
    own = estimate.aggregate
    for each in plan.estimates:
        match each.estimator:
            case QuantileEstimator(measure=quantile.measure, level=level):
                listed.add(level)
            case QuantilesEstimator(each=several) if several[0].measure == quantile.measure:
                listed |= {one.level for one in several}
            case Count(measure=measure):
                other = each.aggregate
                if (other.where, other.distinct) == (own.where, False) and other.argument in {
                    None,
                    own.argument,
                }:
                    count = measure
            case _:
                pass
    if count is None or not min(listed) < quantile.level < max(listed):
        if not 0 < quantile.level < 1 or (count is not None and len(listed) > 2):
            return None  # the ends of the levels that others need
        raise WrongKind(
            what=f"nothing is asked for beside {said(own)}.",
            why="how far a sample quantile is from that of the population follows from the number "
            "of rows, and from quantiles of nearby levels.",
            do=f"ask for COUNT({'*' if own.argument is None else said(own.argument)}) and for the "
            "same at levels on both sides, such as 0.4 and 0.6 for a median.",
        )
    return _Quantile(quantile=quantile, rows=count, most=_most(plan, count))


def _most(plan: Plan, measure: str) -> int:
    """Return how many rows of a unit count."""
    totals = {each.name: each for each in plan.request.measures if isinstance(each, Total)}
    if measure in totals:
        return max(1, totals[measure].most)
    return 1


def _unknown(name: str) -> WrongKind:
    return WrongKind(
        what=f"{name} has no interval for the population.",
        why="how far a sample is from its population is known of other numbers only.",
        do=f"ask for {_SUPPORTED}; or for intervals='noise'.",
    )


# --- errors -----------------------------------------------------------------------------------

_Draw = tuple[object, float, float, Any]
"""A draw of noise, what it adds to a numerator and to a count, and its mechanism."""
_Terms = dict[object, tuple[float, Any]]
"""Draws of noise, with factors and mechanisms."""


def _draws(noisy: Noisy, top: str, step: Fraction, rows: str | None) -> tuple[_Draw, ...]:
    found: dict[object, list[Any]] = {}
    named: list[tuple[int, Fraction, NoisyTotal]] = [(0, step, noisy.totals[top])]
    if rows is not None:
        named.append((1, Fraction(1), noisy.totals[rows]))
    for side, factor, total in named:
        for run in total.runs:
            name = run if run.draw is None else run.draw
            known = found.setdefault(name, [0.0, 0.0, run.mechanism])
            known[side] += float(factor * run.weight)
    return tuple((name, each[0], each[1], each[2]) for name, each in found.items())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Error:
    """A normal number and Laplace noises, all independent."""

    variance: float
    scales: tuple[float, ...] = field(default=())

    @classmethod
    def of(cls, terms: _Terms, *, variance: float) -> _Error:
        """Return a normal number of this variance and noises with factors."""
        scales = []
        for factor, law in terms.values():
            each = factor**2 * _law_variance(law)
            if isinstance(law, Laplace):
                scales.append(math.sqrt(each / 2))
            else:
                variance += each
        return cls(variance=variance, scales=tuple(scales))

    @property
    def deviation(self) -> float:
        """Return its standard deviation."""
        return math.sqrt(self.variance + sum(2 * scale**2 for scale in self.scales))

    def reach(self, confidence: float) -> float:
        """Return how far it goes, with this probability."""
        return self.deviation * _standard_reach(self._share(), confidence)

    def beyond(self, distance: float) -> float:
        """Return how often it goes farther."""
        if not self.deviation:
            return float(distance <= 0)
        return _beyond(self._share(), distance / self.deviation)

    def _share(self) -> float:
        """Return which share of the variance one Laplace noise of the same kurtosis has."""
        squares = [2 * scale**2 for scale in self.scales]
        whole = self.variance + sum(squares)
        return round(math.hypot(*squares) / whole, 3) if whole else 0.0


@lru_cache(maxsize=4096)
def _standard_reach(share: float, confidence: float) -> float:
    low, high = 0.0, _LONGEST
    for _ in range(_HALVES):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(share, middle) > 1 - confidence else (low, middle)
    return high


def _beyond(share: float, distance: float) -> float:
    """Return P[|X| > distance] for X of deviation one: Laplace noise with a share, and normal.

    >>> round(_beyond(0.0, 1.96), 3), round(_beyond(0.5, 1.98), 3), round(_beyond(1.0, 2.1184), 3)
    (0.05, 0.051, 0.05)
    """
    from scipy.special import erfcx  # type: ignore[import-untyped]  # noqa: PLC0415  takes its time

    if share < _LEAST_SHARE:
        return math.erfc(distance / math.sqrt(2))
    scale, deviation = math.sqrt(share / 2), math.sqrt(1 - share)
    if share > 1 - _LEAST_SHARE:
        return math.exp(-distance / scale)
    at, slope = distance / deviation, deviation / scale
    bell = math.exp(-(at**2) / 2)
    if at < slope:
        near = bell * float(erfcx((slope - at) / math.sqrt(2)))
    else:
        near = math.exp(slope**2 / 2 - distance / scale) * math.erfc((slope - at) / math.sqrt(2))
    far = bell * float(erfcx((slope + at) / math.sqrt(2)))
    return math.erfc(at / math.sqrt(2)) + (near - far) / 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The noisy numerator and count of one group; ``spread`` is the variance of values."""

    top: float
    rows: float
    spread: float | None
    draws: tuple[_Draw, ...]
    counted: bool
    most: int
    center: float
    farthest: tuple[float, float]

    @property
    def estimate(self) -> float:
        """The share or the mean, less the center."""
        return min(max(self.top / max(self.rows, 1.0), self.farthest[0]), self.farthest[1])

    def terms(self, theta: float | None) -> _Terms:
        """Return the noises of the estimate; those that it had if it were ``theta``."""
        n, at = max(self.rows, 1.0), self.estimate if theta is None else theta
        return {name: (factor / n, law) for name, (factor, law) in self._terms(at).items()}

    def sampling(self, theta: float | None) -> float:
        """Return the variance of the estimate by sampling."""
        return self._sampling(self.estimate if theta is None else theta) / max(self.rows, 1.0)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the ends of all thetas that are near enough."""
        if self.counted:
            noise = _Error.of(self._terms(0.0), variance=0.0)
            error = _Error.of(self._terms(0.0), variance=self.most * max(self.top, 0.0))
            k2 = (error.reach(confidence) / (error.deviation or 1.0)) ** 2
            middle = self.top + self.most * k2 / 2
            half = math.sqrt(max(0.0, middle**2 - self.top**2 + k2 * noise.deviation**2))
            return middle - half, middle + half
        at, n = self.estimate, max(self.rows, 0.0)
        error = _Error.of(self._terms(at), variance=n * self._sampling(at))
        k2 = (error.reach(confidence) / (error.deviation or 1.0)) ** 2
        laws = [(one, other, _law_variance(law)) for _, one, other, law in self.draws]
        vs = sum(one * one * v for one, _, v in laws)
        vn = sum(other * other * v for _, other, v in laws)
        both = sum(one * other * v for one, other, v in laws)
        a = self.rows**2 - k2 * vn
        b = -2 * self.top * self.rows + 2 * k2 * both
        c = self.top**2 - k2 * vs
        sampled = k2 * self.most * n
        if self.spread is None:  # the variance of a share, which is the center and theta
            a, b = a + sampled, b - sampled * (1 - 2 * self.center)
            c -= sampled * self.center * (1 - self.center)
        else:
            c -= sampled * max(self.spread, 0.0)
        inside = b * b - 4 * a * c
        if a <= 0 or inside < 0 or self.rows <= 0:
            return self.farthest
        half = math.sqrt(inside)
        return (-b - half) / (2 * a), (-b + half) / (2 * a)

    def _sampling(self, theta: float) -> float:
        """Return the variance that sampling adds to a mean, times the number of rows."""
        share = theta + self.center
        spread = share * (1 - share) if self.spread is None else self.spread
        return self.most * max(spread, 0.0)

    def _terms(self, theta: float) -> _Terms:
        return {name: (one - theta * other, law) for name, one, other, law in self.draws}


@lru_cache(maxsize=1024)
def _law_variance(law: Any) -> float:
    """Return the variance of discrete noise."""
    if isinstance(law, Laplace):
        decay = math.exp(-1 / float(law.scale))
        return 2 * decay / (1 - decay) ** 2 if decay < 1 else 2 * float(law.scale) ** 2
    return float(law.variance)
