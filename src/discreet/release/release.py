"""An answer: a table of numbers with noise, what it cost, and how far off it may be.

Trust: public.  It holds what the mechanisms gave, and nothing else of the data.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, final

import pyarrow as pa

from discreet.doors import Explainable, explain_room
from discreet.errors import UnknownName, WrongKind
from discreet.plan.statistics.truncation import limits_bind
from discreet.release import population
from discreet.release.columns import columns_of
from discreet.release.cube_levels import CubeTables
from discreet.release.display import bars, html_of, text_of
from discreet.release.frames import ReleasedColumn, columns_in, table_of
from discreet.release.odds import Odds, odds_of_plans
from discreet.release.serialization import decode_release, encode_release
from discreet.release.tabular import Tabular

if TYPE_CHECKING:  # for annotations alone
    from discreet.aggregates.noisy_totals import Noisy
    from discreet.ledger.values import Receipt
    from discreet.loss import PrivacyLoss
    from discreet.plan.plan import Plan


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CutShare:
    """The share of rows that limits leave out, about, with the ends of an interval for the noise.

    >>> print(CutShare(share=0.667, low=0.64, high=0.69, epsilon=Fraction(1, 10),
    ...                confidence=Fraction(19, 20)))
    Limits leave out about 66.7 % of the rows (64 % to 69 %, bought for epsilon 0.1).
    """

    share: float
    low: float
    high: float
    epsilon: Fraction
    confidence: Fraction

    def __str__(self) -> str:
        """Say it in a sentence."""
        about, low, high = (f"{100 * part:.3g} %" for part in (self.share, self.low, self.high))
        price = f"bought for epsilon {float(self.epsilon):.4g}"
        return f"Limits leave out about {about} of the rows ({low} to {high}, {price})."


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(Tabular, Explainable):
    """A table: a column for everything that was asked, and two for the ends of its intervals.

    ``parts`` holds the output of the mechanisms for all groups, even those that a condition or a
    limit leaves out: it has been paid for.  If there are more groups than could be listed, it
    covers those that reach a threshold.  After ``map`` it is empty.

    Attributes:
        plans: how it was computed; more than one if releases were combined.
        columns: what was asked, in its order.
        receipt: where the ledger stood, once the answer is recorded.
        replayed: whether it had been recorded before, and so cost nothing.
        private: false if it comes from a rehearsal, if nothing is protected.
        sources: the tables that were read, each with the name of its state: "source 2" is the
            third that the ledger has met.
        share: the share of rows that limits leave out, if an estimate of it was bought.
        intervals: "noise" if intervals are about noise alone, "population" with sampling.
    """

    plans: tuple[Plan, ...]
    columns: tuple[ReleasedColumn, ...]
    parts: tuple[Noisy, ...] = field(default=())
    receipt: Receipt | None = None
    replayed: bool = False
    private: bool = True
    sources: tuple[tuple[str, str], ...] = ()
    share: CutShare | None = None
    intervals: str = "noise"

    def __post_init__(self) -> None:
        """Refuse an answer that does not say how it was computed."""
        if not self.plans:
            raise WrongKind(
                what="a release has no plan.",
                why="without one it has no price and no error bars, and no other draw can join it.",
                do="leave plans as they came, or ask the question anew.",
            )

    @classmethod
    def of(
        cls, plan: Plan, parts: Sequence[Noisy], sources: tuple[tuple[str, str], ...] = ()
    ) -> Self:
        """Compute an answer from what the mechanisms of a plan gave."""
        columns = columns_of(plan, parts)
        return cls(plans=(plan,), columns=columns, parts=tuple(parts), sources=sources)

    @property
    def plan(self) -> Plan:
        """How it was computed; of releases that were combined, the last."""
        return self.plans[-1]

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit."""
        losses = [plan.loss for plan in self.plans]
        return functools.reduce(lambda first, second: first.compose(second), losses)

    @property
    def odds(self) -> Odds:
        """What the loss means; its ``sentence()`` says it in words."""
        return odds_of_plans(self.plans)

    @property
    def confidence(self) -> Fraction:
        """With which probability a number without noise is in its interval."""
        return self.plan.confidence

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that were asked for."""
        return tuple(column.name for column in self.columns)

    def recorded(
        self, receipt: Receipt | None, *, replayed: bool = False, private: bool = True
    ) -> Release:
        """Return the same answer with its receipt."""
        return replace(self, receipt=receipt, replayed=replayed, private=private)

    def map(self, function: Callable[[pa.Table], Any]) -> Release:
        """Apply a function to the table, which costs nothing more.

        The function gets an Arrow table with all columns.  What it returns may be a table of Arrow,
        Polars or pandas, or a mapping of names to values.  Columns ``x_low`` and ``x_high`` in it
        are the intervals of ``x``; without them there are none.
        """
        return replace(self, columns=columns_in(function(self.to_arrow())), parts=())

    def for_population(self) -> Release:
        """Return the same numbers with intervals that include sampling; it costs nothing.

        They hold the count, share, mean or quantile of the population that units are drawn from.
        """
        if not self.parts:
            raise WrongKind("a release that was mapped has no parts: take the answer before map.")
        ends = population.population_ends(self.plan, self.parts)
        columns = columns_of(self.plan, self.parts, ends)
        return replace(self, columns=columns, intervals="population")

    def compare(
        self, column: str, first: object = None, second: object = None
    ) -> population.Comparison:
        """Compare a share or a mean of two groups: the difference, its interval and a p-value.

        All three know about noise and sampling, and cost nothing.

        Args:
            column: the name of a share, or of a mean that was asked with its STDDEV; or of a
                difference of two, in an answer of a single row.
            first: the key of the group from which the other is subtracted; a tuple of several.
            second: the key of the other group.
        """
        return population.compare(self, column, first, second)

    def to_arrow(self, *, unclipped: bool = False) -> pa.Table:
        """Return an Arrow table with the ends of intervals as ``_low`` and ``_high``.

        Numbers are shown inside of their intervals, which end at what is possible.  With
        ``unclipped``, columns ``_unclipped`` hold them as noise left them: take these for sums and
        means over groups, since only their errors are zero on average.
        """
        return table_of(self.columns, unclipped=unclipped)

    def tables(self, *, whole: bool = False) -> Mapping[tuple[str, ...], pa.Table]:
        """Return the tables of grouping sets as Arrow tables, by the names of their keys.

        Args:
            whole: whether to make whole numbers of at least zero of them, for readers who expect
                no others.  That is free, and biased: such columns have no intervals, and are marked
                as ``biased`` in the schema.
        """
        return CubeTables(self.plan, self.columns, whole=whole)

    def plot(self, column: str | None = None) -> Any:
        """Draw numbers as bars, lists as dots, intervals as lines; return axes of matplotlib.

        A column that is named has a picture of its own, and its axes are returned.  Without a name
        all numbers are drawn, one above the other over the same groups, and a tuple of axes is
        returned.
        """
        axes = bars(self, column)
        return axes if column is None else axes[0]

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows, each a mapping of names to values."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def written(self) -> bytes:
        """Return the whole answer as bytes, exactly; ``read`` gives it back."""
        return encode_release(self.plans, self.columns, self.parts, self.sources)

    @classmethod
    def read(cls, data: bytes, *plans: Plan) -> Release:
        """Read what ``written`` returned; the plans are those of the answer."""
        columns, parts, sources = decode_release(data, plans)
        return cls(plans=plans, columns=columns, parts=parts, sources=sources)

    def label(self, ledger: object = None, **more: Any) -> Any:
        """Return the privacy label of this answer alone, filled from what a ledger records of it.

        Args:
            ledger: the session that answered, or its ledger; that of others is refused.
            more: ``about`` and ``receipt``, as for ``discreet.explain.label_of``.
        """
        return explain_room().label_of(self, ledger=ledger, **more)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    def __getitem__(self, name: str) -> pa.Array:
        """Return a column, also ``x_low`` and ``x_high``."""
        table = self.to_arrow()
        if name not in table.column_names:
            raise UnknownName(
                what=f"there is no column {name} in the answer.",
                why="it has the columns that were asked for, and the ends of their intervals.",
                do=f"use one of: {', '.join(table.column_names)}.",
            )
        return table.column(name).combine_chunks()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows."""
        return iter(self.rows())

    def __repr__(self) -> str:
        """Show the size and the names alone, and whether limits may have cut something off."""
        cut = "; limits may have cut it" if limits_bind(self.plan.truncations) else ""
        return f"Release({len(self)} rows of {', '.join(self.names)}{cut})"

    def __str__(self) -> str:
        """Show the table and what it cost; what that means is in ``odds``."""
        return text_of(self)

    @property
    def details(self) -> str:
        """The table, and everything that a reader may want to know beside it."""
        return text_of(self, details=True)

    def _repr_html_(self) -> str:
        return html_of(self)
