"""The entries that close a question after a failed attempt, and open it again.

Trust: kernel.

    fail      an attempt failed after data may have been read.  Whether it fails can depend on one
              person, so another attempt would be another observation: the question is closed
    reopen    the owner has looked at the reason and allows further attempts, in their name

The charge of a closed question stays, as every charge does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

from discreet.ledger.entry import line_of

__all__ = ["Failing", "Reopening"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """An attempt failed, and the question is closed."""

    kind: ClassVar[str] = "fail"
    question: ClassVar[None] = None

    key: str

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        return line_of(seq, self.kind, at, {"key": self.key})

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(key=fields["key"])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reopening:
    """A closed question may be attempted again."""

    kind: ClassVar[str] = "reopen"
    question: ClassVar[None] = None

    key: str
    reason: str
    by: str

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {"key": self.key, "reason": self.reason, "by": self.by}
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        return cls(key=fields["key"], reason=fields["reason"], by=fields["by"])
