"""Calls about questions: plan, ask, remeasure, jobs.

Trust: kernel.  The answer is made ready before its tick, and sent when that has come.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from discreet.documents import QuestionDocument
from discreet.errors import DiscreetError
from discreet.service.http.problems import problem_of
from discreet.service.http.route_table import Body, Calling, counter_of, route
from discreet.service.roles import Caller, Permission
from discreet.service.views import Answered
from discreet.service.workers.jobs import AskJob

if TYPE_CHECKING:  # handed in
    from discreet.service.counter import ServiceCounter

ARROW_MEDIA: Final = "application/vnd.apache.arrow.stream"
_PAUSE: Final = 0.05


class RemeasureBody(Body):
    """The question as it was asked first, and the prices of further draws."""

    forms: list[QuestionDocument] = Field(min_length=2, max_length=20)


async def in_thread(request: Request, work: Any, *given: Any, **named: Any) -> Any:
    """Do something that waits, in a thread of the application."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(request.app.state.threads, lambda: work(*given, **named))


@route("POST", "/v1/datasets/{dataset}/queries", Permission.PLAN)
async def query(  # noqa: PLR0913  what FastAPI hands in
    request: Request,
    caller: Calling,
    dataset: str,
    body: QuestionDocument,
    *,
    dry_run: Annotated[bool, Query(description="Only plan; spend nothing.")] = False,
    key: Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)] = None,
    prefer: Annotated[str, Header()] = "",
    accept: Annotated[str, Header()] = "",
) -> Response:
    """Answer a question, or plan it: charge, read, add noise, record."""
    counter = counter_of(request)
    if dry_run:
        jobs: list[AskJob] = []
        async with _left_with(request, counter, jobs):
            planned = await in_thread(
                request, counter.plan, caller, dataset, body, begun=jobs.append
            )
        return JSONResponse(planned.document)
    job = await in_thread(request, counter.begin, caller, dataset, body, key=key)
    return await _answered(request, counter, caller, job, prefer=prefer, accept=accept)


@route("POST", "/v1/datasets/{dataset}/remeasurements", Permission.ASK)
async def remeasure(  # noqa: PLR0913  what FastAPI hands in
    request: Request,
    caller: Calling,
    dataset: str,
    body: RemeasureBody,
    *,
    key: Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)] = None,
    prefer: Annotated[str, Header()] = "",
    accept: Annotated[str, Header()] = "",
) -> Response:
    """Buy another draw of an answer, and combine all draws; the other ones are free."""
    counter = counter_of(request)
    job = await in_thread(request, counter.begin, caller, dataset, *body.forms, key=key)
    return await _answered(request, counter, caller, job, prefer=prefer, accept=accept)


async def _answered(  # noqa: PLR0913  what FastAPI hands in
    request: Request,
    counter: ServiceCounter,
    caller: Caller,
    job: AskJob,
    *,
    prefer: str,
    accept: str,
) -> Response:
    """Wait for an answer and its tick; or say where to look for it."""
    if "respond-async" in prefer:
        place = f"/v1/jobs/{job.id}"
        return JSONResponse({"job": job.id}, status_code=202, headers={"Location": place})
    return await _at_tick(request, counter, caller, job, accept)


async def _at_tick(
    request: Request, counter: ServiceCounter, caller: Caller, job: AskJob, accept: str
) -> Response:
    """Make the response of a job, and return it when its tick has come."""
    async with _left_with(request, counter, [job]):
        due = await counter.until_known(job)
    response: Response = await in_thread(request, _made, counter, caller, job, accept)
    await asyncio.sleep(max(0.0, due - time.monotonic()))
    return response


@asynccontextmanager
async def _left_with(
    request: Request, counter: ServiceCounter, jobs: list[AskJob]
) -> AsyncIterator[None]:
    """Forget jobs that no worker has begun, as soon as the client of a call has gone."""

    def leave() -> None:
        for job in jobs:
            counter.leave(job)

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        leave()

    watching = asyncio.create_task(gone())
    try:
        yield
    except asyncio.CancelledError:  # a call within the process, such as that of an SQL client
        leave()
        raise
    finally:
        watching.cancel()


def _made(counter: ServiceCounter, caller: Caller, job: AskJob, accept: str) -> Response:
    try:
        return _release_response(counter.result(caller, job), accept)
    except DiscreetError as error:
        return problem_of(error)


def _release_response(answered: Answered, accept: str) -> Response:
    if ARROW_MEDIA in accept:
        return Response(answered.arrow(), media_type=ARROW_MEDIA)
    return JSONResponse(answered.document)


# --- jobs -------------------------------------------------------------------------------------


@route("GET", "/v1/jobs/{job}", Permission.ASK)
async def job_state(
    request: Request, caller: Calling, job: str, *, accept: Annotated[str, Header()] = ""
) -> Response:
    """Return the answer of a question in the background, or how far it has come."""
    counter = counter_of(request)
    found = counter.job(caller, job)
    if not await in_thread(request, counter.is_told, found):
        return JSONResponse({"job": found.id, "events": found.told}, status_code=202)
    return await _at_tick(request, counter, caller, found, accept)


@route("DELETE", "/v1/jobs/{job}", Permission.ASK)
async def cancel(request: Request, caller: Calling, job: str) -> Response:
    """Stop working on a question; the charge stays, and a retry completes it."""
    found = await in_thread(request, counter_of(request).cancel, caller, job)
    return JSONResponse({"job": found.id, "events": found.told})


@route("GET", "/v1/jobs/{job}/events", Permission.ASK)
async def job_events(request: Request, caller: Calling, job: str) -> Response:
    """Say how a question comes along, as server-sent events; the last one is 'over'."""
    counter = counter_of(request)
    found = counter.job(caller, job)
    return StreamingResponse(_events(counter, found), media_type="text/event-stream")


async def _events(counter: ServiceCounter, job: AskJob) -> AsyncIterator[str]:
    told = 0
    while not job.over:
        for event in job.told[told:]:
            yield f"event: {event}\ndata: {json.dumps({'job': job.id})}\n\n"
            told += 1
        await asyncio.sleep(_PAUSE)
    due = await counter.until_known(job)
    await asyncio.sleep(max(0.0, due - time.monotonic()))
    for event in (*job.told[told:], "over"):
        yield f"event: {event}\ndata: {json.dumps({'job': job.id})}\n\n"
