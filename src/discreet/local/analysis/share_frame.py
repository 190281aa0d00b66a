"""Shares as tables of other libraries: what tables of shares and lists of hitters have in common.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:  # loaded by those who ask for a table
    import pyarrow as pa

_MOST_BARS: Final = 40


class ShareFrame:
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

    def to_polars(self) -> Any:
        """Return a Polars frame of the same."""
        from discreet.release.frames import polars_frame  # noqa: PLC0415  as above

        return polars_frame(self.to_arrow())

    def to_pandas(self) -> Any:
        """Return a pandas frame of the same."""
        from discreet.release.frames import pandas_frame  # noqa: PLC0415  as above

        return pandas_frame(self.to_arrow())

    def plot(self) -> Any:
        """Draw the first 40 shares as bars with their intervals; return axes of matplotlib."""
        from discreet.release.frames import missing_extra  # noqa: PLC0415  as above

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
