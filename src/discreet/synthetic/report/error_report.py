"""How far a synthetic table may be from the one it stands for, in a table of bounds.

Trust: public.  Every number comes from the evidence: nothing here has seen the data.

Definition.  For a marginal, ``rows`` bounds the L1 distance between the counts of the table and
those of the model, and ``share`` the total variation distance between their shares.
Fact.  With N rows in the model, an L1 distance of at most a, and a number of rows that is off by at
most t <= a, the shares differ by at most (a + t) / 2 N in total variation.  Proof.  With n rows in
the table, |D/n - p/N|_1 <= |D - p|_1 / N + |N - n| / N, and total variation is half of it.
All bounds hold at once with the stated confidence (keys ``measured-marginal``,
``selection-bound``).  Where the release says nothing of a marginal, there is no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import pyarrow as pa

from discreet.notebook import Shown
from discreet.release.frames import pandas_frame, polars_frame
from discreet.synthetic.inference.values import Marginal
from discreet.synthetic.report.check import Checked
from discreet.synthetic.report.marginal_bounds import MarginalBound
from discreet.synthetic.report.pictures import error_map

_SHOWN: Final = 20


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ErrorReport(Shown):
    """Bounds on the distance of marginals, largest first, and a check if one was bought.

    Attributes:
        names: the columns of the synthetic table.
        bounds: a bound for every marginal of the workload.
        total: how many rows the model stands for.
        total_off: a bound on how far that is from the table's, None if nothing is known.
        confidence: the chance with which all bounds hold at once.
        checked: the largest distance of the workload, measured with noise, if that was bought.
        private: false if the evidence comes from a rehearsal.
    """

    names: tuple[str, ...]
    bounds: tuple[MarginalBound, ...]
    total: float
    total_off: float | None
    confidence: Fraction
    checked: Checked | None = None
    private: bool = True

    def share(self, bound: MarginalBound) -> float | None:
        """Return the bound on the total variation distance of shares, None without one."""
        if bound.rows is None:
            return None
        if self.total <= 0:
            return 1.0
        off = bound.rows if self.total_off is None else min(self.total_off, bound.rows)
        return min(1.0, (bound.rows + off) / (2 * self.total))

    @property
    def sorted(self) -> tuple[MarginalBound, ...]:
        """The bounds, those that say least first."""
        return tuple(
            sorted(self.bounds, key=lambda bound: (bound.rows is not None, -(bound.rows or 0)))
        )

    @property
    def known(self) -> tuple[MarginalBound, ...]:
        """The marginals that the release says something of."""
        return tuple(bound for bound in self.bounds if bound.rows is not None)

    def of(self, *names: str) -> MarginalBound | None:
        """Return the bound for the columns of these names, None if the workload lacks them."""
        wanted = {name.casefold() for name in names}
        for bound in self.bounds:
            if {self.names[place].casefold() for place in bound.marginal} == wanted:
                return bound
        return None

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table of all bounds, those that say least first."""
        bounds = self.sorted
        return pa.table(
            {
                "columns": [self._named(bound.marginal) for bound in bounds],
                "rows_off": pa.array([bound.rows for bound in bounds], pa.float64()),
                "share_off": pa.array([self.share(bound) for bound in bounds], pa.float64()),
                "from": [bound.source or None for bound in bounds],
            }
        )

    def to_polars(self) -> Any:
        """Return a Polars frame of the same."""
        return polars_frame(self.to_arrow())

    def to_pandas(self) -> Any:
        """Return a pandas frame of the same."""
        return pandas_frame(self.to_arrow())

    def error_map(self) -> str:
        """Return a map of the bounds of all pairs of columns, as SVG text."""
        pairs = {bound.marginal: self.share(bound) for bound in self.bounds}
        return error_map(self.names, {pair: s for pair, s in pairs.items() if len(pair) == 2})

    def __str__(self) -> str:
        """Show the largest bounds, and what they mean."""
        shown = self.sorted[:_SHOWN]
        texts = [("columns", "rows off", "share off", "from")]
        texts += [
            (
                ", ".join(self._named(bound.marginal)),
                "unknown" if bound.rows is None else f"{bound.rows:,.0f}",
                "unknown" if bound.rows is None else f"{100 * (self.share(bound) or 0):.3g} %",
                bound.source or "-",
            )
            for bound in shown
        ]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        lines = [
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip()
            for a, b, c, d in texts
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([lines[0], rule, *lines[1:], "", *self._notes()])

    def __repr__(self) -> str:
        """Show how many bounds there are."""
        return f"<error report: bounds for {len(self.known)} of {len(self.bounds)} marginals>"

    def _notes(self) -> Iterator[str]:
        if not self.private:
            yield "Not private: test mode. Show this to nobody who may not see the data itself."
        more = len(self.bounds) - _SHOWN
        if more > 0:
            yield f"... and {more} more marginals, all with smaller bounds."
        percent = f"{float(100 * self.confidence):.4g} %"
        yield (
            f"All bounds hold at once with {percent} confidence. They follow from released "
            "numbers and cost nothing."
        )
        unknown = len(self.bounds) - len(self.known)
        if unknown:
            yield (
                f"Of {unknown} marginals nothing was measured: the model may be far off there, or "
                "not. report(session=..., epsilon=...) buys a check of the whole workload."
            )
        if self.checked is not None:
            yield str(self.checked)
        yield "They compare with the table after limits; what limits left out is not in them."

    def _named(self, marginal: Marginal) -> tuple[str, ...]:
        return tuple(self.names[place] for place in marginal)
