"""Synthetic tables against other libraries, by error, time and memory: ``./run bench synthetic``.

docs/benchmarks/synthetic.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.bars.synthetic import bars
from benchmarks.measure import machine, read_options
from benchmarks.report import NOTHING, aligned, bar_list, figures
from benchmarks.rows.synthetic import Made, others, run, works
from benchmarks.rows.synthetic_large import LARGE, Large, measured
from benchmarks.rows.synthetic_learning import Learned, learned
from benchmarks.rows.synthetic_tables import latent


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("synthetic", __doc__, rounds=3, quick=1)
    described = machine()
    twin = latent()
    made = []
    for work in works(quick=options.quick):
        _say(work.kind)
        made.append(run(twin, work, options.rounds))
    if options.peers:
        _say("other libraries")
        made += others(twin, limit=120 if options.quick else 600)
    large = {}
    for name in () if options.quick else LARGE:
        _say(name)
        large[name] = measured(name)
    _say("models that learn")
    taught = learned(peers=options.peers, runs=options.rounds)
    verdict = bars(made, large)
    print_report(described, made, large, taught)
    print(f"\nBars\n{bar_list(verdict)}")
    if options.json:
        written = {
            "machine": described,
            "results": [asdict(each) for each in made],
            "large": {name: asdict(each) for name, each in large.items()},
            "learned": [asdict(each) for each in taught],
            "bars": [asdict(bar) for bar in verdict],
        }
        options.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return int(any(bar.passed is False and bar.binding for bar in verdict))


def print_report(
    described: dict[str, Any],
    made: Sequence[Made],
    large: dict[str, Large],
    taught: Sequence[Learned],
) -> None:
    """Print all tables."""
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print("The twin: 21,574 people, 16 bits, all 560 three-way marginals; epsilon 1, delta 1e-9.\n")
    head = ["", "", "model TV", "worst", "rows TV", "plan s", "fit s", "rows s"]
    rows = [
        [
            each.kind,
            each.contender,
            _number(None if each.model is None else each.model.mean),
            _number(None if each.model is None else each.model.worst),
            _number(None if each.rows is None else each.rows.mean),
            NOTHING if each.plan_seconds is None else figures(each.plan_seconds),
            NOTHING if each.seconds is None else figures(each.seconds),
            NOTHING if each.rows_seconds is None else figures(each.rows_seconds),
        ]
        for each in made
    ]
    print(aligned(head, rows))
    for each in made:
        if each.why:
            print(f"  {each.contender}, {each.kind}: {each.why}")
    if large:
        print()
        tall = [
            [name, "", _number(each.error), figures(each.seconds), figures(each.peak / 2**20)]
            for name, each in large.items()
        ]
        print(aligned(["", "", "max error", "CPU s", "MiB"], tall))
    print("\nA classifier, tested on real people it has not seen (area under the curve)\n")
    lines = [
        [each.table, each.trained_on, f"{each.area:.3f}", f"{each.accuracy:.3f}"] for each in taught
    ]
    print(aligned(["table", "trained on", "area", "accuracy"], lines))


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"


def _say(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
