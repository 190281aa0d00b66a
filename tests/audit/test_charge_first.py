"""Is data read before it is paid for, or told before it is recorded?

The engine of a session is replaced by one that looks at the ledger whenever it is called, through
a reader of its own, which sees only what is durable.  When rows are read, a charge and a start must
be there whose key has no answer yet; when an answer is told, it must be there too.
"""

from dataclasses import replace

from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.plan import estimate
from discreet.session import open as opened
from tests.audit.clinic import POLICY, visits

_BUDGET = Budget(epsilon=1000, delta="1e-3")
_BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward"
_BY_CITY = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
_NOTES = "SELECT AVG(LENGTH(note)) AS m FROM visits"


class Watcher:
    """An engine that notes, at every run, what is durable in the ledger."""

    def __init__(self, engine, ledger):
        self._engine = engine
        self._ledger = ledger
        self.unpaid = 0
        self.runs = 0

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def run(self, request, *, order):
        """Look at the ledger, and only then read."""
        self.runs += 1
        self.unpaid += not pending(self._ledger)
        return self._engine.run(request, order=order)


def pending(ledger):
    """Return the keys that are charged and started, and have no answer, as another reader sees."""
    with Ledger.open(ledger) as reader:
        entries = list(reader.entries())
    keys = {
        kind: {str(entry["key"]) for entry in entries if entry["kind"] == kind}
        for kind in ("charge", "start", "release")
    }
    return (keys["charge"] & keys["start"]) - keys["release"]


def watched(session, ledger):
    """Put a watcher in the place of the engine of a session."""
    watcher = Watcher(session._engine, ledger)
    session._engine = watcher
    pipeline = session._pipeline
    assert pipeline is not None
    session._pipeline = replace(pipeline, engine=watcher)
    return watcher


def test_data_is_read_after_the_charge_and_told_after_the_record(found, tmp_path):
    """Rows are read after the charge is durable, and answers told after they are recorded."""
    wrong = []
    ledger = tmp_path / "watched.ledger"
    with opened({"visits": visits()}, policy=POLICY, budget=_BUDGET, ledger=ledger) as session:
        watcher = watched(session, ledger)
        for way, ask in _ways(session, tmp_path):
            before = watcher.unpaid, watcher.runs
            ask()
            wrong += [f"{way}: read unpaid"] * (watcher.unpaid - before[0])
            wrong += [f"{way}: read nothing"] * (watcher.runs == before[1])
            wrong += [f"{way}: told unrecorded"] * bool(pending(ledger))
    found.attack(
        f"{watcher.runs} runs of the engine",
        wrong,
        not_covered="what a disk says is durable and is not (`./run chaos power`)",
    )


def _ways(session, folder):
    price = {"epsilon": "0.5"}
    groups = {**price, "delta": "1e-6"}
    return [
        ("a count", lambda: session.ask("SELECT COUNT(*) AS n FROM visits", **price)),
        ("public groups", lambda: session.ask(_BY_WARD, **price)),
        ("private groups", lambda: session.ask(_BY_CITY, **groups)),
        ("another draw", lambda: session.remeasure(_BY_WARD, **price)),
        ("bounds that are found", lambda: session.ask(_NOTES, bounds=estimate(epsilon=1), **price)),
    ]
