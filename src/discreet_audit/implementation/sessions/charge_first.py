"""A20: is data read before it is paid for, or told before it is recorded?

Trust: public.

The engine of a session is replaced by one that looks at the ledger whenever it is called, through
a reader of its own, which sees only what is durable.  When rows are read, a charge and a start must
be there whose key has no answer yet; when an answer is told, it must be there too.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from discreet.accounting import Budget
from discreet.engines.hash_order import HashOrder
from discreet.ledger import Ledger
from discreet.plan import estimate
from discreet.requests.engine_request import EngineRequest
from discreet.requests.raw_totals import RawTotals
from discreet.session import Session
from discreet.session import open as opened
from discreet_audit.clinic import POLICY, visits
from discreet_audit.findings import Finding

_BUDGET: Final = Budget(epsilon=1000, delta="1e-3")
_BY_WARD: Final = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"
_BY_CITY: Final = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
_NOTES: Final = "SELECT AVG(LENGTH(note)) AS m FROM visits"


class Watcher:
    """An engine that notes, at every run, what is durable in the ledger."""

    def __init__(self, engine: Any, ledger: Path) -> None:
        self._engine = engine
        self._ledger = ledger
        self.unpaid = 0
        self.runs = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run(self, request: EngineRequest, *, order: HashOrder) -> RawTotals:
        """Look at the ledger, and only then read."""
        self.runs += 1
        self.unpaid += not pending(self._ledger)
        totals: RawTotals = self._engine.run(request, order=order)
        return totals


def pending(ledger: Path) -> set[str]:
    """Return the keys that are charged and started, and have no answer, as another reader sees."""
    with Ledger.open(ledger) as reader:
        entries = list(reader.entries())
    keys = {
        kind: {str(entry["key"]) for entry in entries if entry["kind"] == kind}
        for kind in ("charge", "start", "release")
    }
    return (keys["charge"] & keys["start"]) - keys["release"]


def watched(session: Session, ledger: Path) -> Watcher:
    """Put a watcher in the place of the engine of a session."""
    watcher = Watcher(session._engine, ledger)  # noqa: SLF001
    session._engine = watcher  # noqa: SLF001
    pipeline = session._pipeline  # noqa: SLF001
    assert pipeline is not None  # noqa: S101  (it is open)
    session._pipeline = replace(pipeline, engine=watcher)  # noqa: SLF001
    return watcher


def attack(*, quick: bool) -> Finding:  # noqa: ARG001  (it takes a moment in any case)
    """Ask in all ways, and look at the ledger whenever data is read."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "watched.ledger"
        source = {"visits": visits()}
        with opened(source, policy=POLICY, budget=_BUDGET, ledger=ledger) as session:
            watcher = watched(session, ledger)
            for way, ask in _ways(session, Path(folder)):
                before = watcher.unpaid, watcher.runs
                ask()
                wrong += [f"{way}: read unpaid"] * (watcher.unpaid - before[0])
                wrong += [f"{way}: read nothing"] * (watcher.runs == before[1])
                wrong += [f"{way}: told unrecorded"] * bool(pending(ledger))
    return Finding(
        claimed="whenever rows are read, a charge and a start are durable; whenever an answer is "
        "told, it is",
        measured=f"{watcher.runs} runs of the engine, {len(wrong)} violations"
        f"{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={"runs": watcher.runs, "violations": len(wrong)},
        not_covered="what a disk says is durable and is not (./run chaos power)",
    )


def _ways(session: Session, folder: Path) -> list[tuple[str, Any]]:
    price: dict[str, Any] = {"epsilon": "0.5"}
    groups: dict[str, Any] = {**price, "delta": "1e-6"}
    return [
        ("a count", lambda: session.ask("SELECT COUNT(*) AS n FROM visits", **price)),
        ("public groups", lambda: session.ask(_BY_WARD, **price)),
        ("private groups", lambda: session.ask(_BY_CITY, **groups)),
        ("another draw", lambda: session.remeasure(_BY_WARD, **price)),
        ("bounds that are found", lambda: session.ask(_NOTES, bounds=estimate(epsilon=1), **price)),
        ("files", lambda: session.write(_BY_CITY, folder / "files", **{**groups, "epsilon": 1})),
    ]
