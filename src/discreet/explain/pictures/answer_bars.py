"""An answer as bars with error bars, in the same style as all pictures of explanations.

Trust: public.  It is drawn from what was released, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from discreet.charts import NARROW, Axis, Chart, Picture
from discreet.errors import UnknownName
from discreet.release import Release
from discreet.release.display import group_labels, keys_and_measures
from discreet.release.frames import ReleasedColumn

_MOST: Final = 24
_LONGEST: Final = 10


def answer_bars(release: Release, column: str | None = None) -> Picture:
    """Draw a column of numbers as bars, each with the interval that its noise allows.

    Args:
        release: an answer.
        column: the numbers to draw; the first that can be drawn unless named.
    """
    keys, measures, _ = keys_and_measures(release)
    drawn = _drawn(measures, column)
    if drawn is None:
        raise UnknownName(
            what="there is no such column of numbers to draw.",
            why="a bar shows one number; texts, days and lists have no height.",
            do=f"use one of: {', '.join(each.name for each in measures) or '(there are none)'}.",
        )
    bars = [bar for bar in enumerate(_bars(drawn)[:_MOST]) if bar[1] is not None]
    ends = [end for _, bar in bars if bar is not None for end in bar]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    high = high if high > low else low + 1.0
    labels = group_labels(keys, len(release)) or [""]
    percent = f"{float(100 * release.confidence):.6g} %"
    hidden = max(0, len(drawn.values) - _MOST)
    more = f"; {hidden} groups more" if hidden else ""
    shown = range(min(len(drawn.values), _MOST))
    chart = Chart(
        width=NARROW,
        title=f"{_short(drawn.name)}, {percent} intervals for the noise{more}",
        x=Axis(
            label=", ".join(key.name for key in keys),
            low=-0.6,
            high=max(shown) + 0.6,
            ticks=list(shown),
            names=[_short(labels[place]) for place in shown],
        ),
        y=Axis(
            label=drawn.name,
            low=low,
            high=high + (high - low) * 0.05,
            ticks=_round_numbers(low, high),
        ),
        description="; ".join(
            f"{labels[place]}: {bar[1]:.4g}, from {bar[0]:.4g} to {bar[2]:.4g}".lstrip(": ")
            for place, bar in bars
            if bar is not None
        ),
    )
    for place, bar in bars:
        if bar is not None:
            bottom, value, top = bar
            chart.bars([(place, value)], width=0.6, color=0)
            chart.whisker(place, bottom, top, color=1)
    return chart.picture()


def _round_numbers(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten, four to ten of them."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def can_be_drawn(release: Release) -> bool:
    """Whether some column of an answer has numbers to draw."""
    return _drawn(keys_and_measures(release)[1], None) is not None


def _drawn(measures: Sequence[ReleasedColumn], column: str | None) -> ReleasedColumn | None:
    named = (each for each in measures if column in {None, each.name})
    return next((each for each in named if not each.listed and len(each.values)), None)


def _bars(column: ReleasedColumn) -> list[tuple[float, float, float] | None]:
    """Return the number of each row between its ends; nothing for a NULL or an open interval."""
    values = column.values.to_pylist()
    lows = values if column.low is None else column.low.to_pylist()
    highs = values if column.high is None else column.high.to_pylist()
    return [
        None if None in bar else (float(bar[0]), float(bar[1]), float(bar[2]))
        for bar in zip(lows, values, highs, strict=True)
    ]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
