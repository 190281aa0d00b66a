"""The counter of a server: everything that calls and pages do, free of any web framework.

Trust: kernel.  Every method takes the caller first, and refuses what the caller may not do before
anything else happens.

This process writes the ledgers, each by one writer that groups the commits of all workers, and
knows people.  It holds no data and draws no noise: workers do (:mod:`discreet.service.workers`).

Steps of a question (S1 to S8 of the spend protocol).  A worker plans it; the price follows from the
plan alone (S5).  The charge is decided by the ledger under its lock (S7), by privacy filters on all
accounts of the path (S8), and durable before data is read (S1).  Noise is drawn once, in the worker
(S4), and the answer is on record before it leaves (S2).  The key of the record follows from the
plan, so a retry gets the same answer; an idempotency key of a caller names one body (S3).  Once
something is charged, a caller learns of an answer or of ``TryAgain``, and of nothing else (S6).
"""

from __future__ import annotations

from typing import final

from discreet.service.asking import AskingCounter
from discreet.service.budgets import BudgetCounter
from discreet.service.reading import ReadingCounter


@final
class ServiceCounter(AskingCounter, ReadingCounter, BudgetCounter):
    """Serves one site; ``close`` stops its workers and closes its ledgers."""

    __slots__ = ()
