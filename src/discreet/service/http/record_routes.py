"""Calls that read: datasets, answers on record, labels, the ledger, budgets; and requests.

Trust: kernel.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from pydantic import Field

from discreet.documents import BudgetDocument
from discreet.service.http.query_routes import in_thread
from discreet.service.http.route_table import Body, Calling, counter_of, route
from discreet.service.roles import Permission

Entry = Annotated[int, Path(ge=1, lt=2**62, description="The number of the entry of an answer.")]
Audience = Annotated[Literal["analyst", "subject", "steward", "auditor"], Query()]
Form = Annotated[Literal["json", "text", "html", "document"], Query(alias="format")]


class BudgetBody(Body):
    """Limits, as exact text."""

    epsilon: str | None = None
    rho: str | None = None
    delta: str | None = None


class AccountBody(Body):
    """An account below an existing one."""

    path: str = Field(max_length=600)
    budget: BudgetBody | None = None


class RequestBody(Body):
    """A request for a higher limit."""

    account: str = Field(max_length=600)
    budget: BudgetBody
    reason: str = Field(max_length=1000)


class DecisionBody(Body):
    """What a second person decides."""

    approve: bool


class ReasonBody(Body):
    """Why a closed question may be attempted again."""

    key: str = Field(max_length=200)
    reason: str = Field(max_length=1000)


class ReceiptsBody(Body):
    """Receipts that the ledger must still match."""

    receipts: list[str] = Field(default=[], max_length=1000)


@route("GET", "/v1/datasets")
async def datasets(request: Request, caller: Calling) -> Response:
    """List the datasets that the caller may see."""
    return JSONResponse({"datasets": counter_of(request).datasets(caller)})


@route("GET", "/v1/datasets/{dataset}", Permission.SCHEMA)
async def schema(request: Request, caller: Calling, dataset: str) -> Response:
    """Return the public facts about the tables."""
    counter = counter_of(request)
    found = dict(await in_thread(request, counter.schema, caller, dataset))
    found.pop("kind", None)
    receipt = await in_thread(request, counter.receipt, caller, dataset)
    return JSONResponse({**found, "receipt": str(receipt)})


@route("GET", "/v1/datasets/{dataset}/releases", Permission.RELEASES)
async def releases(request: Request, caller: Calling, dataset: str) -> Response:
    """List the questions that the caller has asked: asked again, each is free."""
    asked = await in_thread(request, counter_of(request).asked, caller, dataset)
    listed = [
        {"entry": each.entry, "at": each.at, "forms": [form.written() for form in each.forms]}
        for each in asked
    ]
    return JSONResponse({"releases": listed})


@route("GET", "/v1/datasets/{dataset}/releases/{entry}", Permission.RELEASES)
async def release(request: Request, caller: Calling, dataset: str, entry: Entry) -> Response:
    """Return an answer that is on record, as it was stored."""
    found = await in_thread(request, counter_of(request).release, caller, dataset, entry)
    return JSONResponse(found)


@route("GET", "/v1/datasets/{dataset}/releases/{entry}/label", Permission.RELEASES)
async def release_label(
    request: Request, caller: Calling, dataset: str, entry: Entry, form: Form = "json"
) -> Response:
    """Return the privacy label of one answer."""
    counter = counter_of(request)
    return _shown(await in_thread(request, counter.label, caller, dataset, entry=entry), form)


@route("GET", "/v1/datasets/{dataset}/releases/{entry}/explain", Permission.RELEASES)
async def release_explain(  # noqa: PLR0913, PLR0917  what FastAPI hands in
    request: Request,
    caller: Calling,
    dataset: str,
    entry: Entry,
    audience: Audience = "analyst",
    form: Form = "json",
) -> Response:
    """Say in odds what one answer gives away."""
    counter = counter_of(request)
    found = await in_thread(
        request, counter.explain, caller, dataset, audience=audience, entry=entry
    )
    return _shown(found, form)


@route("GET", "/v1/datasets/{dataset}/label", Permission.RELEASES)
async def label(request: Request, caller: Calling, dataset: str, form: Form = "json") -> Response:
    """Return the privacy label of everything that was released."""
    return _shown(await in_thread(request, counter_of(request).label, caller, dataset), form)


@route("GET", "/v1/datasets/{dataset}/explain", Permission.RELEASES)
async def explain(
    request: Request,
    caller: Calling,
    dataset: str,
    audience: Audience = "analyst",
    form: Form = "json",
) -> Response:
    """Say in odds what everything that was released gives away."""
    counter = counter_of(request)
    return _shown(
        await in_thread(request, counter.explain, caller, dataset, audience=audience), form
    )


def _shown(found: Mapping[str, Any], form: str) -> Response:
    match form:
        case "text":
            return PlainTextResponse(found["text"])
        case "html":
            return HTMLResponse(found["html"])
        case "document":
            return JSONResponse(found)
        case _:
            return JSONResponse(found["content"])


# --- the ledger -------------------------------------------------------------------------------


@route("GET", "/v1/datasets/{dataset}/ledger", Permission.LEDGER)
async def ledger(
    request: Request,
    caller: Calling,
    dataset: str,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
) -> Response:
    """Export the entries of the ledger after a number, one JSON object a line."""
    entries = counter_of(request).history(caller, dataset, after=after)
    return StreamingResponse(_lines(entries), media_type="application/x-ndjson")


def _lines(entries: Iterator[Mapping[str, object]]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps(entry, separators=(",", ":"), sort_keys=True) + "\n"


@route("POST", "/v1/datasets/{dataset}/ledger/verify", Permission.LEDGER)
async def verify(
    request: Request, caller: Calling, dataset: str, body: ReceiptsBody | None = None
) -> Response:
    """Check everything that the ledger claims, from its entries alone."""
    receipts = () if body is None else body.receipts
    report = await in_thread(request, counter_of(request).verify, caller, dataset, receipts)
    return JSONResponse({"ok": report.ok, "text": str(report)})


@route("GET", "/v1/datasets/{dataset}/closed", Permission.REOPEN)
async def closed(request: Request, caller: Calling, dataset: str) -> Response:
    """List the questions that a failed attempt has closed."""
    keys = await in_thread(request, counter_of(request).closed, caller, dataset)
    return JSONResponse({"closed": list(keys)})


@route("POST", "/v1/datasets/{dataset}/closed", Permission.REOPEN)
async def reopen(request: Request, caller: Calling, dataset: str, body: ReasonBody) -> Response:
    """Allow further attempts at a closed question."""
    counter = counter_of(request)
    await in_thread(request, counter.reopen, caller, dataset, body.key, reason=body.reason)
    return JSONResponse({"reopened": body.key})


# --- budgets ----------------------------------------------------------------------------------


@route("GET", "/v1/datasets/{dataset}/budget", Permission.BUDGET)
async def budget(request: Request, caller: Calling, dataset: str) -> Response:
    """Return the balance of every account, and the account that pays for the caller."""
    counter = counter_of(request)
    accounts = await in_thread(request, counter.budget, caller, dataset)
    left = await in_thread(request, counter.remaining, caller, dataset)
    own = counter.account_of(caller, dataset) or accounts[0].path
    return JSONResponse(
        {
            "account": own,
            "remaining": BudgetDocument.of(left).written(),
            "accounts": [asdict(each) for each in accounts],
        }
    )


@route("POST", "/v1/datasets/{dataset}/accounts", Permission.DECIDE)
async def open_account(
    request: Request, caller: Calling, dataset: str, body: AccountBody
) -> Response:
    """Open an account below an existing one."""
    limits = None if body.budget is None else _budget(body.budget)
    opened = await in_thread(
        request, counter_of(request).open_account, caller, dataset, body.path, budget=limits
    )
    return JSONResponse(asdict(opened))


@route("GET", "/v1/datasets/{dataset}/requests", Permission.BUDGET)
async def requests(request: Request, caller: Calling, dataset: str) -> Response:
    """List requests for higher limits: one's own, or all for those who decide."""
    found = await in_thread(request, counter_of(request).requests, caller, dataset)
    return JSONResponse({"requests": [asdict(each) for each in found]})


@route("POST", "/v1/datasets/{dataset}/requests", Permission.REQUEST)
async def request_raise(
    request: Request, caller: Calling, dataset: str, body: RequestBody
) -> Response:
    """Ask for a higher limit; a second person decides."""
    found = await in_thread(
        request,
        counter_of(request).request,
        caller,
        dataset,
        account=body.account,
        budget=_budget(body.budget),
        reason=body.reason,
    )
    return JSONResponse(asdict(found))


@route("POST", "/v1/requests/{number}/decision", Permission.DECIDE)
async def decide(
    request: Request,
    caller: Calling,
    number: Annotated[int, Path(ge=1, lt=2**62)],
    body: DecisionBody,
) -> Response:
    """Approve or decline another person's request; approval is an entry in the ledger."""
    counter = counter_of(request)
    return JSONResponse(
        asdict(await in_thread(request, counter.decide, caller, number, approve=body.approve))
    )


def _budget(body: Any) -> dict[str, str]:
    given: dict[str, str] = body.model_dump(exclude_none=True)
    return given
