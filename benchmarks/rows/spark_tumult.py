"""Tumult Analytics on Spark, on as many rows as it gets through in a while."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.measure import Contender
from benchmarks.peers.environment import PeersUnavailable
from benchmarks.rows.ask_tables import Tables
from benchmarks.rows.spark_session import Watched

PRACTICE, TURNS = 10, 2
"""The part of the people that practice is about, and how often."""


@dataclass(slots=True)
class Tumult:
    """The library, and what is known of it."""

    peers: Watched
    tables: Tables
    limit: float
    """CPU seconds that one answer may take."""
    notes: list[str] = field(default_factory=list)
    known: dict[int, float] = field(default_factory=dict)
    """CPU seconds by the number of rows."""
    shown: int = 0
    """The places of the last answer."""

    def contender(self, rows: int, people: int) -> dict[str, Contender]:
        """Measure once, and return a contender that tells; nothing where it fails or takes long."""
        name = f"Tumult, {rows:,} rows"
        try:
            if not self.known:
                for _ in range(TURNS):
                    self._seconds(rows // PRACTICE, people // PRACTICE)
            elif (expected := self._expected(rows)) > self.limit:
                self.notes.append(f"{name}: left out, for it would take about {expected:.0f} s")
                return {}
            self.known[rows] = found = self._seconds(rows, people)
        except (PeersUnavailable, RuntimeError) as failure:
            self.notes.append(f"{name}: {failure}")
            return {}
        self.notes.append(f"{name}: {self.shown:,} places are shown")
        return {"spark_tumult": lambda: found}

    def _expected(self, rows: int) -> float:
        """Return the time of the largest table so far, in proportion."""
        most = max(self.known)
        return self.known[most] * rows / most

    def _seconds(self, rows: int, people: int) -> float:
        answer = self.peers.ask(work="person", path=str(self.tables.visits(rows, people)))
        if "why" in answer:
            raise RuntimeError(answer["why"])
        self.shown = int(answer["value"])
        return float(answer["seconds"])
