"""What programs read of plans, answers, budgets, tables and explanations.

Trust: public.  Exact numbers are strings, such as 1/10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.accounting.amounts import amount_value
from discreet.accounting.currencies import shown_components
from discreet.documents.document import Document, Part
from discreet.query.expressions import Column, walk
from discreet.release.tabular import Tabular
from discreet.units import describe_unit

if TYPE_CHECKING:  # all are handed in, or loaded when a table is made
    import pyarrow as pa

    from discreet.accounting import Left
    from discreet.plan.plan import BudgetPreview, Plan
    from discreet.plan.pricing.calibration import Price
    from discreet.release import Release
    from discreet.session import Session

__all__ = [
    "BudgetDocument",
    "DatasetDocument",
    "ExplanationDocument",
    "PlanDocument",
    "PriceDocument",
    "ReleaseDocument",
    "StandingDocument",
]


@final
class PriceDocument(Part):
    """A price."""

    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None

    @classmethod
    def of(cls, price: Price) -> PriceDocument:
        """Return what a price says."""
        parts = {"epsilon": price.epsilon, "delta": price.delta, "rho": price.rho}
        return cls(**{name: None if each is None else str(each) for name, each in parts.items()})

    @property
    def paid(self) -> dict[str, str]:
        """The components that were given, without those that follow from them.

        >>> PriceDocument(epsilon="1/10", rho="1/200").paid
        {'epsilon': '0.1'}
        """
        names = ("rho",) if self.epsilon is None else ("epsilon", "delta")
        parts = {name: Fraction(getattr(self, name) or 0) for name in names}
        return {name: f"{float(part):.6g}" for name, part in parts.items() if part}


class AmountDocument(Part):
    """One component of a budget: the exact balance of its limit."""

    name: str
    left: str
    limit: str


@final
class BudgetDocument(Document):
    """The balance of a budget; ``part`` is the share, from 0 to 1."""

    kind: Literal["budget"] = "budget"
    part: float
    text: str
    amounts: tuple[AmountDocument, ...] = ()

    @classmethod
    def of(cls, left: Left) -> BudgetDocument:
        """Return the balance."""
        amounts = list(zip(left.amounts, left.budget.limit, strict=True))
        parts = shown_components(left.budget.currency, amounts)
        return cls(
            part=float(left.share),
            text=str(left),
            amounts=tuple(
                AmountDocument(
                    name=name, left=str(amount_value(have)), limit=str(amount_value(limit))
                )
                for name, (have, limit) in parts
            ),
        )

    def __str__(self) -> str:
        return self.text


class ErrorDocument(Part):
    """How far off an output is, at most, with the confidence of the plan."""

    output: str
    half_width: float | None = None
    words: str


class PromiseDocument(Part):
    """What a price rests on, and only the owner can know."""

    kind: str
    table: str | None = None
    column: str | None = None
    words: str


class TruncationDocument(Part):
    """What a limit may leave out; intervals do not cover it."""

    kind: str
    limit: int | None = None
    words: str


class LimitsDocument(Part):
    """Limits that were bought, and their price."""

    max_rows: int | None = None
    max_groups: int | None = None
    epsilon: str
    words: tuple[str, ...] = ()


class StandingDocument(Part):
    """Whether a plan was answered before, and by which entry; whether it fits, and its effect."""

    answered: int | None = None
    fits: bool
    left: str | None = None
    part: float | None = None
    """The share of the budget that would be left, from 0 to 1, to the units that pay."""
    cost: float | None = None
    """The share of the budget that it takes, of the same units."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, preview: BudgetPreview) -> StandingDocument:
        """Return what the ledger says of a plan."""
        return cls(
            answered=preview.entry,
            fits=preview.fits,
            left=preview.left or None,
            part=None if preview.part is None else float(preview.part),
            cost=None if preview.cost is None else float(preview.cost),
            notes=(*preview.notes, *([preview.better] if preview.better else [])),
        )


class CurvePoint(Part):
    """The errors of a question at another price."""

    epsilon: float | None = None
    rho: float | None = None
    errors: dict[str, float]


class OutputDocument(Part):
    """A column of an answer; the ends of its intervals are in NAME_low and NAME_high."""

    name: str
    type: str
    listed: bool = False
    """Whether its values are lists."""
    interval: bool = False
    """Whether it has intervals."""


@final
class PlanDocument(Document):
    """How a question will be answered, at what price and how exactly."""

    kind: Literal["plan"] = "plan"
    digest: str
    unit: str
    scope: str
    price: PriceDocument
    bounds: PriceDocument | None = None
    confidence: str
    columns: tuple[OutputDocument, ...] = ()
    errors: tuple[ErrorDocument, ...] = ()
    promises: tuple[PromiseDocument, ...] = ()
    warnings: tuple[str, ...] = ()
    truncations: tuple[TruncationDocument, ...] = ()
    limits: LimitsDocument | None = None
    released_by: tuple[str, ...] = ()
    standing: StandingDocument | None = None
    expected: tuple[str, ...] | None = None
    """The expected error of each output, if the size of the table is public."""
    size: str | None = None
    """The class of the plan on a server: small, medium or large."""
    curve: tuple[CurvePoint, ...] = ()
    screen: str = ""
    """What matters before paying, in a few lines."""
    text: str
    """Everything that will happen."""

    @classmethod
    def of(cls, plan: Plan, **more: Any) -> PlanDocument:
        """Return what a plan says."""
        preview = plan.budget_preview
        return cls(
            digest=plan.digest,
            unit=describe_unit(plan.unit),
            scope=str(plan.scope),
            price=PriceDocument.of(plan.price),
            bounds=None if plan.search is None else PriceDocument.of(plan.search.price),
            confidence=str(plan.confidence),
            columns=tuple(_outputs(plan)),
            errors=tuple(
                ErrorDocument(
                    output=each.output,
                    half_width=None if each.half_width is None else float(each.half_width),
                    words=each.words,
                )
                for each in plan.predicted
            ),
            promises=tuple(
                PromiseDocument(
                    kind=each.kind,
                    table=each.table or None,
                    column=each.column or None,
                    words=str(each),
                )
                for each in plan.promises
            ),
            warnings=plan.warnings,
            truncations=_truncations(plan),
            limits=_limits(plan),
            released_by=plan.released_by,
            standing=None if preview is None else StandingDocument.of(preview),
            expected=None if plan.expected is None else tuple(plan.expected.lines()),
            screen=str(plan),
            text=plan.details,
            **more,
        )

    def __str__(self) -> str:
        return self.screen or self.text

    @property
    def details(self) -> str:
        """Everything that will happen."""
        return self.text


def _outputs(plan: Plan) -> Iterator[OutputDocument]:
    listed = {Column(each.slot) for each in plan.estimates if each.estimator.listed}
    for each in plan.layout.outputs:
        noisy = any(isinstance(node, Column) for node in walk(each.expression))
        yield OutputDocument(
            name=each.name,
            type=each.type.value.lower(),
            listed=each.expression in listed,
            interval=noisy and each.type.is_number and not plan.exact,
        )


def _truncations(plan: Plan) -> tuple[TruncationDocument, ...]:
    return tuple(
        TruncationDocument(kind=cut.kind, limit=cut.limit, words=cut.words)
        for cut in plan.truncations
    )


def _limits(plan: Plan) -> LimitsDocument | None:
    found = plan.found_limits
    if found is None:
        return None
    return LimitsDocument(
        max_rows=found.limits.max_rows,
        max_groups=found.limits.max_groups,
        epsilon=str(found.epsilon),
        words=tuple(found.words),
    )


class BoundsDocument(Part):
    """Bounds that were found privately."""

    of: str
    low: str
    high: str
    seen: int | None = None
    outside: float | None = None
    """The approximate share of the values outside."""


class ShareDocument(Part):
    """The share of rows that limits leave out, which was bought."""

    share: float
    low: float
    high: float
    epsilon: str
    words: str


@final
class ReleaseDocument(Document, Tabular):
    """An answer: its rows, its cost, and the balance."""

    kind: Literal["release"] = "release"
    columns: tuple[OutputDocument, ...]
    rows: tuple[dict[str, Any], ...]
    price: PriceDocument
    bounds: tuple[BoundsDocument, ...] = ()
    confidence: str
    intervals: str = "noise alone"
    warnings: tuple[str, ...] = ()
    truncations: tuple[TruncationDocument, ...] = ()
    limits: LimitsDocument | None = None
    released_by: tuple[str, ...] = ()
    share_cut: ShareDocument | None = None
    replayed: bool
    private: bool
    entry: int | None = None
    receipt: str | None = None
    plan: str
    """The digest of its plan."""
    odds: str = ""
    """What it gives away about one unit, in a sentence."""
    left: BudgetDocument | None = None
    screen: str = ""
    """The answer as a table of text."""
    text: str = ""
    """The same with all that there is to say."""

    @classmethod
    def of(cls, release: Release, left: Left | None) -> ReleaseDocument:
        """Return what an answer says."""
        plan, share = release.plan, release.share
        return cls(
            columns=tuple(
                OutputDocument(
                    name=column.name,
                    type=column.type.value.lower(),
                    listed=column.listed,
                    interval=column.low is not None,
                )
                for column in release.columns
            ),
            rows=tuple(
                {name: _value(each) for name, each in row.items()} for row in release.rows()
            ),
            price=PriceDocument.of(plan.price),
            bounds=tuple(
                BoundsDocument(
                    of=each.about,
                    low=str(each.low),
                    high=str(each.high),
                    seen=each.seen,
                    outside=float(each.outside),
                )
                for each in plan.found
            ),
            confidence=str(release.confidence),
            intervals="noise alone" if release.intervals == "noise" else "noise and sampling",
            warnings=plan.warnings,
            truncations=_truncations(plan),
            limits=_limits(plan),
            released_by=plan.released_by,
            share_cut=None
            if share is None
            else ShareDocument(
                share=share.share,
                low=share.low,
                high=share.high,
                epsilon=str(share.epsilon),
                words=str(share),
            ),
            replayed=release.replayed,
            private=release.private,
            entry=None if release.receipt is None else release.receipt.seq,
            receipt=None if release.receipt is None else str(release.receipt),
            plan=plan.digest,
            odds=release.odds.sentence(relation=plan.unit.relation),
            left=None if left is None else BudgetDocument.of(left),
            screen=str(release),
            text=release.details,
        )

    def __str__(self) -> str:
        return self.screen

    @property
    def details(self) -> str:
        """The answer with all that there is to say about it."""
        return self.text

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, without the ends of their intervals."""
        return tuple(each.name for each in self.columns)

    def to_arrow(self) -> pa.Table:
        """Return the table with its intervals."""
        import pyarrow as pa  # noqa: PLC0415  large

        numbers = {"integer": pa.int64(), "float": pa.float64(), "boolean": pa.bool_()}
        times = {"date": pa.date32(), "timestamp": pa.timestamp("us")}
        known: dict[str, Any] = {**numbers, **times, "text": pa.string()}
        types = {each.name: each.type for each in self.columns}
        names = dict.fromkeys(name for row in self.rows for name in row) or types
        table: dict[str, Any] = {}
        for name in names:
            kind = types.get(name, types.get(name.rpartition("_")[0], ""))
            values = [_moment(row.get(name), kind) for row in self.rows]
            listed = any(isinstance(each, list) for each in values)
            typed = known.get(kind) if name in types and not listed else None
            table[name] = pa.array(values, type=typed)
        return pa.table(table)


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _moment(value: Any, kind: str) -> Any:
    """Return a date or a timestamp of its text; everything else unchanged."""
    if isinstance(value, list):
        return [_moment(each, kind) for each in value]
    if isinstance(value, str) and kind in {"date", "timestamp"}:
        return (date if kind == "date" else datetime).fromisoformat(value)
    return value


class ColumnDocument(Part):
    """The public facts about a column."""

    name: str
    type: str
    low: str | None = None
    high: str | None = None
    categories: tuple[Any, ...] | None = None
    nullable: bool = True


class TableDocument(Part):
    """The public facts about a table."""

    public: bool
    columns: tuple[ColumnDocument, ...]


@final
class DatasetDocument(Document):
    """The public facts about a dataset: the protected unit, and the columns of its tables."""

    kind: Literal["dataset"] = "dataset"
    unit: str
    tables: dict[str, TableDocument]
    receipt: str | None = None
    """The head of its ledger."""

    @classmethod
    def of(cls, session: Session) -> DatasetDocument:
        """Return the public facts about the data of a session."""
        tables = {
            table.name: TableDocument(
                public=bool(table.public), columns=tuple(map(_column, table.columns))
            )
            for table in session.schema.tables
        }
        return cls(unit=describe_unit(session.unit), tables=tables)


def _column(facts: Any) -> ColumnDocument:
    categories: Sequence[Any] | None = facts.categories
    return ColumnDocument(
        name=facts.name,
        type=facts.type.value.lower(),
        low=None if facts.low is None else str(facts.low),
        high=None if facts.high is None else str(facts.high),
        categories=None if categories is None else tuple(map(_value, categories)),
        nullable=facts.nullable,
    )


@final
class ExplanationDocument(Document):
    """An explanation or a privacy label, as text, as a page and as numbers."""

    kind: Literal["explanation", "label"]
    text: str
    html: str
    content: dict[str, Any]

    def __str__(self) -> str:
        return self.text
