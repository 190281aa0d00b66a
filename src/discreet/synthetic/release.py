"""A synthetic table: rows of people who do not exist, what they cost, and how far off they may be.

Trust: public.  Everything follows from the evidence, which was paid for; nothing here sees the
data, so rows, answers, reports and pictures are free, in any number.

Rows are drawn from the model by a public stream that the digest of the evidence names: the same
release and the same number of rows give the same table, on every machine.  A row of the table is
not a person, and several rows of a person become independent rows.

Synthetic tables as text and HTML: a few rows, and the facts that a reader needs with them.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, final

import pyarrow as pa

from discreet.accounting import account
from discreet.errors import WrongKind
from discreet.exact import decimal, whole
from discreet.loss import ZeroConcentrated
from discreet.notebook import Shown
from discreet.plan.plan_words import shown_price
from discreet.release.display import plain
from discreet.release.odds import Odds, odds_of
from discreet.release.tabular import Tabular
from discreet.requests.raw_totals import ARROW_TYPES
from discreet.synthetic.domain import Domain
from discreet.synthetic.evidence import Evidence, written
from discreet.synthetic.inference.inference import Model
from discreet.synthetic.program import SyntheticDraw, model_of
from discreet.synthetic.public_streams import public_stream
from discreet.synthetic.report.check import buy_check
from discreet.synthetic.report.error_report import ErrorReport
from discreet.synthetic.report.marginal_answer import (
    MarginalAnswer,
    QueryCount,
    answer_of,
    count_of,
)
from discreet.synthetic.report.marginal_bounds import (
    CellRound,
    SelectionRound,
    marginal_bounds,
    noisy_marginals,
)
from discreet.synthetic.report.replay import last_offers, selection_rounds
from discreet.synthetic.synthesis_plan import SynthesisPlan
from discreet.synthetic.workload import coded_query

if TYPE_CHECKING:  # handed in
    from discreet.ledger.values import Receipt
    from discreet.loss import PrivacyLoss
    from discreet.session import Session

_MOST_ROWS: Final = 10**9
PRICE_THEOREMS: Final = ("joint-histogram", "synthetic-scores")
"""Theorems behind prices of synthetic tables, in addition to the composition of their steps."""
REPORT_THEOREMS: Final = ("noise-norm", "measured-marginal", "noisy-distance", "selection-bound")
"""What their reports rest on."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SyntheticRelease(Tabular, Shown):
    """The evidence of a synthetic table, and all that follows from it for free.

    Attributes:
        plan: how it was made, and what it cost.
        evidence: the release: noisy counts, or the rows of DualQuery.
        receipt: the head of the ledger after the evidence was recorded.
        replayed: whether it had been recorded before, and so cost nothing.
        private: false if it comes from a rehearsal, which protects nothing.
    """

    plan: SynthesisPlan
    evidence: Evidence
    receipt: Receipt | None
    replayed: bool
    private: bool

    @classmethod
    def of(
        cls,
        plan: SynthesisPlan,
        evidence: Evidence,
        *,
        receipt: Receipt | None,
        replayed: bool,
        private: bool,
    ) -> Self:
        """Put together what belongs together."""
        return cls(
            plan=plan, evidence=evidence, receipt=receipt, replayed=replayed, private=private
        )

    @cached_property
    def model(self) -> Model:
        """The distribution of rows that best explains the evidence; fitted once, on first use."""
        return model_of(self.evidence)

    @property
    def loss(self) -> PrivacyLoss:
        """The whole loss of one unit."""
        return self.plan.loss

    @property
    def odds(self) -> Odds:
        """What the loss means; its ``sentence()`` says it in words."""
        rho = self.plan.price.rho
        return odds_of(self.plan.loss if rho is None else ZeroConcentrated(rho=rho))

    @property
    def total(self) -> int:
        """How many rows the table has by default: a noisy number, never the true one."""
        return max(0, round(self.model.total))

    def table(self, rows: int | None = None) -> pa.Table:
        """Return rows as an Arrow table with the columns of the source; as many as are wanted.

        Columns that name the unit hold new numbers, a different one in each row.
        """
        count = self.total if rows is None else whole(rows, name="rows", low=0, high=_MOST_ROWS)
        domain = self.evidence.domain
        codes = self.model.rows(count, public_stream(self._written, f"rows {count}"))
        made = domain.decoded(codes, public_stream(self._written, f"values {count}"))
        return _with_fresh_columns(made, domain)

    def to_arrow(self, *, rows: int | None = None) -> pa.Table:
        """Return rows as an Arrow table, as many as are wanted."""
        return self.table(rows)

    def answer(self, marginal: str | Sequence[str], *, confidence: object = None) -> MarginalAnswer:
        """Return the counts of some columns from the model, each with a half-width if it has one.

        Counts from the model are nearer to the truth than counts of the rows, which round them.
        """
        names = (marginal,) if isinstance(marginal, str) else tuple(marginal)
        domain = self.evidence.domain
        measured = noisy_marginals(self.evidence)
        return answer_of(
            domain, self.model, measured, domain.numbers(names), self._missed(confidence)
        )

    def count(self, conditions: Mapping[str, Any], *, confidence: object = None) -> QueryCount:
        """Return how many rows meet conditions, from the model, with a half-width if it has one.

        Args:
            conditions: a value, ``between(low, high)`` or ``other_than(value)`` by column.
            confidence: the probability with which the half-width holds; that of the plan if None.
        """
        if not isinstance(conditions, Mapping) or not conditions:
            raise WrongKind(
                "conditions are not given by the names of columns; write "
                'release.count({"ward": "A"}), say.'
            )
        query = coded_query(self.evidence.domain, tuple(conditions.items()))
        measured = noisy_marginals(self.evidence)
        return count_of(self.model, measured, query, self._missed(confidence))

    def report(
        self,
        *,
        confidence: object = None,
        selections: bool = True,
        session: Session | None = None,
        epsilon: object = None,
        confirm: bool = False,
    ) -> ErrorReport:
        """Say how far off the marginals of the workload may be, by released numbers alone.

        Args:
            confidence: the probability with which all bounds hold at once; that of the plan if
                None.
            selections: whether marginals that were not measured are bounded by what was chosen in
                their place; the run is played again for that, which takes as long as it did.
            session: the session that pays for a check, if one is bought.
            epsilon: the price of a check: the largest distance of the workload is measured, with
                noise, and charged as a question of its own.
            confirm: a large price is meant.
        """
        missed, workload = self._missed(confidence), self.plan.workload.marginals
        checked = None
        if (session is None) != (epsilon is None):
            raise WrongKind(
                "a check needs both a session and an epsilon; give session= and epsilon=, or "
                "neither for the report that is free."
            )
        if session is not None:
            checked = buy_check(
                session,
                self.plan.program.question,
                self.evidence.domain,
                self.model,
                workload,
                evidence=self._written,
                sources=self.evidence.sources,
                epsilon=epsilon,
                confidence=1 - missed,
                confirm=confirm,
            )
        rounds = last_offers(self._rounds, workload) if selections else ()
        measured = noisy_marginals(self.evidence)
        rows, *bounds = marginal_bounds(
            self.model, ((), *workload), measured, missed=missed, rounds=rounds
        )
        return ErrorReport(
            names=self.evidence.coded.names,
            bounds=tuple(bounds),
            total=self.model.total,
            total_off=rows.rows,
            confidence=1 - missed,
            checked=checked,
            private=self.private,
        )

    @cached_property
    def _rounds(self) -> tuple[SelectionRound | CellRound, ...]:
        draw = self.plan.program.draw
        return selection_rounds(draw, self.evidence) if isinstance(draw, SyntheticDraw) else ()

    def write(self, folder: object, rows: int | None = None) -> Path:
        """Write table, evidence and what they are into a new folder; return its path."""
        path = Path(str(folder))
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise WrongKind(
                f"the folder {path} cannot be made: {error.strerror}; name a folder that does not "
                "exist yet."
            ) from None
        import pyarrow.parquet as pq  # noqa: PLC0415  takes its time

        pq.write_table(self.table(rows), path / "table.parquet")
        (path / "evidence.json").write_bytes(self._written)
        lines = [*about(self), "", str(self.report(selections=False))]
        (path / "about.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def plot(self, marginal: str | Sequence[str]) -> str:
        """Draw the counts of some columns next to their noisy measurements, as SVG text."""
        return self.answer(marginal).svg()

    @property
    def theorems(self) -> tuple[str, ...]:
        """The keys of the theorems that its price and its report rest on."""
        price = account(self.plan.tree, unit=self.plan.unit).theorems
        return tuple(dict.fromkeys((*price, *PRICE_THEOREMS, *REPORT_THEOREMS)))

    def explain(self, *, audience: str = "analyst", **more: Any) -> Any:
        """Say what this gives away about one unit, as ``Release.explain`` does."""
        return account(self.plan.tree, unit=self.plan.unit).explain(audience=audience, **more)

    def __repr__(self) -> str:
        """Show what it is on one line."""
        names = ", ".join(column.name for column in self.evidence.domain.columns)
        return f"SyntheticRelease({self.evidence.method['name']} of {self.plan.table}: {names})"

    def __str__(self) -> str:
        """Show the first rows, and what they cost; what that means is in ``odds``."""
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def _missed(self, confidence: object) -> Fraction:
        chance = (
            self.plan.confidence if confidence is None else decimal(confidence, name="confidence")
        )
        if not 0 < chance < 1:
            raise WrongKind("a confidence is not between 0 and 1; give 0.95, say.")
        return 1 - chance

    @cached_property
    def _written(self) -> bytes:
        return written(self.evidence)


def _with_fresh_columns(table: pa.Table, domain: Domain) -> pa.Table:
    """Return a table with the columns that name the unit before all others, numbered from 1."""
    numbers = pa.array(range(1, table.num_rows + 1), pa.int64())
    for name, kind in reversed(domain.fresh):
        table = table.add_column(0, name, numbers.cast(ARROW_TYPES[kind]))
    return table


if TYPE_CHECKING:  # for annotations alone
    from discreet.synthetic.release import SyntheticRelease

_ROWS: Final = 5


def text_of(release: SyntheticRelease) -> str:
    """Return some rows, and below them what they are and what they cost."""
    table = _first_rows(release)
    columns = [
        [plain(name), *(plain(value) for value in table.column(name).to_pylist())]
        for name in table.column_names
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:], "...", "", *about(release)])


def html_of(release: SyntheticRelease) -> str:
    """Return the same for notebooks: escaped, without scripts, and loading nothing."""
    table = _first_rows(release)
    heads = "".join(f"<th>{escape(plain(name))}</th>" for name in table.column_names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(plain(value))}</td>" for value in row.values()) + "</tr>"
        for row in table.to_pylist()
    )
    below = "".join(f"<p>{escape(line)}</p>" for line in about(release))
    return f"<div><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}</div>"


def about(release: SyntheticRelease) -> Iterator[str]:
    """Yield what a reader should know."""
    if not release.private:
        yield "Not private: test mode. Show this to nobody who may not see the data itself."
    method = release.evidence.method["name"]
    yield (
        f"Rows of people who do not exist, by {method}: {release.total:,} of them by default, "
        "a noisy number; table(rows=...) makes as many as are wanted, for free."
    )
    if release.plan.moves > 1:
        yield "Several rows of a person come out as independent rows."
    cost = "It was on record: nothing was charged." if release.replayed else ""
    yield f"Price: {shown_price(release.plan.price)}. {cost}".rstrip()
    yield (
        "What the workload does not ask for may be wrong: report() says how far off marginals "
        "may be."
    )


def _first_rows(release: SyntheticRelease) -> pa.Table:
    return release.table().slice(0, _ROWS)
