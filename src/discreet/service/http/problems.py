"""Problems: errors as RFC 9457 documents, each with ways out.

Trust: kernel.  A problem shows only the message of its error, which holds no data value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi.responses import JSONResponse

from discreet.documents import ProblemDocument
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


def _schema() -> dict[str, Any]:
    """Return the schema of problems, with the schema of ways out inlined."""
    schema = ProblemDocument.model_json_schema()
    (ways,) = schema.pop("$defs").values()
    schema["properties"]["ways_out"]["items"] = ways
    return schema


PROBLEM: Final[dict[str, Any]] = _schema()
"""The schema of all problems."""
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
    402: (  # if the question cannot be planned for nothing; otherwise ways have their prices
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
    status = status_of(error)
    ways: Any = _STEER.get(status, ())
    if isinstance(error, Tampered | OtherLedger):  # sent again, it would be refused again
        ways = [{"change": error.do, "call": "none: the operator does it"}]
    document = ProblemDocument.of(error, status=status, ways_out=ways)
    return _response(document, status)


def problem(
    status: int, *, detail: str, do: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Return a problem with a status."""
    title = more.pop("title", _NAMES.get(status, "a problem"))
    ways: Any = _STEER.get(status, ())
    document = ProblemDocument(
        status=status, title=title, detail=detail, do=do, ways_out=ways, **more
    )
    return _response(document, status, headers)


def _response(
    document: ProblemDocument, status: int, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    sent = dict(headers or {})
    if status == 503:
        sent.setdefault("Retry-After", "1")
    return JSONResponse(document.written(), status_code=status, media_type=MEDIA, headers=sent)
