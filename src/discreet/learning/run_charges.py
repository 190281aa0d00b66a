"""What a run pays: all of it before its first row, and lost steps once more.

Trust: kernel.

Key ``marked-steps``: an attempt that begins below the mark that it goes by is charged for the steps
in between, which somebody may have seen.  They are a release of their own, with their share of
delta.  Its key names the mark and where the attempt begins: one that dies before it draws has paid
for the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final

from discreet.errors import OutOfRange, OverBudget, RunFenced
from discreet.learning.marks import Marks, run_history
from discreet.learning.training_plan import TrainingPlan
from discreet.ledger import Ledger
from discreet.ledger.values import Started, StoredAnswer


def check_lost(lost: str) -> None:
    """Refuse a word that says nothing about steps that were lost."""
    if lost not in {"told", "untold"}:
        raise OutOfRange(
            what="lost is neither 'told' nor 'untold'.",
            why="it says whether anybody may have seen the steps that were lost.",
            do="leave it out, unless you vouch that nobody did.",
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
        """Charge what is drawn a second time from a step on; return the marks of this attempt.

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
        """Close the run: a step has failed, and its reason is nobody's to see."""
        self._ledger.fail(self._plan.key)
