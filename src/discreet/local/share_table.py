"""Tables of estimated shares: as text, as HTML and as a picture.

Trust: public.

A table says whose shares its intervals are about, whether they hold for each value or for all, and
whether its shares are biased.

Shares as tables of other libraries: what tables of shares and lists of hitters have in common.

Trust: public.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, final

from discreet.charts import Axis, Chart
from discreet.local.consistency import Consistent
from discreet.local.intervals import Floats, Target
from discreet.notebook import Shown
from discreet.release.tabular import Tabular, missing_extra

Bars = Literal["each", "all"]

_MOST_ROWS: Final = 60
_MOST_BARS: Final = 40
_BIASED: Final = {
    "simplex": "Shares are projected on those that are at least 0 and add up to 1",
    "likelihood": "Shares are the most likely ones that are at least 0 and add up to 1",
    "posterior": "Shares are the expected ones if all were alike before, and add up to 1",
}


class ShareFrame(Tabular):
    """Rows of a value, its estimated share and the two ends of its interval, as a table.

    >>> from discreet.local import Direct, Estimates
    >>> oracle = Direct(epsilon=1, values=2)
    >>> table = Estimates.of(oracle, [600, 400], people=1000, values=("yes", "no")).table()
    >>> table.to_arrow().column_names
    ['value', 'share', 'share_low', 'share_high']
    """

    __slots__ = ()
    value_name: ClassVar[str] = "value"

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: the value, its share, and the ends of the interval."""
        import pyarrow as pa  # noqa: PLC0415  takes its time, and devices do without

        rows = list(self)
        values: list[Any] = [row[0] for row in rows]
        if len({*map(type, values)}) > 1:  # a column has one type
            values = [str(value) for value in values]
        shares, low, high = ([row[place] for row in rows] for place in (1, 2, 3))
        columns = {self.value_name: values, "share": shares, "share_low": low, "share_high": high}
        return pa.table(columns)

    def plot(self) -> Any:
        """Draw the first 40 shares as bars with their intervals; return axes of matplotlib."""
        try:
            from matplotlib import pyplot as plt  # noqa: PLC0415  an optional library
        except ImportError:
            missing_extra("matplotlib", "plots")
        rows = list(self)[:_MOST_BARS]
        shares = [row[1] for row in rows]
        reach = [
            [max(share - row[2], 0) for share, row in zip(shares, rows, strict=True)],
            [max(row[3] - share, 0) for share, row in zip(shares, rows, strict=True)],
        ]
        _, axes = plt.subplots()
        axes.bar([str(row[0]) for row in rows], shares, yerr=reach, capsize=3)
        axes.set_xlabel(self.value_name)
        axes.set_ylabel("share")
        axes.tick_params(axis="x", labelrotation=45)
        return axes


class ShareRow(NamedTuple):
    """One value, its estimated share, and a confidence interval for the true one."""

    value: Hashable
    share: float
    low: float
    high: float


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShareTable(ShareFrame, Shown):
    """Shares with intervals, and what the intervals are about.

    >>> from discreet.local import Direct, Estimates
    >>> oracle = Direct(epsilon=1, values=2)
    >>> table = Estimates.of(oracle, [600, 400], people=1000, values=("yes", "no")).table()
    >>> [(row.value, round(row.share, 3)) for row in table], table.biased
    ([('yes', 0.716), ('no', 0.284)], False)
    """

    values: tuple[Hashable, ...]
    shares: Floats
    low: Floats
    high: Floats
    people: int
    confidence: Fraction
    consistent: Consistent
    hostile: int
    target: Target
    bars: Bars

    def __iter__(self) -> Iterator[ShareRow]:
        columns = (column.tolist() for column in (self.shares, self.low, self.high))
        return (ShareRow(*row) for row in zip(self.values, *columns, strict=True))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def biased(self) -> bool:
        """Whether shares were moved to be at least 0 and to add up to 1."""
        return self.consistent in _BIASED

    def about(self) -> str:
        """Say in words what the numbers are.

        >>> from discreet.exact import Interval
        >>> from discreet.local import Estimates
        >>> chances = (Interval("3/4", "3/4"), Interval("1/4", "1/4"))
        >>> few = Estimates(values=(0, 1), supports=[6, 5], people=9, chances=chances)
        >>> print(few.table(target="reported", bars="all", hostile=2).about())
        9 reports. All intervals at once hold the share among those who reported with confidence
        95 %, even if 2 reports are hostile.
        """
        whose = "in the population" if self.target == "population" else "among those who reported"
        which = "Each interval holds" if self.bars == "each" else "All intervals at once hold"
        attack = f", even if {self.hostile:,} reports are hostile" if self.hostile else ""
        sure = f"{float(100 * self.confidence):g} %"
        text = f"{self.people:,} reports. {which} the share {whose} with confidence {sure}{attack}."
        if self.biased:
            text += f" {_BIASED[self.consistent]}: they are biased, and intervals are of raw ones."
        return text

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            f"{name:{widths[0]}}  {share:>{widths[1]}}  {ends}".rstrip()
            for name, share, ends in lines
        ]
        return "\n".join([*text, *self._rest(), self.about()])

    def _repr_html_(self) -> str:
        head, *lines = self._lines()
        rows = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
        rows += ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        words = escape(" ".join([*self._rest(), self.about()]))
        return f"<table>{body}</table><p>{words}</p>"

    def chart(self, *, title: str = "Estimated shares") -> Chart:
        """Draw a bar and a whisker for each of the first values; ``chart().svg()`` is a picture.

        >>> from discreet.exact import Interval
        >>> from discreet.local import Estimates
        >>> chances = (Interval("3/4", "3/4"), Interval("1/4", "1/4"))
        >>> few = Estimates(values=("a", "b"), supports=[6, 5], people=9, chances=chances)
        >>> few.table().chart().svg().count("<rect")  # the page, and two bars
        3
        """
        rows = list(self)[:_MOST_BARS]
        low = min(0.0, *(row.share for row in rows))
        high = max(row.high for row in rows)
        step = max(1, len(rows) // 12)
        places = range(0, len(rows), step)
        chart = Chart(
            title=title,
            x=Axis(
                label="value",
                low=-0.6,
                high=len(rows) - 0.4,
                ticks=places,
                names=[_short(rows[place].value) for place in places],
            ),
            y=Axis(label="share", low=low, high=high or 1.0, ticks=_ticks(high or 1.0)),
        )
        points = [(float(place), row.share) for place, row in enumerate(rows)]
        chart.bars(points, width=0.7, color=0)
        for place, row in enumerate(rows):
            chart.whisker(place, row.low, row.high, color=1)
        return chart

    def _lines(self) -> Sequence[tuple[str, str, str]]:
        digits = max(3, len(str(self.people)) // 2 + 1)
        shown = list(self)[:_MOST_ROWS]
        return [
            ("value", "share", "interval"),
            *(
                (
                    _short(row.value),
                    f"{row.share:.{digits}f}",
                    f"{row.low:.{digits}f} to {row.high:.{digits}f}",
                )
                for row in shown
            ),
        ]

    def _rest(self) -> list[str]:
        more = len(self) - _MOST_ROWS
        return [f"... and {more:,} more values."] if more > 0 else []


def _short(value: Hashable, longest: int = 24) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _ticks(high: float) -> list[float]:
    power = 10.0 ** math.floor(math.log10(high))
    step = next(part * power for part in (0.1, 0.2, 0.5, 1, 2) if high / (part * power) <= 6)
    return [round(number * step, 12) for number in range(int(high / step + 1e-6) + 1)]


if TYPE_CHECKING:  # loaded by those who ask for a table
    import pyarrow as pa
