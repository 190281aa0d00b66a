"""Processes that fork, and a machine without random bits: what is drawn then.

Trust: public.  It runs as a program of its own, because only a process without threads forks well:

    python -m discreet_audit.implementation.children COUNT
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any
from unittest import mock

from discreet.errors import EntropyForked, EntropyUnavailable
from discreet.noise import SYSTEM, DiscreteLaplace, KeyedEntropy

_LAW = DiscreteLaplace(scale=10**9)


def forked(count: int) -> dict[str, int]:
    """Draw in many children at once, and count the differences.

    The parent has drawn before, so that pools and keys are there to be inherited.
    """
    keyed = KeyedEntropy(key=bytes(32), label="a stream of the parent")
    parent = _drawn()
    lines = [json.loads(_in_child(keyed)) for _ in range(count)]
    draws = [tuple(line["drawn"]) for line in lines] + [tuple(parent), tuple(_drawn())]
    values = [value for drawn in draws for value in drawn]
    return {
        "children": count,
        "repeated": len(values) - len(set(values)),
        "continued": sum(not line["refused"] for line in lines),
    }


def _drawn() -> list[int]:
    """Draw by all ways: words, a served value, and an array of values."""
    return [SYSTEM.bits(128), (1 << 70) + _LAW.draw(), (1 << 80) + int(_LAW.sample(300)[-1])]


def _in_child(keyed: KeyedEntropy) -> str:
    theirs, ours = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            try:
                keyed.bits(64)
                refused = False
            except EntropyForked:
                refused = True
            os.write(ours, json.dumps({"drawn": _drawn(), "refused": refused}).encode())
        finally:
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "r", encoding="utf-8") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return text


def without_entropy() -> dict[str, int]:
    """Ask a session while the operating system has no bits to give; count what goes wrong."""
    from discreet_audit.clinic import clinic, visits  # noqa: PLC0415  (threads)

    wrong = 0
    with clinic(visits(3)) as session:
        question = "SELECT COUNT(*) AS n FROM visits"
        with mock.patch.object(os, "urandom", _nothing):
            wrong += _in_thread(lambda: _LAW.sample(1)) != "EntropyUnavailable"
            wrong += _in_thread(lambda: session.ask(question, epsilon=1)) != "EntropyUnavailable"
        kinds = [entry["kind"] for entry in session.ledger.entries()]  # type: ignore[union-attr]
        wrong += "release" in kinds
        wrong += session.ask(question, epsilon=1).replayed
    return {"drawn_without_bits": wrong}


def _nothing(size: int) -> bytes:
    message = f"no {size} bytes"
    raise OSError(message)


def _in_thread(work: Any) -> str:
    """Do something in a new thread, which has no key yet; return how it ended."""
    ended: list[str] = []

    def run() -> None:
        try:
            work()
            ended.append("drawn")
        except EntropyUnavailable:
            ended.append("EntropyUnavailable")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return ended[0]


def main(arguments: list[str]) -> None:
    """Fork children, then take the bits away, and print the result."""
    sys.stdout.write(json.dumps(forked(int(arguments[0])) | without_entropy()))


if __name__ == "__main__":
    main(sys.argv[1:])
