"""Plans of many aggregates, over tables and budgets of every kind.

``python -m benchmarks.rows.ask_plans`` measures these rows of ``benchmarks/ask.py`` alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from benchmarks.measure import Contender, Race, installed_environment, run_all, timed
from benchmarks.report import OURS, table
from discreet.session import Session

MANY_SUMS = 800
LINEAR = (100, 200, 400, MANY_SUMS, 2 * MANY_SUMS)
ROWS = 1000
GROUPS = 400
BUDGET = {"delta": "0.1"}
PRICES: Mapping[str, Mapping[str, str]] = {
    "epsilon": {"epsilon": "1"},
    "epsilon and delta": {"epsilon": "1", "delta": "1e-9"},
    "rho": {"rho": "1"},
}
VALUES = {
    "floats": "f",
    "whole numbers": "i",
    "floats or NULL": "nf",
    "whole numbers or NULL": "ni",
}
UNITS = {
    "by person, five rows": ("person", 5),
    "by person, one row": ("person", 1),
    "by row": ("row", 1),
}
OTHERS = {
    "800 means": ", ".join(f"AVG(f * {at + 1}) AS s{at}" for at in range(MANY_SUMS)),
    "800 counts": ", ".join(
        f"COUNT(*) FILTER (WHERE i < {at}) AS s{at}" for at in range(MANY_SUMS)
    ),
    "a list of 1,000 quantiles": "APPROX_QUANTILES(f, 1000) AS q",
    f"20 sums of {GROUPS} groups": ", ".join(f"SUM(f * {at + 1}) AS s{at}" for at in range(20)),
}
FIRST = """
import sys, time
from contextlib import ExitStack
from pathlib import Path
from benchmarks.rows.ask_plans import Plans
with ExitStack() as stack:
    plan = Plans(Path(sys.argv[1]), stack).planner("f", "person", 5, sys.argv[2])
    started = time.process_time()
    plan()
    print(time.process_time() - started)
"""


def policy(unit: str, rows: int, *, wide: bool) -> str:
    """Return the rules for the generated tables."""
    columns = [f"c{at}" for at in range(MANY_SUMS)] if wide else [*VALUES.values()]
    lines = "".join(
        f'{name} = {{ type = "{"integer" if name.endswith("i") else "float"}", low = 0, '
        f"high = 100, nullable = {str(name.startswith('n')).lower()} }}\n"
        for name in columns
    )
    listed = "" if wide else f'place = {{ type = "integer", categories = {[*range(GROUPS)]} }}\n'
    return f"""
format = 1
unit = "{unit}"
[limits]
max_groups = 10
max_rows = {rows}
[tables.visits.columns]
{lines}{listed}"""


@dataclass(slots=True)
class Plans:
    """Makes races of plans; closes what it opens."""

    folder: Path
    stack: ExitStack
    turns: Iterator[int] = field(default_factory=lambda: count(1))

    def races(self) -> Iterator[Race]:
        """Yield all races."""
        for price in PRICES:
            for who, (unit, rows) in UNITS.items():
                for values, column in VALUES.items():
                    name = f"{MANY_SUMS} sums of {values}, {who}, {price}"
                    yield _race("many sums", name, self.planner(column, unit, rows, price))
            wide = self.planner("wide", "person", 5, price)
            yield _race("many sums", f"{MANY_SUMS} columns, by person, {price}", wide)
            yield Race(
                kind="first many sums",
                name=f"{MANY_SUMS} sums of floats, the first plan of a process, {price}",
                unit="s",
                contenders={OURS: self._first(price)},
            )
        for sums in LINEAR:
            plan = self.planner("f", "person", 5, "epsilon", sums=sums)
            yield _race("linear", f"{sums} sums of floats, by person, epsilon", plan, size=sums)
        for name in OTHERS:
            yield _race("other plans", f"{name}, by person, epsilon", self._other(name))

    def planner(
        self, column: str, unit: str, rows: int, price: str, *, sums: int = MANY_SUMS
    ) -> Contender:
        """Return what plans sums that were not asked for, where something was paid before."""
        wide = column == "wide"
        session = self._session(unit, rows, price, wide=wide)

        def plan() -> object:
            turn = next(self.turns)
            first = 1 + sums * turn
            terms = [f"{column} * {first + at}" for at in range(sums)]
            where = ""
            if wide:
                terms, where = [f"c{at}" for at in range(sums)], f" WHERE c0 < {turn}"
            listed = ", ".join(f"SUM({term}) AS s{at}" for at, term in enumerate(terms))
            question = f"SELECT {listed} FROM visits{where}"  # noqa: S608 (numbers of ours)
            return session.plan(question, **PRICES[price])

        return timed(plan, units=1)

    def _other(self, name: str) -> Contender:
        session = self._session("person", 5, "epsilon", wide=False)
        group = " GROUP BY place" if "groups" in name else ""
        listed = f"place, {OTHERS[name]}" if group else OTHERS[name]

        def plan() -> object:
            where = f"WHERE nf < {next(self.turns)}"
            question = f"SELECT {listed} FROM visits {where}{group}"  # noqa: S608 (texts of ours)
            return session.plan(question, epsilon="1")

        return timed(plan, units=1)

    def _session(self, unit: str, rows: int, price: str, *, wide: bool) -> Session:
        ledger = Path(tempfile.mkdtemp(dir=self.folder)) / "ledger"
        limit = {"rho" if price == "rho" else "epsilon": 10**6}
        more = BUDGET if "delta" in price else {}
        found = dp.open(
            {"visits": str(self._table(wide=wide))},
            policy=policy(unit, rows, wide=wide),
            budget=dp.Budget(**limit, **more),
            ledger=ledger,
        )
        session = self.stack.enter_context(found)
        session.ask("SELECT COUNT(*) AS n FROM visits", **PRICES[price])
        return session

    def _table(self, *, wide: bool) -> Path:
        path = self.folder / f"plans-{'wide' if wide else 'narrow'}.parquet"
        if not path.exists():
            whole = [at % 100 for at in range(ROWS)]
            floats = [float(value) for value in whole]
            columns: dict[str, list[int] | list[float]] = {
                "person": [at // 4 for at in range(ROWS)]
            }
            if wide:
                columns |= {f"c{at}": floats for at in range(MANY_SUMS)}
            else:
                columns |= {"place": [at % GROUPS for at in range(ROWS)]}
                columns |= {"f": floats, "i": whole, "nf": floats, "ni": whole}
            pq.write_table(pa.table(columns), path)
        return path

    def _first(self, price: str) -> Contender:
        def contender() -> float:
            command = [sys.executable, "-c", FIRST, str(self.folder), price]
            environment = installed_environment()
            done = subprocess.run(
                command, capture_output=True, check=True, text=True, env=environment
            )
            return float(done.stdout)

        return contender


def _race(kind: str, name: str, plan: Contender, *, size: int = 0) -> Race:
    return Race(kind=kind, name=name, unit="s", size=size, contenders={OURS: plan})


def main() -> None:
    """Measure these rows alone, and print them."""
    started = time.perf_counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-plans-")))
        results = run_all(Plans(folder, stack).races(), rounds=3)
    print(table(results, {}))
    print(f"in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
