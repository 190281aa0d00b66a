"""What ``benchmarks/ledger.py`` must show: many clients served at once, and a quick start."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.report import Bar, figures
from benchmarks.rows.ledger import GROUPED, SINGLE

FASTER = 8
SHARE = 4
LONGEST = 5.0

Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By disk and contender: questions a second, and how long a question took."""


def bars(runs: Figures, slow: str, times: Mapping[str, float], entries: int) -> list[Bar]:
    """Return the bars that decide the run."""
    text = f"{FASTER} times as many questions as with a transaction for each step, {slow}"
    found = [_many(runs, slow, text, binding=True)]
    found += [_soon(runs, disk) for disk in runs]
    return [*found, _start(times, entries)]


def notes(runs: Figures, other: str, here: str) -> list[Bar]:
    """Return figures that depend on the machine and decide nothing."""
    rate = runs[here][GROUPED]["per_second"]
    return [
        _many(runs, other, f"{FASTER} times as many questions, {other}", binding=False),
        Bar(
            text=f"at least 1,000 questions a second, {here}",
            measured=figures(rate),
            passed=rate >= 1_000,
            binding=False,
        ),
    ]


def _many(runs: Figures, disk: str, text: str, *, binding: bool) -> Bar:
    if disk not in runs:
        return Bar(text=text, measured="no figures", passed=None, binding=binding)
    ratio = runs[disk][GROUPED]["per_second"] / runs[disk][SINGLE]["per_second"]
    return Bar(
        text=text,
        measured=f"{figures(ratio)} times",
        passed=ratio >= FASTER,
        binding=binding,
    )


def _soon(runs: Figures, disk: str) -> Bar:
    ours, theirs = (runs[disk][name]["p99"] * 1e3 for name in (GROUPED, SINGLE))
    return Bar(
        text=f"99 of 100 questions take at most a quarter of the time, {disk}",
        measured=f"{figures(ours)} ms against {figures(theirs)} ms",
        passed=SHARE * ours <= theirs,
        binding=True,
    )


def _start(times: Mapping[str, float], entries: int) -> Bar:
    spent = sum(times.values())
    return Bar(
        text=f"{entries:,} entries are opened and verified in under {LONGEST:g} s of CPU time",
        measured=f"{spent:.2f} s",
        passed=spent < LONGEST,
        binding=True,
    )
