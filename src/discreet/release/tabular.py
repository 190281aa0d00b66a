"""Tables as frames of the caller's library.

Trust: public.  No library of frames is loaded unless it is asked for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.errors import WrongKind

if TYPE_CHECKING:  # large; what is a table has loaded it
    import pyarrow as pa


class Tabular:
    """What is a table: ``to_arrow`` says which, and all else follows.

    >>> import pyarrow as pa
    >>> class Wards(Tabular):
    ...     def to_arrow(self):
    ...         return pa.table({"ward": ["A", "B"]})
    >>> pa.table(Wards()).num_rows
    2
    """

    __slots__ = ()

    def to_arrow(self, *_: Any, **how: Any) -> pa.Table:
        """Return an Arrow table."""
        raise NotImplementedError

    def to_polars(self, **how: Any) -> Any:
        """Return a Polars frame of the same."""
        try:
            import polars as pl  # noqa: PLC0415  an optional library
        except ImportError:
            missing_extra("polars", "polars")
        return pl.from_arrow(self.to_arrow(**how))

    def to_pandas(self, **how: Any) -> Any:
        """Return a pandas frame of the same; whole numbers stay whole if some are NULL."""
        try:
            import pandas as pd  # noqa: PLC0415  an optional library
        except ImportError:
            missing_extra("pandas", "pandas")
        table = self.to_arrow(**how)
        frame = table.to_pandas()
        for name in table.column_names:
            column = table.column(name)
            if "int" in str(column.type) and column.null_count:
                frame[name] = pd.array(column.to_pylist(), dtype="Int64")
        return frame

    def to_native(self, frame: Any, **how: Any) -> Any:
        """Return the same as a frame of the library that another frame is of.

        Args:
            frame: a frame of pandas, Polars (eager or lazy), DuckDB, Ibis, narwhals or Arrow, such
                as the one that was opened; or one whose class has ``from_arrow``, as in cuDF.
            how: as for ``to_arrow``.
        """
        made = getattr(type(frame), "from_arrow", None)
        native: Any
        match type(frame).__module__.partition(".")[0].removeprefix("_"):
            case "pyarrow":
                native = self.to_arrow(**how)
            case "polars":
                native = self.to_polars(**how)
                native = native.lazy() if hasattr(frame, "collect") else native
            case "pandas":
                native = self.to_pandas(**how)
            case "duckdb":  # by a query, since relations join those of their connection alone
                answer = self.to_arrow(**how)
                native = frame.query("frame", "FROM answer").set_alias("answer")
                del answer  # which the relation holds
            case "ibis":
                native = sys.modules["ibis"].memtable(self.to_arrow(**how))
            case "narwhals":
                native = self.to_native(frame.to_native(), **how)
                native = sys.modules["narwhals"].from_native(native)
            case _ if made is not None:
                native = made(self.to_arrow(**how))
            case _:
                raise WrongKind(
                    what=f"an answer cannot be made a {type(frame).__name__}.",
                    why="only libraries that are known here, or that read Arrow, can hold it.",
                    do="use to_arrow(), to_polars() or to_pandas().",
                )
        return native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Let any library that knows Arrow read the table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def missing_extra(library: str, extra: str) -> NoReturn:
    """Say that an optional library is not installed.

    >>> missing_extra("polars", "polars")
    Traceback (most recent call last):
    discreet.errors.WrongKind: ...
    """
    raise WrongKind(
        what=f"{library} is not installed.",
        why="it is loaded only by those who ask for it.",
        do=f"install discreet with its extra: pip install 'discreet[{extra}]'.",
    ) from None
