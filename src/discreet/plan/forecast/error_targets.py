"""From errors to a price: the least shares that keep every named error.

Trust: public.  Whatever price comes out, it is charged.

Definition.  For each output whose error is named, the shares of its parts stand in the proportion
of ``split-shares``, and are as small as the error allows, to one part in a thousand.  A part
that several outputs need has the largest of its shares.  Parts whose outputs name no error get the
smallest share, in proportion, that a named one has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from discreet.errors import OutOfRange, TooLarge, UnknownName, WrongKind
from discreet.plan.forecast.error_forecast import ErrorForecast
from discreet.plan.pricing.group_sensitivity import Releases
from discreet.plan.pricing.release_parts import LAPLACE
from discreet.plan.pricing.requested_price import RequestedPrice
from discreet.plan.pricing.unpriced_release import UnpricedRelease, price_shares
from discreet.plan.statistics.answer_layout import AnswerColumn, Estimate
from discreet.query.relations import folded

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

    def releases(self, law: str) -> Releases:
        """Return the releases whose errors are as asked, by one law of noise."""
        base = price_shares(self.sketch.weights, Fraction(1))
        least: dict[int, Fraction] = {}
        for name, target in self.ask.errors:
            output = self._named(name)
            needed = self.needs[output.name]
            if needed and not any(base[place] for place in needed):
                continue  # nobody moves it
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
            what=f"an error is given for {name}, which is no output.",
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
    return _short_up(high)


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
            low, high = high, high * max(_dyadic(reached / target), _LEAST) ** power
            reached = error(high)
        else:
            low, high = low * _NEAR**power, low
            reached = error(high)
    raise OutOfRange(
        what="no noise gives the error that is asked for.",
        why="sums are rounded to whole steps, and means stay within their bounds.",
        do="ask for another error.",
    )


def _dyadic(value: Fraction) -> Fraction:
    return Fraction(math.ceil(value * 256), 256)


def _short_up(value: Fraction) -> Fraction:
    """Round up to four decimal digits: prices that people can read."""
    digits = Fraction(10) ** (3 - math.floor(math.log10(value)))
    return math.ceil(value * digits) / digits
