"""Explain one answer and a ledger of ten thousand entries: ``./run bench explain``.

docs/benchmarks/explain.md says what is measured and how to read it.
"""

from __future__ import annotations

import sys
import time

from benchmarks.bars.explain import bars, notes
from benchmarks.measure import machine, read_options, run_all
from benchmarks.report import bar_list, table, write_json
from benchmarks.rows.explain import ENTRIES, READING, filled, races
from discreet.explain import explain


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("explain", __doc__, rounds=5, quick=2)
    described = machine()
    with filled(ENTRIES // 10 if options.quick else ENTRIES) as ledger:
        start = time.process_time()
        explain(ledger, audience="auditor")
        first = time.process_time() - start
        results = run_all(races(ledger, options.rounds), options.rounds)
        entries = ledger.receipt.seq
    verdict, targets = bars(results), notes(results)
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(f"CPU time, best of {options.rounds} rounds; the ledger has {entries:,} entries.\n")
    print(table(results, {READING: "reading all entries"}))
    print(f"the ledger, the first time: {first:.2f} s")
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets in absolute time, which depend on the machine\n{bar_list(targets)}")
    if options.json:
        write_json(options.json, machine=described, results=results, bars=[*verdict, *targets])
    return int(any(bar.passed is False for bar in verdict))


if __name__ == "__main__":
    sys.exit(main())
