"""What ``benchmarks/ask.py`` races: whole answers against SQL without noise and other libraries."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import duckdb

import discreet as dp
from benchmarks.measure import Contender, Race, installed_environment, timed
from benchmarks.report import OURS
from benchmarks.rows.ask_paced import Paced
from benchmarks.rows.ask_plans import Plans
from benchmarks.rows.ask_tables import (
    EPSILON,
    PERSON,
    QUESTION,
    ROW,
    SMALL_POLICY,
    SMALL_QUESTION,
    Tables,
    bounded,
    plain,
    policy,
)
from discreet.session import Session

BOUNDED, PLAIN = "bounded", "plain"
OPENDP, PIPELINEDP, SMARTNOISE = "ask_opendp", "ask_pipelinedp", "ask_smartnoise"
PEERS = (OPENDP, PIPELINEDP, SMARTNOISE)

ROW_COUNTS = (10**6, 10**7)
PEOPLE = 10**5
PRICES = 5
"""Answers in a turn on the smaller table, each at a price of its own."""

FIRST_ANSWER = """
import sys, time
import discreet as dp
with dp.open(sys.argv[1], policy=sys.argv[2], ledger=sys.argv[3]) as clinic:
    print(clinic.ask(sys.argv[4], epsilon="0.5"), file=sys.stderr)
print(time.process_time())
"""
FIRST_PLAIN = """
import sys, time
import duckdb
question = sys.argv[4].replace("visits GROUP", f"'{sys.argv[1]}' GROUP")
print(duckdb.sql(question).fetchall(), file=sys.stderr)
print(time.process_time())
"""


@dataclass(slots=True)
class Field:
    """Makes races on tables of some sizes, with or without peers; closes what it opens."""

    tables: Tables
    sizes: Sequence[int]
    paced: Sequence[Paced]
    stack: ExitStack
    turns: Iterator[int] = field(default_factory=count)

    def races(self) -> Iterator[Race]:
        """Yield all races."""
        for unit in (PERSON, ROW):
            for rows in self.sizes:
                yield self.answers(unit, rows)
        yield from self.plans()
        yield from self.first()

    def answers(self, unit: str, rows: int) -> Race:
        """Answer the question, from a file to a table with noise that is on record."""
        path = self.tables.visits(rows, PEOPLE)
        session, connection = self.session(path, unit), duckdb.connect()
        calls = PRICES if rows == ROW_COUNTS[0] else 1

        def ask() -> None:
            if session.ask(QUESTION, epsilon=self.new_price()).replayed:
                message = "an answer came from the ledger, and was not computed"
                raise RuntimeError(message)

        def run(sql: str) -> Contender:
            return timed(lambda: connection.sql(sql).to_arrow_table(), units=1, calls=calls)

        contenders = {OURS: timed(ask, units=1, calls=calls), PLAIN: run(plain(path))}
        if unit == PERSON:
            contenders[BOUNDED] = run(bounded(path))
        for peer in self.paced:
            contenders |= peer.contender(unit, rows, PEOPLE)
        name = f"by {unit}, 1e{len(str(rows)) - 1} rows"
        return Race(kind=unit, name=name, unit="s", size=rows, contenders=contenders)

    def new_price(self) -> str:
        """Return an epsilon that nobody asked for yet: close ones may lead to the same noise."""
        return f"{EPSILON}.{next(self.turns):03}"

    def session(self, path: Path, unit: str) -> Session:
        """Open a table with a ledger of its own, and more budget than can be spent."""
        ledger = Path(tempfile.mkdtemp(dir=self.tables.folder)) / "ledger"
        found = dp.open(
            {"visits": str(path)},
            policy=policy(unit),
            budget=dp.Budget(epsilon=10**6, delta="0.1"),
            ledger=ledger,
        )
        return self.stack.enter_context(found)

    def plans(self) -> Iterator[Race]:
        """Plan the question, at a price that was asked before and at a new one."""
        session = self.session(self.tables.visits(10**4, 10**3), PERSON)

        def again() -> object:
            return session.plan(QUESTION, epsilon=EPSILON)

        def anew() -> object:
            return session.plan(QUESTION, epsilon=self.new_price())

        for name, work in {"asked before": again, "at a new price": anew}.items():
            contenders = {OURS: timed(work, units=1, calls=PRICES)}
            yield Race(kind="plan", name=f"plan {name}", unit="ms", contenders=contenders)
        yield from Plans(self.tables.folder, self.stack).races()

    def first(self) -> Iterator[Race]:
        """Start Python, open a small CSV file, and ask; DuckDB alone in the column of plain SQL."""
        for kind, clock in (("first", "CPU time"), ("first by the wall", "time on the wall")):
            contenders = {
                OURS: self._started(FIRST_ANSWER, wall="wall" in kind),
                PLAIN: self._started(FIRST_PLAIN, wall="wall" in kind),
            }
            name = f"first answer of a new process, {clock}"
            yield Race(kind=kind, name=name, unit="s", contenders=contenders)

    def _started(self, program: str, *, wall: bool) -> Contender:
        path = self.tables.small()

        def contender() -> float:
            with tempfile.TemporaryDirectory(dir=self.tables.folder) as folder:
                arguments = [str(path), SMALL_POLICY, str(Path(folder) / "ledger"), SMALL_QUESTION]
                command = [sys.executable, "-c", program, *arguments]
                begun = time.perf_counter()
                done = subprocess.run(
                    command,
                    capture_output=True,
                    check=True,
                    text=True,
                    env=installed_environment(),
                )
                return time.perf_counter() - begun if wall else float(done.stdout)

        return contender
