"""One draw of a posterior from a table of a session, paid from the session's ledger.

Trust: kernel.  An engine counts the rows of each truth value, a unit adding at most ``most`` rows
to either (key ``session-rows``); so a unit moves the number of yeses by at most that, and the loss
is that many times the loss of one answer (key ``posterior-draw``): a step for each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from discreet.accounting import Leaf
from discreet.errors import WrongKind
from discreet.learning.models.rows.bounded_columns import codes_of
from discreet.learning.models.session_rows import ROWS, rows_of_unit, rows_request
from discreet.ledger.values import StoredAnswer
from discreet.noise import Entropy
from discreet.query.expressions import Aggregate, Column
from discreet.query.question import Question
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.session.inquiry import Inquiry
from discreet.session.programs import Program
from discreet.units import PrivacyUnit


class CountedDraw(Protocol):
    """A draw that depends on a count."""

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters."""
        ...

    def leaf(self, unit: PrivacyUnit, rows: int = 1) -> Leaf:
        """Return what it costs a unit that moves the count by at most so many."""
        ...

    def stored(self, count: int, entropy: Entropy) -> bytes:
        """Draw, and return what is stored."""
        ...


def drawn_in_session(draw: CountedDraw, source: Inquiry, column: str | None) -> StoredAnswer:
    """Charge, count, draw and record; again, it is the same draw for free."""
    if not isinstance(column, str):
        raise WrongKind(
            what="no column of the table is named.",
            why="a draw is about one truth value of each row.",
            do="write release(session.table('visits'), column='ill'), say.",
        )
    session = source.session
    question = Question(
        relation=source.rows.relation(),
        keys=((column, Column(column)),),
        outputs=((ROWS, Aggregate("COUNT")),),
    )
    rows = session.program_rows(question)
    (key,) = rows.bound.keys
    if key.facts.type is not Type.BOOLEAN:
        raise WrongKind(
            what=f"column {column} is no truth value.",
            why="a draw is about how many rows say yes.",
            do="name a column that the policy declares as boolean.",
        )
    request, counted = rows_request(rows), YesDraw(draw)
    program = Program.of(rows, unit=session.unit, reads=(request,), delta=None, draw=counted)
    return session.perform(program)


@final
@dataclass(frozen=True, slots=True)
class YesDraw:
    """Draws from the number of yeses that an engine has counted."""

    draw: CountedDraw

    def document(self) -> Mapping[str, Any]:
        """Return all public parameters, in plain JSON."""
        return self.draw.document()

    def charged(self, reads: tuple[EngineRequest, ...], unit: PrivacyUnit) -> Leaf:
        """Return the price by the bound that the engine enforces for one of both values."""
        (request,) = reads
        groups = 1 if request.groups is None else request.groups
        return self.draw.leaf(unit, rows_of_unit(request) // groups)

    def __call__(
        self,
        raws: tuple[RawTotals, ...],
        *,
        entropy: Entropy,
        digest: str,  # noqa: ARG002  a draw does not name its program
        sources: tuple[tuple[str, str], ...],  # noqa: ARG002  nor the states of its tables
    ) -> bytes:
        """Count the rows that say yes, and draw."""
        (raw,) = raws
        (key,) = raw.keys
        yes = codes_of(np.array(key.to_pylist(), object), (True,)) == 0
        counts = np.maximum(np.asarray(raw.totals[ROWS], np.int64), 0)
        return self.draw.stored(int(counts[yes].sum()), entropy)
