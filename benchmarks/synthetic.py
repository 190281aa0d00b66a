"""Synthetic tables against other libraries, by error, time and memory: ``./run bench synthetic``.

docs/benchmarks/synthetic.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.bars.synthetic import bars
from benchmarks.measure import machine, read_options
from benchmarks.report import NOTHING, Bar, aligned, bar_list, figures
from benchmarks.rows.public_tables import nltcs
from benchmarks.rows.synthetic import LIMIT, Made, others, run, survey_works, works
from benchmarks.rows.synthetic_large import LARGE, Large, measured
from benchmarks.rows.synthetic_learning import Learned, learned
from benchmarks.rows.synthetic_tables import latent

NLTCS = "a folder with nltcs.train.data, nltcs.valid.data and nltcs.test.data"


@dataclass(slots=True)
class Results:
    """All rows so far; each is shown and written as soon as it is measured."""

    machine: dict[str, Any]
    path: Path | None
    made: list[Made] = field(default_factory=list)
    large: dict[str, Large] = field(default_factory=dict)
    learned: list[Learned] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    def keep(self, row: Made | Large | Learned | list[Bar], name: str = "") -> None:
        """Add a row, or the bars at the end."""
        if isinstance(row, Made):
            self.made.append(row)
        elif isinstance(row, Large):
            self.large[name] = row
        elif isinstance(row, Learned):
            self.learned.append(row)
        else:
            self.bars = row
        if not isinstance(row, list):
            print(f"  {name} {_said(row)}".rstrip(), file=sys.stderr, flush=True)
        if self.path is not None:
            self.path.write_text(json.dumps(asdict(self), indent=1, default=str) + "\n", "utf-8")


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("synthetic", __doc__, rounds=3, quick=1, paths={"nltcs": NLTCS})
    results = Results(machine(), options.json)
    survey = nltcs(options.nltcs) if options.nltcs else None
    twin = latent()
    for work in works(quick=options.quick):
        results.keep(run(twin, work, options.rounds))
    for work in survey_works() if survey else ():
        results.keep(run(survey, work, options.rounds))
    for made in others(twin, limit=LIMIT // 3 if options.quick else LIMIT) if options.peers else ():
        results.keep(made)
    for name in _large(quick=options.quick, peers=options.peers):
        results.keep(measured(name), name)
    for taught in learned(peers=options.peers, runs=1):
        results.keep(taught)
    results.keep(bars(results.made, results.large))
    print_report(results)
    print(f"\nBars\n{bar_list(results.bars)}")
    return int(any(bar.passed is False and bar.binding for bar in results.bars))


def _large(*, quick: bool, peers: bool) -> Iterator[str]:
    """Yield what takes much memory; Adult comes from a package, as other libraries do."""
    for name in () if quick else LARGE:
        if peers or not name.startswith("adult"):
            yield name


def print_report(results: Results) -> None:
    """Print all tables."""
    described = results.machine
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    versions = dict(described["versions"])
    for each in results.made:
        versions |= each.versions
    print(", ".join(f"{name} {number}" for name, number in sorted(versions.items())))
    print("The twin: 21,574 people, 16 bits, all 560 three-way marginals; epsilon 1, delta 1e-9.\n")
    head = ["", "", "model TV", "worst", "rows TV", "plan s", "fit s", "rows s"]
    print(aligned(head, [_cells(each) for each in results.made]))
    _reasons(f"{each.contender}, {each.kind}: {each.why}" for each in results.made if each.why)
    if results.large:
        print()
        tall = [
            [
                name,
                "",
                _number(each.error),
                _figures(each.seconds),
                _figures(None if each.peak is None else each.peak / 2**20),
            ]
            for name, each in results.large.items()
        ]
        print(aligned(["", "", "max error", "CPU s", "MiB"], tall))
        _reasons(f"{name}: {each.why}" for name, each in results.large.items() if each.why)
    print("\nA classifier, tested on real people it has not seen (area under the curve)\n")
    lines = [
        [each.table, each.trained_on, _number(each.area, 3), _number(each.accuracy, 3)]
        for each in results.learned
    ]
    print(aligned(["table", "trained on", "area", "accuracy"], lines))


def _cells(each: Made) -> list[str]:
    return [
        each.kind,
        each.contender,
        _number(None if each.model is None else each.model.mean),
        _number(None if each.model is None else each.model.worst),
        _number(None if each.rows is None else each.rows.mean),
        _figures(each.plan_seconds),
        _figures(each.seconds),
        _figures(each.rows_seconds),
    ]


def _said(row: Made | Large | Learned) -> str:
    """Return a row as one line."""
    if isinstance(row, Made):
        return "  ".join([*_cells(row), row.why])
    if isinstance(row, Large):
        return f"{_number(row.error)}  {_figures(row.seconds)} s  {row.why}"
    return f"{row.table}  {row.trained_on}  {_number(row.area, 3)}"


def _reasons(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"  {line}")


def _number(value: float | None, digits: int = 4) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _figures(value: float | None) -> str:
    return NOTHING if value is None else figures(value)


if __name__ == "__main__":
    sys.exit(main())
