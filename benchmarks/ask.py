"""Race private answers against SQL without noise and other libraries: ``./run bench ask``.

docs/benchmarks/ask.md says what is measured and how to read it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.bars.ask import NAMES, bars, notes
from benchmarks.measure import Result, machine, read_options, run_all
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import NOTHING, aligned, bar_list, figures, table, write_json
from benchmarks.rows.ask import BOUNDED, OPENDP, PEERS, PLAIN, ROW_COUNTS, Field
from benchmarks.rows.ask_errors import OTHERS, Errors, Row
from benchmarks.rows.ask_paced import Paced
from benchmarks.rows.ask_quantiles import ListRow, QuantileRow, list_rows, quantile_rows
from benchmarks.rows.ask_tables import Tables

COLUMNS = {BOUNDED: "bounded SQL", PLAIN: "plain SQL", **NAMES}
LIMIT, QUICK_LIMIT = 90.0, 30.0
"""CPU seconds that one answer of another library may take."""
DIFFPRIVLIB = "noise"
"""The environment that holds diffprivlib."""
DRAWS, QUICK_DRAWS = 400, 100
"""Tables of which quantiles are chosen, a thousand rows each."""
LIST_SHARE = 10
"""Lists of nineteen are taken of a tenth as many tables, of two thousand rows."""
REPEATS, QUICK_REPEATS = 20, 5
"""Answers of a hundred groups each, from which errors are measured."""


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("ask", __doc__, rounds=3, quick=2)
    described = machine()
    described["versions"] |= {name: version(name) for name in ("duckdb", "pyarrow")}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-ask-")))
        tables = Tables(folder)
        peers, missing = start(stack) if options.peers else ({}, {})
        described["peers"] = {k: v for peer in peers.values() for k, v in peer.versions.items()}
        limit = QUICK_LIMIT if options.quick else LIMIT
        paced = [Paced(who, found, tables, limit) for who, found in peers.items()]
        sizes = ROW_COUNTS[:1] if options.quick else ROW_COUNTS
        results = run_all(Field(tables, sizes, paced, stack).races(), options.rounds)
        judged = Errors(peers.get(OPENDP), QUICK_REPEATS if options.quick else REPEATS)
        errors = list(judged.rows())
        draws = QUICK_DRAWS if options.quick else DRAWS
        quantiles = list(quantile_rows(peers.get(OPENDP), draws))
        ibm = start_diffprivlib(stack, missing) if options.peers else None
        lists = list(list_rows(peers.get(OPENDP), ibm, draws // LIST_SHARE))
    said = [note for peer in paced for note in peer.notes] + judged.notes
    verdict, targets = bars(results, errors, quantiles, lists), notes(results)
    print_report(described, results, missing, said)
    print(f"\n{error_table(errors)}")
    print(f"\n{quantile_table(quantiles)}")
    print(f"\n{list_table(lists)}")
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        write_json(
            options.json,
            machine=described,
            results=results,
            bars=[*verdict, *targets],
            errors=[{**asdict(row), "case": row.case.name} for row in errors],
            quantiles=[asdict(row) for row in quantiles],
            quantile_lists=[asdict(row) for row in lists],
            notes=said,
        )
    return int(bool(missing) or any(bar.passed is False for bar in verdict))


def start(stack: ExitStack) -> tuple[dict[str, Peers], dict[str, str]]:
    """Start the other libraries, and say why some do not."""
    found, missing = {}, {}
    for who in PEERS:
        try:
            found[who] = stack.enter_context(Peers(who))
        except PeersUnavailable as failure:
            missing[who] = str(failure)
    return found, missing


def start_diffprivlib(stack: ExitStack, missing: dict[str, str]) -> Peers | None:
    """Start diffprivlib, which lives in the environment of the noise benchmark."""
    try:
        return stack.enter_context(Peers(DIFFPRIVLIB))
    except PeersUnavailable as failure:
        missing[DIFFPRIVLIB] = str(failure)
        return None


def print_report(
    described: dict[str, Any], results: list[Result], missing: dict[str, str], said: Sequence[str]
) -> None:
    """Print how long everything took, on what."""
    installed = {"python": described["python"], **described["versions"], **described["peers"]}
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(", ".join(f"{name} {number}" for name, number in installed.items()))
    print("CPU time for one answer, all threads; best of all rounds, and one round of others.\n")
    print(table(results, COLUMNS))
    for note in said:
        who, _, rest = note.partition(",")
        print(f"{NAMES.get(who, who)},{rest}" if rest else note)
    for who, why in missing.items():
        print(f"\nNO FIGURES FOR {NAMES.get(who, 'diffprivlib')}: {why}")
    if missing:
        print("Give --no-peers to leave them out on purpose.")


def error_table(errors: Sequence[Row]) -> str:
    """Lay out errors at the same price; a mark says where somebody errs less."""
    head = ["epsilon 1", "error of", "promised", "measured", *OTHERS]
    rows = []
    for row in errors:
        others = [row.others.get(who) for who in OTHERS]
        cells = [
            row.case.name,
            row.judged,
            figures(row.predicted),
            NOTHING if row.measured is None else figures(row.measured),
        ]
        for who, error in zip(OTHERS, others, strict=True):
            mark = " <" if who in row.worse_than else ""
            cells.append(NOTHING if error is None else figures(error) + mark)
        rows.append(cells)
    return aligned(head, rows)


def quantile_table(quantiles: Sequence[QuantileRow]) -> str:
    """Lay out rank errors at the same price; a mark says where OpenDP errs less."""
    head = ["epsilon 1, 1,000 rows", "quantile", "ranks missed", "OpenDP"]
    rows = []
    for row in quantiles:
        other = NOTHING if row.opendp is None else figures(row.opendp)
        rows.append(
            [row.values, row.level, figures(row.ours), other + (" <" if row.behind else "")]
        )
    return aligned(head, rows)


def list_table(lists: Sequence[ListRow]) -> str:
    """Lay out rank errors of lists; a mark says where somebody errs less."""
    head = ["nineteen quantiles, 2,000 rows", "ranks missed", "one by one", "OpenDP", "diffprivlib"]
    rows = []
    for row in lists:
        others = [NOTHING if e is None else figures(e) for e in (row.opendp, row.diffprivlib)]
        mark = " <" if row.behind else ""
        rows.append([row.values, figures(row.ours) + mark, figures(row.single), *others])
    return aligned(head, rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PeersUnavailable as failure:  # in the middle of the errors
        sys.exit(f"bench ask: {failure}")
