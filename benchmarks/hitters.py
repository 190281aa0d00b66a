"""Find frequent words of a million people from their reports: ``./run bench hitters``.

docs/benchmarks/hitters.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.bars.hitters import PEOPLE, bars, notes
from benchmarks.measure import machine, read_options
from benchmarks.report import aligned, bar_list
from benchmarks.rows.hitters import Found, run, searches


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("hitters", __doc__, rounds=5, quick=1)
    described = machine()
    people = PEOPLE // 10 if options.quick else PEOPLE
    results = [run(search, options.rounds) for search in searches(people)]
    verdict, targets = bars(results), notes(results)
    print_report(described, results, people, options.rounds)
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        written = {"machine": described, "results": [asdict(found) for found in results]}
        written["bars"] = [asdict(bar) for bar in [*verdict, *targets]]
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return int(any(bar.passed is False for bar in verdict))


def print_report(described: dict[str, Any], results: list[Found], people: int, runs: int) -> None:
    """Print what was found, at what cost."""
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(f"{people:,} people, words of 48 bits, Zipf 1.1 over 200,000 of them; mean of {runs}.\n")
    head = ["", "", "precision", "recall", "certain", "µs/report", "bytes", "search s"]
    rows = [
        [
            found.search.name,
            "",
            f"{found.precision:.2f}",
            f"{found.recall:.2f}",
            f"{found.certain:.1f}",
            f"{1e6 * found.device_seconds:.2f}",
            f"{found.bytes_each:.2f}",
            f"{found.analyst_seconds:.1f}",
        ]
        for found in results
    ]
    print(aligned(head, rows))


if __name__ == "__main__":
    sys.exit(main())
