"""A fit, from the charge to the record: arrays in the hands of the caller, paid for from a ledger.

Trust: kernel.  The steps are those of every answer: charge, start, draw, release; the first two
become durable together.  Rows are turned into integers after that, and what is stored is what the
model is made of.

Each fit of arrays is a charge of its own, because nothing tells whether they are the same people:
``cross_val_score`` with five folds pays five times.  A fit with a ``key`` is on record under it:
carried out again it is the same model, for free, whatever the arrays hold by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final

from discreet.accounting import Node
from discreet.errors import DiscreetError, EntropyError, WrongKind
from discreet.learning.models.fit_plans import FitPlan, drawn_bytes
from discreet.learning.models.rows.bounded_rows import BoundedRows
from discreet.ledger import Ledger
from discreet.ledger.values import StoredAnswer
from discreet.noise import SYSTEM
from discreet.session.record import Record, Rehearsal, answer_failed_error
from discreet.units import PrivacyUnit, row
from discreet.units.unit import describe_unit

_NAME_BITS: Final = 128


@contextmanager
def opened(ledger: object) -> Iterator[Record]:
    """Lend the record that pays: a ledger, an address of one, or a rehearsal of test mode."""
    if isinstance(ledger, Ledger | Rehearsal):
        yield ledger
    elif isinstance(ledger, str | Path):
        with Ledger.open(ledger) as found:
            yield found
    else:
        raise WrongKind(
            what="no ledger is given." if ledger is None else "the ledger is none.",
            why="whatever is learned from people has a price, and a price that is not written down "
            "is paid anew each time a program starts.",
            do="give ledger='study.ledger', the file of a ledger, or an open discreet.ledger."
            "Ledger.",
        )


def unit_of_rows(record: Record) -> PrivacyUnit:
    """Return the unit of a ledger, if rows of arrays can be it."""
    unit = record.unit if isinstance(record, Ledger) else row()
    if unit.columns:
        raise WrongKind(
            what=f"the ledger protects {describe_unit(unit)}, and arrays do not say whose rows "
            "are whose.",
            why="noise for one row does not hide a person with many.",
            do="fit a table of a session: model.fit(session.table('visits'), label='ill').",
        )
    return unit


def pay_and_draw(
    record: Record, plan: FitPlan, rows: Callable[[], BoundedRows], *, key: str | None
) -> StoredAnswer:
    """Charge a fit, draw it and store it; with a key, once and for all."""

    def draw() -> bytes:
        return drawn_bytes(plan.recipe, plan.encoding, plan.schedule, rows(), SYSTEM)

    name = f"fit {plan.digest[:16]}"
    return pay_and_store(
        record, plan.tree, draw, name=name, key=key, delta=plan.schedule.asked.delta
    )


def pay_and_store(  # noqa: PLR0913  a charge, and what it pays for
    record: Record,
    tree: Node,
    draw: Callable[[], bytes],
    *,
    name: str,
    key: str | None = None,
    delta: Fraction | None = None,
) -> StoredAnswer:
    """Charge, start, draw and release; without a key, under a name that is never used again."""
    last = f"{SYSTEM.bits(_NAME_BITS):032x}" if key is None else key
    called = f"{name}/{last}"
    try:
        begun = record.begin(tree, key=called)
    except WrongKind:
        if delta is None:
            raise
        begun = record.begin(tree, key=called, delta=delta)
    if isinstance(begun, StoredAnswer):
        return begun
    return record.release(begun.key, _drawn(record, begun.key, draw))


def _drawn(record: Record, key: str, draw: Callable[[], bytes]) -> bytes:
    """Draw, or close the charge without a word about the reason: it may hold values."""
    failure: DiscreetError | None = None
    try:
        return draw()
    except EntropyError as error:  # never about a value
        failure = type(error)(what=error.what, why=error.why, do=error.do)
    except Exception:  # noqa: BLE001, S110  (its text may quote the data; replaced below)
        pass
    if failure is None:  # raised here, where the other error is out of sight
        record.fail(key)
        failure = answer_failed_error()
    raise failure
