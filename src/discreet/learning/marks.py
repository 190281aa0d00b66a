"""How far noise has been drawn, on record before it is drawn, and who may go on.

Trust: kernel.

Definition.  A run of T steps is charged under one key.  Every process that works on it calls
``start`` and gets the next attempt number.  Before it draws a block of steps it records the mark
"attempt a draws up to step t" in the ledger, then reads what was recorded since its own start: if
there is a later attempt, it stops without drawing.
Theorem (key ``marked-steps``).  The steps that all processes together have drawn are at most the
steps charged, if an attempt that begins at step s is charged once more, before its first mark, for
the steps between s and the mark that it goes by: the last one of the latest attempt that has any
before its own start.  Two attempts may share this charge if they go by the same mark.
    Proof.  The chain of the ledger puts all starts and marks in one order.  Follow the attempts
    back from the last one that has a mark: from each to the one whose mark it goes by.  Call them
    1, ..., n in order, attempt i from s_i, the mark of i that i + 1 goes by e_i, e_0 = 0, and the
    last of n e_n <= T.  Every attempt that has drawn is one of them: it marked before any later
    start, or it would have stopped, so nobody after it goes by the mark of one before it.  Marks of
    one attempt go up, so i has drawn at most e_i - s_i.  It was charged at least e_{i-1} - s_i, and
    no other of them shares that, since they go by marks of different attempts.  All draws are at
    most the sum of e_i - s_i, which is e_n plus the sum of e_{i-1} - s_i: at most T and what was
    charged again.
So a crash is paid for once.  An attempt that ends in order records how far it came, and draws no
more: its last entry counts, whoever goes on from there is charged nothing, and what earlier ones
have lost is charged no second time.
An attempt belongs to one process: a forked child is refused before each step
(:mod:`discreet.learning.deep.run_progress`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from discreet.errors import RunFenced
from discreet.ledger import Ledger

_WORD: Final = "training mark"


@final
@dataclass(frozen=True, slots=True)
class RunHistory:
    """What a ledger knows of a run: attempts, the mark that the next one goes by, and its end.

    ``marked`` is the latest attempt that has a mark, 0 if none has, and ``drawn`` its last one.
    """

    attempts: int
    marked: int
    drawn: int
    seq: int


def run_history(
    ledger: Ledger, key: str, *, before: int | None = None, after: int = 0
) -> RunHistory:
    """Read starts and marks of a key, up to the start of one attempt if it is given."""
    attempts, seq = 0, after
    drawn: dict[int, int] = {}
    for entry in ledger.entries(after):
        seq = int(str(entry["seq"]))
        content = entry.get("content")
        if entry["kind"] == "start" and entry["key"] == key:
            attempts = int(str(entry["attempt"]))
            if attempts == before:
                break
        elif (
            entry["kind"] == "describe"
            and entry["what"] == _WORD
            and isinstance(content, dict)
            and content["run"] == key
        ):
            drawn[content["attempt"]] = content["drawn"]
    marked = max(drawn, default=0)
    return RunHistory(attempts, marked, drawn.get(marked, 0), seq)


@final
class Marks:
    """The marks of one attempt."""

    __slots__ = ("_attempt", "_key", "_ledger", "_seq")

    def __init__(self, ledger: Ledger, key: str, attempt: int, *, seq: int) -> None:
        """Take the attempt, and the entry of its start."""
        self._ledger, self._key, self._attempt, self._seq = ledger, key, attempt, seq

    def mark(self, drawn: int) -> None:
        """Record that noise is drawn up to this step; stop if somebody else has gone on."""
        self._ledger.describe(_WORD, {"run": self._key, "attempt": self._attempt, "drawn": drawn})
        self.check()

    def check(self) -> None:
        """Refuse to go on where a later attempt is on record."""
        since = run_history(self._ledger, self._key, after=self._seq)
        if since.attempts > self._attempt:
            raise RunFenced(
                what="another process has resumed this run.",
                why="if both went on, steps would be drawn twice and paid for once.",
                do="let the other process finish, or stop it and resume once more.",
            )
        self._seq = since.seq

    def stop(self, drawn: int) -> None:
        """Record that this attempt has drawn no further than this step, and draws no more."""
        content = {"run": self._key, "attempt": self._attempt, "drawn": drawn, "ended": True}
        self._ledger.describe(_WORD, content)
