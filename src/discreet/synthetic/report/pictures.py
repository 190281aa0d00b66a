"""Pictures of synthetic tables: a marginal with its bands, and pairs on a map.

Trust: public.  They show what was released, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from discreet.charts import Axis, Chart

_MOST_BARS: Final = 40
_LONGEST: Final = 12
_PAIRS_HEIGHT: Final = 30


def marginal_chart(
    title: str,
    labels: Sequence[str],
    *,
    model: Sequence[float],
    noisy: Sequence[float] | None = None,
    half_width: float | None = None,
) -> str:
    """Draw the counts of a model as bars, and noisy counts as dots with error bars, as SVG text.

    >>> marginal_chart("ward", ["A", "B"], model=[5, 7], noisy=[4, 8], half_width=2).count("<rect")
    4
    """
    count = min(len(labels), _MOST_BARS)
    reach = half_width or 0.0
    highest = max([1.0, *model[:count], *((value + reach) for value in (noisy or ())[:count])])
    lowest = min([0.0, *((value - reach) for value in (noisy or ())[:count])])
    step = 1 + count // 12
    ticks = range(0, count, step)
    chart = Chart(
        title=title if count == len(labels) else f"{title} (the first {count} of {len(labels)})",
        x=Axis(
            label="",
            low=-0.6,
            high=count - 0.4,
            ticks=list(ticks),
            names=[_short(labels[place]) for place in ticks],
        ),
        y=Axis(label="rows", low=lowest, high=1.08 * highest, ticks=_ticks(lowest, highest)),
    )
    chart.bars(list(enumerate(model[:count])), width=0.7, color=0, label="synthetic")
    if noisy is not None:
        if half_width is not None:
            for place, value in enumerate(noisy[:count]):
                chart.whisker(place, value - half_width, value + half_width, color=1)
        chart.dots(list(enumerate(noisy[:count])), color=1, label="measured, with noise")
    return chart.svg()


def error_map(names: Sequence[str], pairs: Mapping[tuple[int, ...], float | None]) -> str:
    """Draw the bounds of all pairs of columns: the darker, the farther off a pair may be.

    >>> error_map(("a", "b"), {(0, 1): 0.25}).count(">25<")
    2
    """
    count = len(names)
    places = list(range(count))
    short = [_short(name) for name in names]
    chart = Chart(
        title="How far each pair may be off (% of total variation)",
        x=Axis(label="", low=-0.5, high=count - 0.5, ticks=places, names=short),
        y=Axis(label="", low=count - 0.5, high=-0.5, ticks=places, names=short),
        left=120,
        height=max(220, 130 + _PAIRS_HEIGHT * count),
    )
    for pair, share in pairs.items():
        first, second = pair
        text = "?" if share is None else f"{100 * share:.2g}"
        shade = 0.0 if share is None else 0.08 + 0.72 * min(1.0, share)
        chart.cell(second, first, shade, text)
        chart.cell(first, second, shade, text)
    return chart.svg()


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers from low to high."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw)
    return [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
