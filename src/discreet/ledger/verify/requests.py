"""Requests: charged, started, answered, in this order and each under a key of its own.

Trust: kernel.

    charge    one per key; its body is the digest of what it asks for
    start     after the charge, before the release; attempts are counted from one
    release   after a start, once; the bytes of its answer are stored beside it
    fail      after a start and before the release; nothing is started or answered until
    reopen    follows, which names its reason and a person
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from discreet.ledger.verify.entry_format import digest


@final
@dataclass(slots=True)
class _Request:
    """The progress of one request."""

    attempts: int = 0
    released: bool = False
    closed: bool = False


@final
class Requests:
    """The progress of each request.

    >>> requests = Requests()
    >>> list(requests.start({"key": "visits", "attempt": 1}))
    [('start', 'its key was not charged.')]
    """

    __slots__ = ("_requests",)

    def __init__(self) -> None:
        """Start without any."""
        self._requests: dict[str, _Request] = {}

    @property
    def charges(self) -> int:
        """How many were charged."""
        return len(self._requests)

    @property
    def releases(self) -> int:
        """How many were answered."""
        return sum(request.released for request in self._requests.values())

    def charge(self, entry: Mapping[str, Any], body: str) -> Iterator[tuple[str, str]]:
        """Take a charge, and the canonical text of what it asks for."""
        if entry["key"] in self._requests:
            yield "charge", "its key was charged before."
        self._requests.setdefault(entry["key"], _Request())
        if digest(body.encode()) != entry["body"]:
            yield "charge", "its body is not the digest of what it asks for."

    def step(
        self, kind: str, entry: Mapping[str, Any], answer: object
    ) -> Iterator[tuple[str, str]]:
        """Take what follows a charge, with the answer that is stored beside a release."""
        match kind:
            case "start":
                yield from self.start(entry)
            case "release":
                yield from self.release(entry, answer)
            case "fail":
                yield from self.fail(entry)
            case "reopen":
                yield from self.reopen(entry)

    def start(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Take a start."""
        request = self._requests.get(entry["key"])
        if request is None:
            yield "start", "its key was not charged."
            return
        request.attempts += 1
        if entry["attempt"] != request.attempts:
            yield "start", "its attempt is not the next one."
        if request.released:
            yield "start", "its key was answered before."
        if request.closed:
            yield "start", "its question was closed by a failed attempt."

    def release(self, entry: Mapping[str, Any], answer: object) -> Iterator[tuple[str, str]]:
        """Take a release, and the answer that is stored beside it."""
        if not isinstance(answer, bytes):
            yield "answer", "its answer is missing."
        elif len(answer) != entry["size"] or digest(answer) != entry["answer"]:
            yield "answer", "its answer is not the one that was recorded."
        request, problem = self._in_progress(entry, "its question was closed by a failed attempt.")
        if problem:
            yield "release", problem
        if request is not None:
            request.released = True

    def fail(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Take a failed attempt."""
        request, problem = self._in_progress(entry, "its question was closed before.")
        if problem:
            yield "fail", problem
        if request is not None:
            request.closed = True

    def _in_progress(self, entry: Mapping[str, Any], closed: str) -> tuple[_Request | None, str]:
        """Return a request, and what is wrong unless it was started and has not ended."""
        request = self._requests.get(entry["key"])
        if request is None or not request.attempts:
            return request, "its key was not charged and started."
        if request.released:
            return request, "its key was answered before."
        return request, closed if request.closed else ""

    def reopen(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Take the decision to allow further attempts."""
        request = self._requests.get(entry["key"])
        if request is None or not request.closed:
            yield "reopen", "its question was not closed."
        else:
            request.closed = False
