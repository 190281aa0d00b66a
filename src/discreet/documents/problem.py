"""Problems: refusals as RFC 9457 documents, each with ways out.

Trust: kernel.  A problem shows only the message of its error, which holds no data value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, final

from discreet import errors
from discreet.documents.document import Document, Part
from discreet.errors import DiscreetError, NotAllowed, OverBudget, TooNoisy, TryAgain

_SHORTAGE: Final = ("scope", "account", "needed", "left", "ways_out")


@final
class WayDocument(Part):
    """One way out of a refusal: what changes, what that costs, and the call that does it."""

    change: str
    cost: dict[str, str] | None = None
    call: str | None = None
    body: dict[str, Any] | None = None


@final
class ProblemDocument(Document):
    """Why something was refused; ``type`` to ``detail`` are those of RFC 9457.

    A charge that does not fit also names the limit in which the cost exceeds the balance.
    """

    kind: Literal["error"] = "error"
    type: str = "about:blank"
    title: str = "a problem"
    status: int | None = None
    detail: str = "the server refuses the call."
    why: str | None = None
    do: str = "ask the owner of the server."
    code: str | None = None
    name: str | None = None
    details: str | None = None
    scope: Literal["yours", "purpose", "dataset"] | None = None
    account: str | None = None
    needed: dict[str, str] | None = None
    left: dict[str, str] | None = None
    ways_out: tuple[WayDocument, ...] = ()
    places: tuple[str, ...] | None = None
    """Which parts of a call could not be read."""

    @classmethod
    def of(cls, error: DiscreetError, **more: Any) -> ProblemDocument:
        """Return what an error says.

        >>> ProblemDocument.of(OverBudget(what="a.", why="b.", do="c.")).title
        'over budget'
        """
        name = type(error).__name__
        told: dict[str, Any] = {}
        if isinstance(error, OverBudget):
            told = {"details": error.details or None, **(error.shortage or {})}
        if isinstance(error, TooNoisy) and error.epsilon is not None:
            told = {"ways_out": (_readable(error.epsilon),)}
        return cls(
            type=f"urn:discreet:{error.code}",
            title=re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower(),
            detail=error.what,
            why=error.why,
            do=error.do,
            code=error.code,
            name=name,
            **{**more, **told},
        )

    def error(self) -> DiscreetError:
        """Return the error that it was made of, or one like it.

        >>> print(ProblemDocument(name="OverBudget", detail="a.", why="b.", do="c.").error())
        OverBudget[E301]: a.
          Why: b.
          Do:  c.
        """
        kind: Any = TryAgain if self.status in {408, 429, 500} else NotAllowed
        if self.name in errors.__all__:
            kind = getattr(errors, str(self.name))
        if not issubclass(kind, DiscreetError) or kind.code is None:
            kind = NotAllowed
        why = self.why or "the server does not say more."
        sentences = {"what": self.detail, "why": why, "do": self.do}
        if kind is OverBudget and self.scope is not None:
            return OverBudget(**sentences, shortage=self.shortage())
        if kind is TooNoisy and self.ways_out:
            return TooNoisy(**sentences, epsilon=(self.ways_out[0].cost or {}).get("epsilon"))
        error: DiscreetError = kind(**sentences)
        return error

    def shortage(self) -> dict[str, Any]:
        """Return which limit is too low, and what can be done about it."""
        told: Mapping[str, Any] = self.written()
        return {name: told[name] for name in _SHORTAGE if name in told}

    def written(self) -> dict[str, Any]:
        """Return plain JSON, without missing fields."""
        return self.model_dump(mode="json", exclude_none=True)


def _readable(epsilon: str) -> WayDocument:
    """Return the way out of an unreadable answer; the rest of the question stays as it was."""
    return WayDocument(
        change=f"Ask at epsilon {epsilon}",
        cost={"epsilon": epsilon},
        call="POST .../queries",
        body={"epsilon": epsilon},
    )
