"""Requests: charged, started, answered, in this order and each under a key of its own.

Trust: kernel.

    charge    one for each key; its body is the digest of what it asks for
    start     after the charge, before the release; attempts are counted from one
    release   after a start, once; the bytes of its answer are stored beside it
    fail      after a start and before the release; nothing is started or answered until it is
    reopen    followed by this, which names its reason and a person
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from discreet.ledger.verify.entry_format import digest

__all__ = ["Requests"]


@final
@dataclass(slots=True)
class _Asked:
    attempts: int = 0
    released: bool = False
    closed: bool = False


@final
class Requests:
    """How far each request has come.

    >>> requests = Requests()
    >>> list(requests.start({"key": "visits", "attempt": 1}))
    [('start', 'its key was not charged.')]
    """

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        """Start without any."""
        self._asked: dict[str, _Asked] = {}

    @property
    def charges(self) -> int:
        """How many were charged."""
        return len(self._asked)

    @property
    def releases(self) -> int:
        """How many were answered."""
        return sum(asked.released for asked in self._asked.values())

    def charge(self, entry: Mapping[str, Any], body: str) -> Iterator[tuple[str, str]]:
        """Take a charge, and the canonical text of what it asks for."""
        if entry["key"] in self._asked:
            yield "charge", "its key was charged before."
        self._asked.setdefault(entry["key"], _Asked())
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
        asked = self._asked.get(entry["key"])
        if asked is None:
            yield "start", "its key was not charged."
            return
        asked.attempts += 1
        if entry["attempt"] != asked.attempts:
            yield "start", "its attempt is not the next one."
        if asked.released:
            yield "start", "its key was answered before."
        if asked.closed:
            yield "start", "its question was closed by a failed attempt."

    def release(self, entry: Mapping[str, Any], answer: object) -> Iterator[tuple[str, str]]:
        """Take a release, and the answer that is stored beside it."""
        if not isinstance(answer, bytes):
            yield "answer", "its answer is missing."
        elif len(answer) != entry["size"] or digest(answer) != entry["answer"]:
            yield "answer", "its answer is not the one that was recorded."
        asked = self._asked.get(entry["key"])
        if asked is None or not asked.attempts:
            yield "release", "its key was not charged and started."
        elif asked.released:
            yield "release", "its key was answered before."
        elif asked.closed:
            yield "release", "its question was closed by a failed attempt."
        if asked is not None:
            asked.released = True

    def fail(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Take a failed attempt."""
        asked = self._asked.get(entry["key"])
        if asked is None or not asked.attempts:
            yield "fail", "its key was not charged and started."
        elif asked.released:
            yield "fail", "its key was answered before."
        elif asked.closed:
            yield "fail", "its question was closed before."
        if asked is not None:
            asked.closed = True

    def reopen(self, entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Take the decision to allow further attempts."""
        asked = self._asked.get(entry["key"])
        if asked is None or not asked.closed:
            yield "reopen", "its question was not closed."
        else:
            asked.closed = False
