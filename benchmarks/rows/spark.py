"""What ``benchmarks/spark.py`` races: whole answers on Spark against SQL on the same session."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import discreet as dp
from benchmarks.measure import Contender, Race
from benchmarks.process_tree import spent_in_tree
from benchmarks.report import OURS
from benchmarks.rows.ask_tables import EPSILON, PERSON, QUESTION, ROW, Tables, policy
from benchmarks.rows.spark_tables import (
    CODES_POLICY,
    CODES_QUESTION,
    Codes,
    bounded,
    bounded_codes,
    plain,
)
from benchmarks.rows.spark_tumult import Tumult
from discreet.session import Session

BOUNDED, PLAIN, TUMULT = "bounded", "plain", "spark_tumult"
WRITTEN = "written"

PEOPLE = 10**5
ROW_COUNTS = (10**6, 3 * 10**6, 10**7)
CODES_ROWS, CODES_COUNTS = 2 * 10**7, (10**5, 10**6, 10**7)
QUICK_ROWS, QUICK_COUNTS = 10**6, (10**5,)
WARM_UP = 5
"""Turns before the first race: Java compiles what is used often."""
FEW = 1
"""Rounds of races that take long, after one for practice."""


@dataclass(slots=True, kw_only=True)
class Field:
    """Makes races on tables of some sizes, with or without others; closes what it opens."""

    spark: Any
    tables: Tables
    sizes: Sequence[int]
    codes: tuple[int, Sequence[int]]
    """The rows of the tables of codes, and how many codes there are in each."""
    tumult: Tumult | None
    stack: ExitStack
    turns: Iterator[int] = field(default_factory=count)

    def races(self) -> Iterator[Race]:
        """Yield all races, after some turns on the smallest table."""
        first = self.answers(PERSON, self.sizes[0])
        for _ in range(WARM_UP):
            for who in (OURS, BOUNDED, PLAIN):
                first.contenders[who]()
        yield first
        for rows in self.sizes[1:]:
            yield self.answers(PERSON, rows)
        for rows in self.sizes:
            yield self.answers(ROW, rows)
        for codes in self.codes[1]:
            yield self.written(self.codes[0], codes)

    def answers(self, unit: str, rows: int) -> Race:
        """Answer the question, from a file to a table with noise that is on record."""
        path = self.tables.visits(rows, PEOPLE)
        session = self.session({"visits": path}, policy(unit))
        view = self.view(path)

        def ask() -> None:
            if session.ask(QUESTION, epsilon=self.new_price()).replayed:
                message = "an answer came from the ledger, and was not computed"
                raise RuntimeError(message)

        contenders = {OURS: self.spent(ask), PLAIN: self.collected(plain(view))}
        if unit == PERSON:
            contenders[BOUNDED] = self.collected(bounded(view))
            if self.tumult is not None:
                contenders |= self.tumult.contender(rows, PEOPLE)
        return Race(
            kind=unit,
            name=f"by {unit}, {written(rows)} rows",
            unit="s",
            size=rows,
            contenders=contenders,
        )

    def written(self, rows: int, codes: int) -> Race:
        """Answer for many groups, which are private."""
        path = Codes(self.tables.folder).table(rows, codes)
        session = self.session({"codes": path}, CODES_POLICY)
        view = self.view(path)

        def ours() -> None:
            session.ask(CODES_QUESTION, epsilon=self.new_price())

        return Race(
            kind=WRITTEN,
            name=f"{written(codes)} groups, {written(rows)} rows",
            unit="s",
            size=codes,
            contenders={OURS: self.spent(ours), BOUNDED: self.collected(bounded_codes(view))},
            rounds=FEW,
        )

    def collected(self, sql: str) -> Contender:
        """Make a contender of a statement whose result comes to the driver."""
        return self.spent(lambda: self.spark.sql(sql).toArrow())

    def spent(self, work: Callable[[], object]) -> Contender:
        """Make a contender of some work of this process and its Spark."""
        others = () if self.tumult is None else (self.tumult.peers.process,)
        return lambda: spent_in_tree(work, without=others)

    def view(self, path: Path) -> str:
        """Give a file a name in SQL."""
        name = f"view_{next(self.turns)}"
        self.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        return name

    def session(self, files: dict[str, Path], rules: str) -> Session:
        """Open tables with a ledger of their own, and more budget than can be spent."""
        found = dp.open(
            {name: self.spark.read.parquet(str(path)) for name, path in files.items()},
            policy=rules,
            budget=dp.Budget(epsilon=10**6, delta="0.1"),
            ledger=self.new_place(),
        )
        return self.stack.enter_context(found)

    def new_place(self) -> Path:
        """Return a path at which there is nothing yet."""
        return Path(tempfile.mkdtemp(dir=self.tables.folder)) / "new"

    def new_price(self) -> str:
        """Return an epsilon that nobody asked for yet: close ones may lead to the same noise."""
        return f"{EPSILON}.{next(self.turns):03}"


def written(number: int) -> str:
    """Write a round number by its power of ten.

    >>> written(10**6), written(3 * 10**7)
    ('1e6', '3e7')
    """
    text = str(number)
    return f"{text[0]}e{len(text) - 1}"
