"""Private classifiers beside those of diffprivlib and DP-EBM: ``./run bench learning_models``.

docs/benchmarks/learning.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from statistics import mean

from benchmarks.bars.learning_models import bars
from benchmarks.measure import machine, read_options, run_all
from benchmarks.peers.environment import Peers, PeersUnavailable
from benchmarks.report import NOTHING, aligned, bar_list, table
from benchmarks.rows.learning_digits import EPSILONS, Reading, readings
from benchmarks.rows.learning_fits import THEIR_TABLE, THEIRS, races, waits
from benchmarks.rows.learning_tables import Fit, adults, best, fits, made_up

OTHERS = {"diffprivlib": "learning_diffprivlib", "DP-EBM": "learning_ebm"}
CONTENDERS = {name: name for name in ("in memory", "session", THEIRS, THEIR_TABLE)}
ADULT = "a folder with adult.data and adult.test of the UCI Adult table, which is not part of this"


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("learning_models", __doc__, rounds=3, quick=1, paths={"folder": ADULT})
    described = machine()
    others = _others() if options.peers else {}
    found: list[Fit] = []
    for people in [made_up(), *([adults(options.folder)] if options.folder else [])]:
        print(f"{people.name} ...", file=sys.stderr)
        found += fits(people, others, options.rounds)
    print("times of fits ...", file=sys.stderr)
    times = run_all(races(others.get("diffprivlib")), 3 * options.rounds)
    for peers in others.values():
        described["versions"] |= peers.versions
        peers.__exit__(None, None, None)
    print("digits ...", file=sys.stderr)
    read = list(readings(options.rounds))
    verdict = bars(found, read, times)
    print(f"{described['cpu']}, one thread, {described['date'][:10]}, {described['versions']}\n")
    print(_table(found))
    print(f"\n{table(times, CONTENDERS)}")
    print(f"a fit waits {1e3 * waits():.1f} ms for the disk of its ledger")
    print(f"\n{_digits(read)}\n\nBars\n{bar_list(verdict)}")
    if options.json:
        written = {
            "machine": described,
            "fits": [asdict(fit) for fit in found],
            "times": [asdict(result) for result in times],
            "digits": [asdict(reading) for reading in read],
            "bars": [asdict(bar) for bar in verdict],
        }
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return int(any(bar.passed is False and bar.binding for bar in verdict))


def _others() -> dict[str, Peers]:
    """Start each library in its own environment, or say why not."""
    found = {}
    for library, name in OTHERS.items():
        try:
            found[library] = Peers(name)
        except PeersUnavailable as problem:
            print(f"without {library}: {problem}", file=sys.stderr)
    return found


def _table(found: list[Fit]) -> str:
    keys = list(dict.fromkeys((fit.table, fit.epsilon, fit.library) for fit in found))
    rows = []
    for key in keys:
        here = [fit for fit in found if (fit.table, fit.epsilon, fit.library) == key]
        figures = [mean(getattr(fit, what) for fit in here) for what in ("accuracy", "area")]
        times = [best(here, what) for what in ("from_table", "from_arrays", "opening")]
        shown = [NOTHING if seconds is None else f"{seconds:.3f}" for seconds in times]
        rows.append([*key, *[f"{figure:.4f}" for figure in figures], *shown])
    head = ["", "epsilon", "library", "accuracy", "area", "CPU s, table", "arrays", "opening"]
    return aligned(head, rows)


def _digits(read: list[Reading]) -> str:
    rows = []
    for epsilon in EPSILONS:
        here = [each.accuracy for each in read if each.epsilon == epsilon]
        runs = ", ".join(f"{accuracy:.3f}" for accuracy in here)
        rows.append([epsilon, f"{mean(here):.3f}", runs])
    return aligned(["digits, epsilon", "mean", "runs"], rows)


if __name__ == "__main__":
    sys.exit(main())
