"""Keeping witnesses: a thread that anchors the ledgers of a server as they grow.

Trust: kernel.

A ledger that does not continue its witness is not served (:mod:`discreet.ledger.witness`).  While
it is served, each second with new entries adds one anchor, synced, of an entry that is durable by
then, and stopping adds the last.  So a witness lags by a second plus the time of a commit; it never
leads, and no call waits for it.  A witness that cannot be written lags for longer: that is logged
once, and shown to those who read the ledger.  So is one that another process keeps locked: each
pass waits for two seconds at most, and stopping for no longer than a while.  The witness is looked
at each second, whether or not the ledger has grown: if another process has anchored entries that
this ledger lacks, two copies of it are in use, and this one is served no more.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from discreet.errors import DiscreetError, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.ledger.witness import Anchor, WitnessFile
from discreet.service.state import SecurityLog

_SECONDS: Final = 1.0
_STOP_WAIT: Final = 15.0


@final
class WitnessKeeper:
    """The witnesses of a site, by the names of its datasets."""

    __slots__ = ("_anchors", "_ledgers", "_log", "_stop", "_thread", "_witnesses", "problems")

    def __init__(self, *, log: SecurityLog) -> None:
        """Begin with none."""
        self._log = log
        self._ledgers: dict[str, Ledger] = {}
        self._witnesses: dict[str, WitnessFile] = {}
        self._anchors: dict[str, Anchor] = {}
        self.problems: dict[str, DiscreetError] = {}
        """Why a witness lags, or why its ledger is served no more."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="discreet-witness", daemon=True)

    def add(self, dataset: str, ledger: Ledger, path: Path) -> None:
        """Check a ledger against its witness, and anchor it."""
        witness = WitnessFile(path)
        witness.check(ledger)
        self._anchors[dataset] = witness.extend(ledger, ledger.receipt)
        self._ledgers[dataset], self._witnesses[dataset] = ledger, witness

    def start(self) -> None:
        """Begin to follow the ledgers, if there is any witness."""
        if self._witnesses:
            self._thread.start()

    def last(self, dataset: str) -> Anchor | None:
        """Return the last anchor of a dataset; None without a witness."""
        return self._anchors.get(dataset)

    def contradiction(self, dataset: str) -> DiscreetError | None:
        """Return why a ledger must not be served any more, if so."""
        problem = self.problems.get(dataset)
        return None if isinstance(problem, LedgerUnavailable) else problem

    def close(self) -> None:
        """Have what there is anchored, and stop; the ledgers are still open.

        A disk that does not answer is not waited for: the witness then lags.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_WAIT)

    def _run(self) -> None:
        while not self._stop.wait(_SECONDS):
            self._anchor_all()
        self._anchor_all()

    def _anchor_all(self) -> None:
        for dataset, witness in self._witnesses.items():
            ledger = self._ledgers[dataset]
            try:
                seen, known = ledger.last_seen, self._anchors[dataset]
                last = witness.last()
                if last is None:
                    raise _gone()
                if seen.seq > known.receipt.seq or last != known:
                    self._anchors[dataset] = witness.extend(ledger, seen)
                self.problems.pop(dataset, None)
            except DiscreetError as error:
                self._note(dataset, error)

    def _note(self, dataset: str, error: DiscreetError) -> None:
        """Keep and log a problem, once."""
        known = self.problems.get(dataset)
        self.problems[dataset] = error
        if type(known) is not type(error):
            with suppress(LedgerUnavailable):  # the page says it
                lags = isinstance(error, LedgerUnavailable)
                self._log.write("witness", dataset=dataset, detail="lags" if lags else "differs")


def _gone() -> LedgerUnavailable:
    return LedgerUnavailable(
        what="the witness of the ledger is gone.",
        why="one that is begun anew would not know what the old one knew.",
        do="bring it back, or its disk; or begin one while the server is stopped: "
        "discreet ledger anchor LEDGER --witness FILE.",
    )


__all__ = ["WitnessKeeper"]
