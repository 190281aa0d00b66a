"""Requests: charged, started, answered, in this order and each under a key of its own.

Trust: kernel.

    charge    one for each key; its body is the digest of what it asks for
    start     after the charge, before the release; attempts are counted from one
    release   after a start, once; the bytes of its answer are stored beside it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from discreet.ledger.verify.lines import digest

__all__ = ["Requests"]


@final
@dataclass(slots=True)
class _Asked:
    attempts: int = 0
    released: bool = False


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
        if asked is not None:
            asked.released = True
