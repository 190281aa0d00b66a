"""Other libraries on as many rows as they get through in a while.

A library that would take too long on a table gets a part of it: all rows of a part of the people.
Its time on the whole table then follows from what two parts took, as if time grew along a straight
line.  No time is ever taken that is longer than the larger part in proportion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.measure import Contender
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.rows.ask_tables import Tables

PARTS = (1, 10)
SMALL, LEAST = 100, 1000
"""The parts that the pace is taken from: a hundredth, and a thousandth."""


@dataclass(slots=True)
class Paced:
    """One library, and what is known of it."""

    name: str
    peers: Peers
    tables: Tables
    limit: float
    """CPU seconds that one answer may take."""
    notes: list[str] = field(default_factory=list)
    gone: bool = False

    def contender(self, work: str, rows: int, people: int) -> dict[str, Contender]:
        """Measure once, and return a contender that tells; nothing where the library fails."""
        if self.gone:
            return {}
        try:
            found = self._whole(work, rows, people)
        except PeersUnavailable as failure:
            self.gone = True
            self.notes.append(f"{self.name}, by {work}, {rows:,} rows: {failure}")
            return {}
        except RuntimeError as failure:
            self.notes.append(f"{self.name}, by {work}, {rows:,} rows: {failure}")
            return {}
        return {self.name: lambda: found}

    def _whole(self, work: str, rows: int, people: int) -> float:
        """Return CPU seconds for the whole table."""

        def seconds(part: int) -> float:
            path = self.tables.visits(rows // part, max(1, people // part))
            answer = self.peers.ask(work=work, path=str(path))
            if "why" in answer:
                raise RuntimeError(answer["why"])
            return float(answer["seconds"])

        seconds(LEAST)  # practice
        fixed, small = seconds(LEAST), seconds(SMALL)
        pace = max(0.0, small - fixed) * SMALL
        part = next((p for p in PARTS if fixed + pace / p <= self.limit), PARTS[-1])
        spent = seconds(part)
        if part == 1:
            return spent
        grows = max(0.0, spent - small) / (1 / part - 1 / SMALL)
        whole = min(spent + grows * (1 - 1 / part), spent * part)
        self.notes.append(
            f"{self.name}, by {work}, {rows:,} rows: {whole:.0f} s follow from {spent:.1f} s for "
            f"{rows // part:,} rows and {small:.1f} s for {rows // SMALL:,}"
        )
        return whole
