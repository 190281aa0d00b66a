"""What the counter of a server hands to calls and pages: values without methods that act.

Trust: public.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from discreet import release as releases
from discreet.ledger.values import Receipt
from discreet.ledger.witness import Anchor
from discreet.service.question_form import QuestionForm
from discreet.service.value_codec import read_value

if TYPE_CHECKING:  # made when first used, since a server that only passes them on needs neither
    from discreet.plan.plan import Plan
    from discreet.release import Release


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """How a question would be answered: as JSON for programs, and as a plan."""

    document: Mapping[str, Any]
    encoded: Any = field(repr=False)
    size: str
    curve: Sequence[Mapping[str, Any]] = ()
    """The errors at lower and higher prices, where they were asked for."""

    @property
    def plan(self) -> Plan:
        """The plan, as a session would give it."""
        plan: Plan = read_value(self.encoded)
        return plan


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer: as JSON for programs, and as a release."""

    document: Mapping[str, Any]
    encoded: Mapping[str, Any] = field(repr=False)
    """What a client needs to make the release: plans, written, receipt, replayed, private, share"""

    @property
    def entry(self) -> int:
        """The number of the entry that records it."""
        return int(self.document["entry"])

    @property
    def release(self) -> Release:
        """The answer, as a session would give it."""
        return release_of(self.encoded)

    def arrow(self) -> bytes:
        """Return the table with its intervals as an Arrow stream."""
        import pyarrow as pa  # noqa: PLC0415  rare, and large

        sink = io.BytesIO()
        table = self.release.to_arrow()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue()


def release_of(encoded: Mapping[str, Any]) -> Release:
    """Return the release that a worker has sent in pieces."""
    plans = [read_value(plan) for plan in encoded["plans"]]
    receipt = encoded["receipt"]
    release = releases.Release.read(encoded["written"].encode("ascii"), *plans).recorded(
        None if receipt is None else Receipt.read(receipt),
        replayed=encoded["replayed"],
        private=encoded["private"],
    )
    share = read_value(encoded["share"])
    return release if share is None else replace(release, share=share)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """An explanation or a label, in three forms."""

    text: str
    html: str
    content: Mapping[str, Any]
    encoded: Any = field(repr=False)
    """What a client needs to make the explanation or the label."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """An account, and what is left in it; shares are those of its tightest component."""

    path: str
    limited: bool
    left: str
    share_left: float
    """From 0 to 1; 1 where it has no limits of its own."""
    amounts: tuple[tuple[str, str, str], ...]
    """For each component: its name, what is left, the limit, in exact text rounded down."""


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
    """A question that somebody has asked, and the entry that records its answer.

    Its ``forms``, asked again, cost nothing: the first is the question, and each other one the
    price of another draw.
    """

    dataset: str
    person: str
    forms: tuple[QuestionForm, ...]
    entry: int
    at: float
