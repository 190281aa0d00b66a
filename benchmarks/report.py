"""Results as an aligned table, a list of bars, and a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Result

OURS = "discreet"
PER_SECOND = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Something the results must show; ``passed`` is None where it was not measured."""

    text: str
    measured: str
    passed: bool | None
    binding: bool
    """Whether failing it fails the run; figures that depend on the machine do not."""


def table(results: Sequence[Result], others: Mapping[str, str]) -> str:
    """Lay out one row for each result; ``others`` maps contenders to the heads of their columns."""
    ratios = [f"x {head.partition(' ')[0]}" for head in others.values()]
    head = ["", "unit", OURS, *others.values(), *ratios]
    rows = [[result.name, result.unit, *_cells(result, list(others))] for result in results]
    return aligned(head, rows)


def aligned(head: list[str], rows: list[list[str]]) -> str:
    """Lay out cells under a head, the first two columns to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [_aligned(row, widths) for row in [head, ["-" * width for width in widths], *rows]]
    return "\n".join(lines)


def _cells(result: Result, others: list[str]) -> list[str]:
    factor = PER_SECOND[result.unit]
    times = [result.seconds.get(name) for name in [OURS, *others]]
    ratios = [result.ratio(name) for name in others]
    return [
        *(NOTHING if time is None else figures(time * factor) for time in times),
        *(NOTHING if ratio is None else figures(ratio) for ratio in ratios),
    ]


def _aligned(row: list[str], widths: list[int]) -> str:
    name, unit, *figures = row
    cells = [name.ljust(widths[0]), unit.ljust(widths[1])]
    cells += [text.rjust(width) for text, width in zip(figures, widths[2:], strict=True)]
    return "  ".join(cells).rstrip()


def figures(value: float) -> str:
    """Write three significant figures, in groups of thousands.

    >>> figures(0.1234), figures(12.34), figures(123456.7)
    ('0.123', '12.3', '123,457')
    """
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def bar_list(bars: Sequence[Bar]) -> str:
    """Write one line for each bar."""
    words = {True: "PASS", False: "FAIL", None: "not measured"}
    notes = {True: "met", False: "MISSED", None: "not measured"}
    lines = []
    for bar in bars:
        word = (words if bar.binding else notes)[bar.passed]
        lines.append(f"  {word:12}  {bar.text}: {bar.measured}")
    return "\n".join(lines)


def write_json(
    path: Path,
    *,
    machine: Mapping[str, object],
    results: Sequence[Result],
    bars: Sequence[Bar],
    **more: object,
) -> None:
    """Write everything that was measured; times are CPU seconds per unit of work."""
    content = {
        "machine": machine,
        "results": [asdict(result) for result in results],
        "bars": [asdict(bar) for bar in bars],
        **more,
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
