"""How exact answers are beside those of other libraries, at the same privacy.

    ./run bench accuracy [--quick] [--no-peers] [--rounds DRAWS] [--json FILE]

Each module ``benchmarks/rows/accuracy_*.py`` with a function ``rows`` adds rows to one table: our
error, that of the best of the others, their ratio, how many printed intervals hold, and how wide
they are.  What others draw is drawn; where their noise follows from what they say that they add, it
is computed, and marked *law*.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import machine, read_options
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import aligned, figures
from benchmarks.rows.accuracy_tables import AccuracyRow, Bench

_LEAST = 0.9
"""Intervals of 95 % hold less often than that in 200 draws once in five hundred times."""


def main() -> int:
    """Measure all rows, print them, and return 1 if an interval holds too rarely."""
    options = read_options("accuracy", __doc__, rounds=200, quick=40)
    with ExitStack() as opened:
        bench = Bench(draws=options.rounds)
        if options.peers:
            try:
                bench.opendp = opened.enter_context(Peers("ask_opendp"))
            except PeersUnavailable as missing:
                bench.notes.append(f"OpenDP was not measured: {missing}")
        found = list(_rows(bench))
    print(table(found))
    print("\n".join(bench.notes))
    if options.json:
        content = {"machine": machine(), "draws": options.rounds, "rows": list(map(asdict, found))}
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    missed = [row for row in found if row.covered is not None and row.covered < _LEAST]
    for row in missed:
        print(f"MISSED  {row.question} at {row.epsilon}: intervals hold {row.covered:.0%}")
    return 1 if missed else 0


def _rows(bench: Bench) -> Iterator[AccuracyRow]:
    folder = Path(__file__).parent / "rows"
    for path in sorted(folder.glob("accuracy_*.py")):
        module = importlib.import_module(f"benchmarks.rows.{path.stem}")
        for row in module.rows(bench) if hasattr(module, "rows") else ():
            print(_line(row), file=sys.stderr, flush=True)
            yield row


def _line(row: AccuracyRow) -> str:
    return "  ".join(_cells(row))


def table(rows: list[AccuracyRow]) -> str:
    """Write the rows as a table."""
    head = ["question", "epsilon", "discreet", "other", "who", "ratio", "held", "x too wide"]
    return aligned(head, [_cells(row) for row in rows])


def _cells(row: AccuracyRow) -> list[str]:
    return [
        row.question,
        row.epsilon,
        figures(row.ours),
        "-" if row.other is None else figures(row.other),
        f"{row.who}{' (law)' if row.law else ''}",
        "-" if row.ratio is None else f"{row.ratio:.2f}",
        "-" if row.covered is None else f"{100 * row.covered:.1f} %",
        "-" if row.wide is None else f"{row.wide:.1f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
