"""Paying for draws from rows in the hands of the caller: charge, start, draw, release.

Trust: kernel.  The steps are those of every answer; the first two become durable together, before a
row is read, and only the stored bytes are released.

Without a key each draw is a charge of its own, because it is unknown whether rows are the same
people's.  With one it is on record: repeating it returns the same release for free, even if the
rows have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final

from discreet.accounting import Node
from discreet.errors import DiscreetError, EntropyError, WrongKind
from discreet.ledger import Ledger, StoredAnswer
from discreet.noise import SYSTEM
from discreet.session.record import Record, Rehearsal, answer_failed_error
from discreet.units import PrivacyUnit, describe_unit, row

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
            f"`ledger` must be the file of a ledger, or an open one; got {ledger!r:.80}: give "
            "ledger='study.ledger', or an open discreet.ledger.Ledger."
        )


def unit_of_rows(record: Record) -> PrivacyUnit:
    """Return the unit of a ledger, if rows of arrays can be it."""
    unit = record.unit if isinstance(record, Ledger) else row()
    if unit.columns:
        raise WrongKind(
            f"the ledger protects {describe_unit(unit)}, and arrays do not say whose rows are "
            "whose: fit a table of a session: model.fit(session.table('visits'), label='ill')."
        )
    return unit


def pay_and_store(  # noqa: PLR0913  a charge, and what it pays for
    record: Record,
    tree: Node,
    draw: Callable[[], bytes],
    *,
    name: str,
    key: str | None = None,
    delta: Fraction | None = None,
) -> StoredAnswer:
    """Charge, start, draw and release; without a key, under a name that is never used again.

    >>> from discreet.accounting import Leaf
    >>> from discreet.mechanisms import Laplace
    >>> noise = Laplace(scale=10)
    >>> draw = lambda: str(noise.run([41])[0]).encode()
    >>> pay_and_store(Rehearsal(), Leaf(noise), draw, name="count").replayed
    False
    """
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
    """Draw, or close the charge without a word about the reason: it may hold values (T2)."""
    failure: DiscreetError | None = None
    try:
        return draw()
    except EntropyError as error:  # never about a value
        failure = type(error)(what=error.what, why=error.why, do=error.do)
    except Exception:  # noqa: BLE001, S110  (its text may quote the data; replaced below)
        pass
    if failure is None:  # raised here, outside the context of the other error
        record.fail(key)
        failure = answer_failed_error()
    raise failure
