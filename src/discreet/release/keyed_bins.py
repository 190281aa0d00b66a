"""Noise for groups that never come together: one keyed stream for each bin of their keys.

Trust: kernel.

Definition.  A public function of the key values puts every group into one of B bins; B is fixed
before anything is read.  For a release a key K of 256 bits is drawn afresh.  Whoever has all totals
of bin b sorts its groups by their keys, NULL first, and runs the mechanisms of the plan on them as
for any answer (:mod:`discreet.release.answer`), with the words of the stream that belongs to K and
the label "bin b of B".

Theorem (key ``keyed-bins``).  (1) The table of a bin is a function of the plan, K and the totals of
the bin: computed twice, on whatever machine and beside whatever other bins, it is the same table.
(2) If K is used for these totals alone, all tables together lose no more than the plan's tree, to
whoever cannot tell the keyed streams from independent uniform words.
Proof.  (1) There is no other input: groups have different keys, so the order is one.  (2) With
independent words every mechanism of the plan draws independently in each group: whether it is
shown, and its noise.  So to run it on parts of the groups, each with words of its own, has the law
of one run on all of them, whichever the parts are, provided that which part a group is in does not
depend on what is drawn; it depends on its key alone.  One run of each mechanism loses no more than
the tree (key ``answer-loss``).  Names, number and sizes of files, and the order of rows in them,
are functions of the tables of shown groups and of B (key ``post-processing``).
Assumes: every group is in the table of its bin and of no other (a stream that serves two parts of a
bin would add the same noise to both); a task that runs again sees the same totals, or only one of
its tables is ever told.

A stream for every group would need no bins.  It is not taken because the exact samplers work on
whole arrays: on one core 40 000 groups of a bin took 0.1 to 0.3 microseconds each, and 150 to 450
with a stream for each of them.

The key is worth as much as the totals: with it the noise can be subtracted.  It goes to the tasks
of one job and nowhere else: not to the ledger, the answer, a log or a message.  Spark may keep what
it sends to tasks in files of its own, as it keeps rows, until the job ends; it encrypts both if it
is told to (docs/guide/scale.md).  A key is never used again,
for the difference of two answers with the same noise is exact: an attempt that is begun anew, after
a crash, draws a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import pyarrow as pa

from discreet.errors import WrongKind
from discreet.noise import SYSTEM, Entropy, KeyedEntropy
from discreet.plan.plan import Plan
from discreet.plan.raw import Raw
from discreet.release.answer import answer

__all__ = ["BINS", "KeyedBins"]

BINS: Final = 2**8
"""So many bins: ten million groups make some forty thousand in each."""

_KEY_BITS: Final = 256


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KeyedBins:
    r"""Makes the finished table of a bin from its totals; it may be sent to tasks, and to nobody.

    >>> import numpy as np
    >>> from discreet.plan.policy import read_policy
    >>> from discreet.plan.schema import Schema
    >>> from discreet.plan.steps import plan
    >>> from discreet.query.sql.read import read
    >>> policy = read_policy(
    ...     'format = 1\nunit = "patient"\n[limits]\nmax_rows = 5\nmax_groups = 1\n'
    ...     '[tables.visits.columns]\npatient.type = "integer"\nward.type = "text"')
    >>> made = plan(read("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"), policy=policy,
    ...             schema=Schema(policy.tables), unit=policy.unit, public_rows=list,
    ...             epsilon=1, delta="1e-6")
    >>> finish = KeyedBins.fresh(made)
    >>> raw = Raw(keys=(pa.array(["A", "B"]),), units=np.array([1, 900]),
    ...           totals={"count": np.array([1, 950])}, leaves={})
    >>> finish(raw, 7).column_names, finish(raw, 7).equals(finish(raw, 7))
    (['ward', 'n', 'n_low', 'n_high'], True)
    >>> finish
    KeyedBins(hidden)
    """

    plan: Plan
    key: bytes
    bins: int

    @classmethod
    def fresh(cls, plan: Plan, *, bins: int = BINS, entropy: Entropy = SYSTEM) -> KeyedBins:
        """Draw a key for one release, of groups that are chosen one by one."""
        if plan.selection is None or plan.reached is not None:
            raise WrongKind(
                what="groups that are known beforehand are not finished in bins.",
                why="groups that nobody is in belong to the answer too, and no bin has them.",
                do="finish all groups together.",
            )
        key = entropy.bits(_KEY_BITS).to_bytes(_KEY_BITS // 8, "little")
        return cls(plan=replace(plan, look=None), key=key, bins=bins)

    def __call__(self, raw: Raw, at: int) -> pa.Table:
        """Choose groups of a bin, add noise, and compute what was asked, with intervals."""
        entropy = KeyedEntropy(key=self.key, label=f"bin {at} of {self.bins}")
        return answer(self.plan, raw, entropy=entropy).to_arrow()

    def __repr__(self) -> str:
        """Show nothing: whoever has the key can subtract the noise."""
        return "KeyedBins(hidden)"
