"""Problems: errors as RFC 9457 documents, each with ways out.

Trust: kernel.  What is told of an error is what the error says: it holds no value of any data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fastapi.responses import JSONResponse

from discreet.errors import (
    DiscreetError,
    EngineError,
    EntropyError,
    InputError,
    KeyReused,
    LedgerError,
    LedgerUnavailable,
    NotAllowed,
    NotServed,
    OtherLedger,
    OverBudget,
    PolicyError,
    QuestionError,
    Tampered,
)

MEDIA: Final = "application/problem+json"
_TEXT: Final = {"type": "string"}
_AMOUNTS: Final = {"type": "object", "additionalProperties": _TEXT}
_WAY: Final = {
    "type": "object",
    "required": ["change"],
    "properties": {"change": _TEXT, "cost": _AMOUNTS, "call": _TEXT, "body": {"type": "object"}},
}
_PARTS: Final[dict[str, Any]] = {
    "type": _TEXT,
    "title": _TEXT,
    "status": {"type": "integer"},
    "detail": _TEXT,
    "why": _TEXT,
    "do": _TEXT,
    "code": _TEXT,
    "name": _TEXT,
    "ways_out": {"type": "array", "items": _WAY},
}
PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "do", "ways_out"],
    "properties": _PARTS,
}
"""The schema of all problems."""
OVER_BUDGET: Final[dict[str, Any]] = {
    **PROBLEM,
    "properties": {
        **_PARTS,
        "scope": {"enum": ["yours", "purpose", "dataset"]},
        "account": _TEXT,
        "needed": _AMOUNTS,
        "left": _AMOUNTS,
    },
}
"""The schema of a refusal for budget: in which limit what is needed exceeds what is left."""
_STATUS: Final[tuple[tuple[type[DiscreetError], int], ...]] = (
    (NotServed, 404),
    (NotAllowed, 403),
    (OverBudget, 402),
    (KeyReused, 409),
    (LedgerUnavailable, 503),
    (Tampered, 503),  # the operator's to mend, and no call is charged meanwhile
    (OtherLedger, 503),
    (LedgerError, 500),
    (EngineError, 503),
    (EntropyError, 503),
    (InputError, 422),
    (QuestionError, 422),
    (PolicyError, 422),
)
_NAMES: Final = {401: "not logged in", 413: "too large", 429: "too many calls", 408: "too slow"}
_STEER: Final = {
    402: (  # where the question cannot be planned for nothing; otherwise ways have their prices
        {"change": "a wider error or a lower price", "call": "POST .../queries?dry_run=1"},
        {"change": "an answer that was paid for before", "call": "GET .../releases"},
        {"change": "a higher limit, which two people decide", "call": "POST .../requests"},
    ),
    429: ({"change": "fewer calls", "call": "wait as long as Retry-After says"},),
    503: ({"change": "nothing: send the same call again", "call": "the same, with its key"},),
}


def status_of(error: DiscreetError) -> int:
    """Return the HTTP status of an error.

    >>> status_of(OverBudget(what="a.", why="b.", do="c."))
    402
    """
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(error: DiscreetError) -> JSONResponse:
    """Return an error as a problem."""
    status, name = status_of(error), type(error).__name__
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    more = (error.shortage if isinstance(error, OverBudget) else None) or {}
    if isinstance(error, Tampered | OtherLedger):  # sent again, it would be refused again
        more = {"ways_out": [{"change": error.do, "call": "none: the operator does it"}]}
    return problem(
        status,
        kind=f"urn:discreet:{error.code}",
        title=words,
        detail=error.what,
        why=error.why,
        do=error.do,
        code=error.code,
        name=name,
        **more,
    )


def problem(  # noqa: PLR0913  the parts of a problem
    status: int,
    *,
    detail: str,
    do: str,
    kind: str = "about:blank",
    title: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """Return a problem with a status."""
    content = {
        "type": kind,
        "title": title or _NAMES.get(status, "a problem"),
        "status": status,
        "detail": detail,
        "do": do,
        "ways_out": list(_STEER.get(status, ())),
        **more,
    }
    sent = dict(headers or {})
    if status == 503:
        sent.setdefault("Retry-After", "1")
    return JSONResponse(content, status_code=status, media_type=MEDIA, headers=sent)
