"""The audit view: what attacks on this package have measured, and on which theorems it rests.

Trust: public.  It is about our code; the security log holds no value of any data.
"""

from __future__ import annotations

import json
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from discreet.errors import DiscreetError, UnknownName
from discreet.web.evidence.audit_facts import audit_picture, audited_promises, verdicts
from discreet.web.evidence.bill_of_materials import bill_of_materials, components
from discreet.web.evidence.proof_index import proof_index
from discreet.web.refusals import Refusal
from discreet.web.rendering import download, see_other
from discreet.web.visits import Visiting, desk_of, need, ours, visited

router = APIRouter()
_LINES: Final = 100


@router.get("/audit")
def audit(request: Request, visitor: Visiting) -> Response:
    """Show the latest report, the security log, and the theorems."""
    need(visitor, "audit")
    desk = desk_of(request)
    report, refusal = None, None
    try:
        report = desk.audit.report(desk.open.site.audit)
    except DiscreetError as error:
        refusal = Refusal.of(error)
    promises = [] if report is None else audited_promises(report)
    return visited(
        "audit.html",
        request,
        visitor,
        None,
        report=report,
        verdicts={} if report is None else verdicts(report),
        promises=promises,
        picture=audit_picture(promises),
        running=desk.audit.seconds,
        problem=desk.audit.problem,
        refusal=refusal,
        proofs=proof_index(),
        components=components(),
        log=desk.open.security_log(visitor.caller)[::-1][:_LINES],
    )


@router.post("/audit/report", dependencies=[Depends(ours)])
def report(request: Request, visitor: Visiting) -> Response:
    """Hand out the report as a file."""
    need(visitor, "audit")
    desk = desk_of(request)
    found = desk.audit.report(desk.open.site.audit)
    if found is None:
        raise UnknownName(
            what="there is no report yet.",
            why="no audit was run here, and the site file names none.",
            do="run one from this page.",
        )
    return download(json.dumps(found, indent=1), name="audit.json", kind="application/json")


@router.post("/audit/materials", dependencies=[Depends(ours)])
def materials(visitor: Visiting) -> Response:
    """Hand out the software bill of materials as a file."""
    need(visitor, "audit")
    text = json.dumps(bill_of_materials(), indent=1)
    return download(text, name="discreet.cdx.json", kind="application/vnd.cyclonedx+json")


@router.post("/audit/run", dependencies=[Depends(ours)])
def run(request: Request, visitor: Visiting) -> Response:
    """Begin a quick audit."""
    need(visitor, "audit")
    desk_of(request).audit.begin()
    return see_other("/audit")


@router.post("/audit/stop", dependencies=[Depends(ours)])
def stop(request: Request, visitor: Visiting) -> Response:
    """End the audit that is running."""
    need(visitor, "audit")
    desk_of(request).audit.stop()
    return see_other("/audit")
