"""Errors before any data is read: of every output at a price, and the price of given errors.

Trust: public.  The resulting price is charged.

Definition.  The error of an output is how far it is from the same output of the bounded rows
without noise, at most, with the confidence; groups are taken one by one.  If a noisy count
decides which groups are shown, it is that of all groups, shown or not; given that it is shown, a
small group has a larger one, which its interval knows (key ``shown-interval``).

    an aggregate        as its own file in :mod:`discreet.aggregates` says
    sums and multiples  of counts and sums: the half-width of all their noises, exactly
    running sums        of counts and sums, over frames that keys decide: that of the largest frame
    others              computed from these, by formulas that depend on the data

If bounds are still to be found, errors are forecast for bounds that stand for them, and said in
terms of their width.  What mixes several aggregates follows from the bounds, once they are found.

Errors are forecast lazily: an answer needs none.

Definition.  For each output whose error is named, the shares of its parts stand in the proportion
of ``split-shares``, and are as small as the error allows, to one part in a thousand.  A part
that several outputs need has the largest of its shares.  Parts whose outputs name no error get the
smallest share, in proportion, that a named one has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final, overload

from discreet.errors import OutOfRange, TooLarge, UnknownName, WrongKind
from discreet.plan.estimator import Linear, NoiseForecast, Predicted, four_digits_up
from discreet.plan.pricing.cube_strategy import Keys
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.release_parts import LAPLACE, UnpricedRelease, price_shares
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.statistics.answer_layout import AnswerColumn, Estimate
from discreet.query.expressions import (
    Aggregate,
    Call,
    Cast,
    Column,
    Expression,
    Grouped,
    Grouping,
    Literal,
    Window,
    walk,
)
from discreet.query.relations import folded
from discreet.query.types import Type

_ZERO: Final = Fraction(0)
_FEW_LEVELS: Final = 16
_COMPUTED: Final = "computed from the others"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorForecast:
    """What is released, and how its aggregates are computed from that.

    ``size`` is a public guess of how many rows of a group count; ``levels`` are the grouping sets
    and their names, and ``level`` is one of them, whose errors are forecast.
    """

    releases: Releases
    estimates: tuple[Estimate, ...]
    confidence: Fraction
    size: int | None = None
    windows: tuple[tuple[str, Window], ...] = ()
    groups: int = 1
    levels: tuple[tuple[Keys, str], ...] = ()
    level: Keys | None = None
    _noise: NoiseForecast = field(init=False, compare=False, repr=False)
    _slots: Mapping[str, Estimate] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Find aggregates by their slots, once for all outputs."""
        noise = NoiseForecast(
            releases=self.releases, confidence=self.confidence, size=self.size, level=self.level
        )
        object.__setattr__(self, "_noise", noise)
        object.__setattr__(self, "_slots", {each.slot: each for each in self.estimates})

    def of(self, output: AnswerColumn) -> Predicted | None:
        """Return the error of an output; None for keys, which have none."""
        nodes = list(walk(output.expression))
        level = any(isinstance(node, Grouping) for node in nodes)
        known = level and not any(isinstance(node, Column) for node in nodes)
        if isinstance(output.expression, Grouped) or known:
            return None
        return self._of_levels(output) if self.levels else self._of_one(output)

    def _of_one(self, output: AnswerColumn) -> Predicted | None:
        """Return the error of an output in the groups of one level."""
        width = self._summed(output.expression)
        if width is not None:
            return _at_most(output, width)
        window = self._window(output.expression)
        if window is not None:
            return self._framed(output, window)
        estimate = self._estimate(output.expression)
        if estimate is not None:
            predicted = estimate.estimator.predict(output.name, self._noise)
            if predicted is not None:
                return predicted
        linear = self._linear(output.expression)
        if linear is None:
            return Predicted(output=output.name, half_width=None, words=_COMPUTED)
        terms, rounding = linear
        width = self._noise.half_width(terms) + rounding
        counts = estimate is not None and estimate.estimator.counts
        if estimate is not None and counts and estimate.type is Type.INTEGER:
            width = Fraction(math.floor(width))  # what is shown and the truth are whole numbers
        return Predicted(output=output.name, half_width=width, words=f"± {four_digits_up(width)}")

    def _of_levels(self, output: AnswerColumn) -> Predicted:
        """Return the largest error of all levels, and say those of some of them."""
        known: dict[Predicted, list[str]] = {}
        for level, name in self.levels:
            found = replace(self, levels=(), level=level).of(output)
            assert found is not None  # noqa: S101 (only keys have none)
            known.setdefault(found, []).append(name)
        worst = max(known, key=lambda each: (each.half_width is None, each.half_width or _ZERO))
        if worst.half_width is None or len(known) == 1:
            return worst
        each = [f"{', '.join(names)} {error.words}" for error, names in known.items()]
        said = f" ({'; '.join(each)})" if len(self.levels) <= _FEW_LEVELS else ""
        return replace(worst, words=f"{worst.words} at most{said}")

    def by_width(
        self, output: AnswerColumn, predicted: Predicted, missing: AbstractSet[Aggregate]
    ) -> Predicted:
        """Say an error in terms of the bounds that it depends on, if some of these are missing."""
        windows = [each for slot, each in self.windows if Column(slot) in walk(output.expression)]
        nodes = (node for part in (output.expression, *windows) for node in walk(part))
        slots = {node.name for node in nodes if isinstance(node, Column)}
        used = [estimate for estimate in self.estimates if estimate.slot in slots]
        if not any(estimate.aggregate in missing for estimate in used):
            return predicted
        words = "follows from the bounds that are found"
        if isinstance(output.expression, Column) and not windows:
            words = used[0].estimator.words_by_width(self._noise, predicted)
        return Predicted(output=output.name, half_width=None, words=words)

    def _window(self, expression: Expression) -> Window | None:
        return dict(self.windows).get(expression.name) if isinstance(expression, Column) else None

    def _framed(self, output: AnswerColumn, window: Window) -> Predicted | None:
        """Return the error of a window over groups, at most; a number that keys decide has none."""
        if not any(isinstance(node, Column) for node in walk(window)):
            return None
        decided = window.children()[len(window.arguments) :]
        known = not any(isinstance(node, Column) for part in decided for node in walk(part))
        looked = window.arguments[0] if window.arguments else None
        if known and window.function in {"LAG", "LEAD", "FIRST_VALUE"} and looked is not None:
            return self.of(replace(output, expression=looked))
        linear = None if looked is None or not isinstance(looked, Column) else self._linear(looked)
        if not known or window.function != "SUM" or linear is None:
            return Predicted(output=output.name, half_width=None, words=_COMPUTED)
        width = self._noise.repeated(linear[0], self.groups) + self.groups * linear[1]
        return _at_most(output, width)

    def _summed(self, expression: Expression) -> Fraction | None:
        """Return the error of a count or a window that is computed from sums of groups."""
        if not isinstance(expression, Column):
            return None
        estimate = self._estimate(expression)
        names = (expression.name,) if estimate is None else estimate.estimator.totals()
        return self._noise.summed(names[0]) if len(names) == 1 else None

    def _estimate(self, expression: Expression) -> Estimate | None:
        return self._slots.get(expression.name) if isinstance(expression, Column) else None

    def _of_aggregate(self, expression: Column) -> Linear | None:
        """Return an aggregate as such a sum; counts are rounded to whole numbers."""
        estimate = self._estimate(expression)
        if estimate is None or self._summed(expression) is not None:
            return None
        linear = estimate.estimator.linear(estimate.type)
        if linear is None or not estimate.estimator.counts:
            return linear
        return linear[0], linear[1] + self._noise.rounding(linear[0])

    def _linear(self, expression: Expression) -> Linear | None:  # noqa: PLR0911  one a node
        """Return an expression as a sum of multiples of noisy totals, if it is one."""
        match expression:
            case Literal(value=int() | Fraction()):
                return {}, _ZERO
            case Column():
                return self._of_aggregate(expression)
            case Cast(argument=argument, to=Type.FLOAT):
                return self._linear(argument)
            case Call(function="NEGATE", arguments=(inner,)):
                return _times(self._linear(inner), Fraction(-1))
            case Call(function="+" | "-" as sign, arguments=(one, other)):
                sides = self._linear(one), self._linear(other)
                return _added(*sides, Fraction(1 if sign == "+" else -1))
            case Call(function="*", arguments=(Literal() as number, inner)):
                return _times(self._linear(inner), _number(number))
            case Call(function="*", arguments=(inner, Literal() as number)):
                return _times(self._linear(inner), _number(number))
            case Call(function="/", arguments=(inner, Literal() as number)):
                divisor = _number(number)
                return _times(self._linear(inner), 1 / divisor) if divisor else None
            case _:
                return None


@final
class ForecastErrors(Sequence[Predicted]):
    """The errors of outputs that have one, forecast at the first look."""

    __slots__ = ("_errors", "_forecast", "_outputs")

    def __init__(self, forecast: ErrorForecast, outputs: tuple[AnswerColumn, ...]) -> None:
        """Take what is released, and what is computed from it; refuse errors beyond all floats.

        Only formulas can have such errors, so those alone are forecast at once.
        """
        self._forecast, self._outputs = forecast, outputs
        self._errors: tuple[Predicted, ...] | None = None
        for output in outputs:
            if not isinstance(output.expression, Column | Aggregate | Grouped | Grouping):
                forecast.of(output)

    def _known(self) -> tuple[Predicted, ...]:
        if self._errors is None:
            errors = map(self._forecast.of, self._outputs)
            self._errors = tuple(error for error in errors if error is not None)
        return self._errors

    @overload
    def __getitem__(self, index: int) -> Predicted: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Predicted, ...]: ...
    def __getitem__(self, index: int | slice) -> Predicted | tuple[Predicted, ...]:
        return self._known()[index]

    def __len__(self) -> int:
        return len(self._known())


def _at_most(output: AnswerColumn, width: Fraction) -> Predicted:
    """Return an error that is smaller in some groups."""
    words = f"± {four_digits_up(width)} at most"
    return Predicted(output=output.name, half_width=width, words=words)


def _number(literal: Literal) -> Fraction | None:
    value = literal.value
    good = isinstance(value, int | Fraction) and not isinstance(value, bool)
    return Fraction(value) if good else None  # type: ignore[arg-type]


def _times(linear: Linear | None, factor: Fraction | None) -> Linear | None:
    if linear is None or factor is None:
        return None
    terms, slack = linear
    return {name: factor * term for name, term in terms.items()}, abs(factor) * slack


def _added(one: Linear | None, other: Linear | None, sign: Fraction) -> Linear | None:
    second = _times(other, sign)
    if one is None or second is None:
        return None
    names = {**one[0], **second[0]}
    terms = {name: one[0].get(name, _ZERO) + second[0].get(name, _ZERO) for name in names}
    return terms, one[1] + second[1]


_TURNS: Final = 8
_STEPS: Final = 400
_LEAST: Final = Fraction(65, 64)
_SMALLEST: Final = Fraction(1, 1 << 20)
_NEAR: Final = Fraction(3, 4)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTargets:
    """The errors that are asked for, and which parts each output needs."""

    ask: RequestedPrice
    sketch: UnpricedRelease
    estimates: tuple[Estimate, ...]
    outputs: tuple[AnswerColumn, ...]
    needs: Mapping[str, tuple[int, ...]]
    levels: tuple[tuple[Keys, str], ...] = ()

    def releases(self, law: str) -> Releases:
        """Return the releases whose errors are as asked, by one law of noise."""
        base = price_shares(self.sketch.weights, Fraction(1))
        least: dict[int, Fraction] = {}
        for name, target in self.ask.errors:
            output = self._named(name)
            needed = self.needs[output.name]
            if needed and not any(base[place] for place in needed):
                continue  # it is exact
            factor = self._factor(output, target, law)
            for place in needed:
                least[place] = max(least.get(place, Fraction(0)), factor * base[place])
        known = [share / base[place] for place, share in least.items() if base[place]]
        if not known and any(base):
            raise WrongKind(
                what="no price follows from the errors: what they are about is public.",
                why="the other outputs need noise, and nothing says how much.",
                do="give the error of another output, or an epsilon.",
            )
        ratio = min(known, default=Fraction(0))
        given = [least.get(place, ratio * share) for place, share in enumerate(base)]
        return _given(self.sketch, given, self.ask.delta, law)

    def _factor(self, output: AnswerColumn, target: Fraction, law: str) -> Fraction:
        """Return by what to multiply the shares of the parts of an output."""
        places = self.needs[output.name]
        base = price_shares(self.sketch.weights, Fraction(1))
        part = _only(self.sketch, places)

        def error(factor: Fraction) -> Fraction:
            given = [factor * base[place] for place in places]
            return self._error(_given(part, given, self.ask.delta, law), output)

        return _smallest(error, target, power=1 if law == LAPLACE else 2)

    def _error(self, releases: Releases, output: AnswerColumn) -> Fraction:
        forecast = ErrorForecast(
            releases=releases,
            estimates=self.estimates,
            confidence=self.ask.confidence,
            size=self.ask.size,
            levels=self.levels,
        )
        predicted = forecast.of(output)
        if predicted is not None and predicted.half_width is not None:
            return predicted.half_width
        words = "it is a key" if predicted is None else predicted.words
        raise WrongKind(
            what=f"no price follows from the error of {output.name}: {words}.",
            why="how far noise moves such an output depends on how many rows there are.",
            do="give about how many rows a group has, such as size=1000; or give errors of counts "
            "and sums.",
        )

    def _named(self, name: str) -> AnswerColumn:
        for output in self.outputs:
            if folded(output.name) == folded(name):
                return output
        known = ", ".join(output.name for output in self.outputs)
        raise UnknownName(
            what=f"an error is given for {name}, which is not an output.",
            why="an error belongs to a column of the answer.",
            do=f"use one of: {known}.",
        )


def _given(
    sketch: UnpricedRelease, given: Sequence[Fraction], delta: Fraction, law: str
) -> Releases:
    if law == LAPLACE:
        return sketch.with_epsilons(given, delta)
    return sketch.with_rhos(given, delta, law)


def _only(sketch: UnpricedRelease, places: Sequence[int]) -> UnpricedRelease:
    """Return the sketch of some parts."""
    return replace(
        sketch,
        parts=tuple(sketch.parts[place] for place in places),
        weights=tuple(sketch.weights[place] for place in places),
        fixed=tuple(None for _ in places),
    )


def _smallest(error: Callable[[Fraction], Fraction], target: Fraction, *, power: int) -> Fraction:
    """Return the smallest factor, nearly, whose error is within the target.

    Errors fall about as fast as this power of them rises: that says where to look.
    """
    low, high = _enclosed(error, target, power)
    for _ in range(_TURNS):
        middle = (low + high) / 2
        low, high = (low, middle) if error(middle) <= target else (middle, high)
    digits = Fraction(10) ** (3 - math.floor(math.log10(high)))
    return math.ceil(high * digits) / digits  # four digits: prices that people can read


def _enclosed(
    error: Callable[[Fraction], Fraction], target: Fraction, power: int
) -> tuple[Fraction, Fraction]:
    """Return a factor whose error is above the target, and a larger one whose error is within."""
    low = high = Fraction(1)
    reached = error(high)
    for _ in range(_STEPS):
        if low < _SMALLEST:
            break
        try:
            above = error(low)
        except TooLarge:  # the widest noise that there is
            break
        if above > target >= reached:
            return low, high
        if reached > target:
            ratio = Fraction(math.ceil(reached / target * 256), 256)
            low, high = high, high * max(ratio, _LEAST) ** power
            reached = error(high)
        else:
            low, high = low * _NEAR**power, low
            reached = error(high)
    raise OutOfRange(
        what="no noise gives the error that is asked for.",
        why="sums are rounded to whole steps, and means stay within their bounds.",
        do="ask for another error.",
    )
