"""How far noise has been drawn, on record before it is drawn, and who may go on.

Trust: kernel (T3).

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
    start, or it would have stopped, so no later attempt goes by the mark of an earlier one.  Marks
    of one attempt go up, so i has drawn at most e_i - s_i.  It was charged at least e_{i-1} - s_i,
    and no other of them shares that, since they go by marks of different attempts.  All draws are
    at most the sum of e_i - s_i, which is e_n plus the sum of e_{i-1} - s_i: at most T and what was
    charged again.
So a crash is paid for once.  An attempt that ends normally records how far it came, and draws no
more: its last entry counts, an attempt that resumes from there is charged nothing, and the losses
of earlier attempts are not charged twice.
An attempt belongs to one process: a forked child is refused before each step
(:mod:`discreet.torch.progress`).

The charges of a run: all of it before its first row, and lost steps once more.

Key ``marked-steps``: an attempt that begins below the mark that it goes by is charged for the steps
in between, which may have been observed.  They are a release of their own, with their share of
delta.  Its key names the mark and where the attempt begins: one that dies before it draws has paid
for the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from discreet.errors import OutOfRange, OverBudget, RunFenced
from discreet.ledger import Ledger, Started, StoredAnswer
from discreet.torch.training_plan import TrainingPlan

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
        """Record that noise is drawn up to this step; stop if another attempt has gone on."""
        self._ledger.describe(_WORD, {"run": self._key, "attempt": self._attempt, "drawn": drawn})
        self.check()

    def check(self) -> None:
        """Refuse to go on if a later attempt is on record."""
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


def check_lost(lost: str) -> None:
    """Refuse a word that says nothing about steps that were lost."""
    if lost not in {"told", "untold"}:
        raise OutOfRange(
            "lost is neither 'told' nor 'untold': leave it out, unless you vouch that nobody did."
        )


@final
class RunCharges:
    """The entries of one run in its ledger."""

    def __init__(self, ledger: Ledger, plan: TrainingPlan) -> None:
        """Take who pays, and what for."""
        self._ledger, self._plan = ledger, plan
        self.attempts = self.again = self._seq = 0
        self.untold = False

    @property
    def charged(self) -> bool:
        """Whether the run is on record."""
        return self._ledger.find(self._plan.digest) is not None

    def pay(self) -> Started | StoredAnswer:
        """Charge the whole run, unless that was done, and start an attempt."""
        plan = self._plan
        self._ledger.charge(plan.tree, key=plan.key, question=plan.digest, delta=plan.delta)
        self._seq = self._ledger.receipt.seq
        return self._ledger.start(plan.key)

    def begin(self, started: Started, *, at: int, lost: str, fresh: bool = False) -> Marks:
        """Charge the steps that are redrawn from a step on; return the marks of this attempt.

        A ``fresh`` process puts units into new parts: the steps since the last multiple of the band
        count a second time (key ``banded-sums``).
        """
        before = run_history(self._ledger, self._plan.key, before=started.attempt)
        again = before.drawn - at
        turned = at % self._plan.band.width if fresh and at < self._plan.steps else 0
        if again > 0 and lost == "untold":
            self.untold, again = True, 0
        if max(again, 0) + turned > 0:
            self._charge_again(max(again, 0) + turned, f"{before.marked}-{before.drawn}-{at}")
        self.attempts = started.attempt
        seq = max(self._seq, before.seq)
        return Marks(self._ledger, self._plan.key, started.attempt, seq=seq)

    def _charge_again(self, steps: int, since: str) -> None:
        """Charge for lost steps: a release of its own, with its share of delta."""
        plan = self._plan
        try:
            paid = self._ledger.charge(
                plan.tree_of(steps),
                key=f"{plan.key}/resume-{since}-{steps}",
                delta=plan.delta * steps / plan.steps,
            )
        except OverBudget as refusal:
            raise OverBudget(
                what=f"{steps} steps that were lost cannot be paid for again: {refusal.what}",
                why=f"somebody may have seen them. {refusal.why}",
                do='if you vouch that nobody did, resume with lost="untold", which the report '
                f"tells; otherwise {refusal.do}",
            ) from refusal
        self.again += steps if paid.new else 0

    def record(self, manifest: Mapping[str, Any], marks: Marks) -> None:
        """Store what has come out of the run; it has one result."""
        text = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode("ascii")
        marks.check()
        if self._ledger.release(self._plan.key, text).answer != text:
            raise RunFenced(
                what="another process has ended this run with other weights.",
                why="one run has one result, and these weights are not on record.",
                do="use the weights of that process; discard these.",
            )

    def close(self) -> None:
        """Close the run: a step has failed, and its reason must stay secret."""
        self._ledger.fail(self._plan.key)
