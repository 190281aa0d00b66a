"""Calls from within the process, by the doors of other protocols.

Trust: kernel.  They go through the application as those of the network do: permissions, limits,
rates, ticks, counts and the log are the same (T1, T8).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from discreet.documents import ProblemDocument

if TYPE_CHECKING:  # handed in
    from fastapi import FastAPI


def calls_within(
    app: FastAPI, *, headers: Mapping[str, str], peer: tuple[str, int], base: str
) -> Callable[..., Awaitable[Any]]:
    """Return a function that makes calls on behalf of the person in the headers.

    Args:
        app: the application.
        headers: of each call.
        peer: the address of the caller.
        base: the address that the caller has used.
    """

    async def call(method: str, *path: str, body: Any = None, query: str = "") -> Any:
        transport = httpx.ASGITransport(app=app, client=peer)
        where = "/" + "/".join(quote(part, safe="") for part in path) + query
        async with httpx.AsyncClient(
            transport=transport,
            base_url=base,
            timeout=None,  # noqa: S113  the server ends calls
            trust_env=False,
        ) as client:
            answer = await client.request(method, where, json=body, headers=headers)
        document = answer.json()
        if answer.status_code >= 400:
            raise ProblemDocument.read(document if isinstance(document, dict) else {}).error()
        return document

    return call
