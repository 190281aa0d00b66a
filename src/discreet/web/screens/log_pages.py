"""The security log: who signed in, was refused, or changed an account.

Trust: public.  The log holds no value of any data.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.web.visits import Visiting, desk_of, need, visited

router = APIRouter()
_LINES: Final = 100


@router.get("/log")
def log(request: Request, visitor: Visiting) -> Response:
    """Show the latest lines of the security log."""
    need(visitor, "audit")
    lines = desk_of(request).open.security_log(visitor.caller)[::-1][:_LINES]
    return visited("log.html", request, visitor, None, log=lines)
