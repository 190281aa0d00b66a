"""What the counter of a server hands to calls and pages: values without methods that act.

Trust: public.
"""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from discreet.documents import QuestionDocument
from discreet.ledger.witness import Anchor

if TYPE_CHECKING:  # made when first used, since a server that only passes them on needs neither
    from discreet.plan.plan import Plan
    from discreet.release import Release


def packed(value: object) -> str:
    """Return a plan or a release as a worker sends it to its own server, and to no one else."""
    return base64.b85encode(pickle.dumps(value)).decode("ascii")


def _unpacked(text: str) -> Any:
    return pickle.loads(base64.b85decode(text))  # noqa: S301  a worker of this server wrote it


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """How a question would be answered: as a document for programs, and as a plan for pages."""

    document: Mapping[str, Any]
    packed: str = field(repr=False)

    @property
    def plan(self) -> Plan:
        """The plan, as a session would give it."""
        plan: Plan = _unpacked(self.packed)
        return plan


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer: as a document for programs, and as a release for pages."""

    document: Mapping[str, Any]
    packed: str = field(repr=False)

    @property
    def entry(self) -> int:
        """The number of the entry that records it."""
        return int(self.document["entry"])

    @property
    def release(self) -> Release:
        """The answer, as a session would give it."""
        release: Release = _unpacked(self.packed)
        return release

    def arrow(self) -> bytes:
        """Return the table with its intervals as an Arrow stream."""
        import pyarrow as pa  # noqa: PLC0415  rare, and large

        sink = io.BytesIO()
        table = self.release.to_arrow()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """An account and its balance; shares are those of its tightest component."""

    path: str
    limited: bool
    left: str
    share_left: float
    """From 0 to 1; 1 if it has no limits of its own."""
    amounts: tuple[tuple[str, str, str], ...]
    """For each component: its name, the balance, the limit, in exact text rounded down."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What an operator does for a ledger: backups and anchors."""

    notes_backups: bool
    """Whether backups are noted: those of a ledger on a PostgreSQL server are not."""
    backup: Anchor | None
    """The last backup by ``discreet ledger backup``: when, and the receipt that it ends with."""
    witness: str | None
    """The name of the witness file; None if the site names none."""
    anchor: Anchor | None
    """The last anchor in the witness."""
    problem: str
    """Why the witness lags, or why the ledger is served no more; empty if all is well."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseView:
    """A request for a higher limit, which another person decides."""

    id: int
    dataset: str
    account: str
    budget: Mapping[str, str]
    reason: str
    by: str
    at: float
    state: str
    """open, approved or declined"""
    decided_by: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBefore:
    """A question of a caller, and the entry that records its answer.

    Its ``forms``, asked again, cost nothing: the first is the question, and each other one the
    price of another draw.
    """

    dataset: str
    person: str
    forms: tuple[QuestionDocument, ...]
    entry: int
    at: float
