"""What ``benchmarks/explain.py`` must show: explanations hardly take longer than the reading."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measure import Result
from benchmarks.report import OURS, PER_SECOND, Bar, figures
from benchmarks.rows.explain import AGAIN, LABEL, ONE, READING, VERIFY

MOST = {ONE: 0.2, AGAIN: 3.0, LABEL: 5.0, VERIFY: 5.0}
"""How many times as long as reading all entries each may take."""


def bars(results: Sequence[Result]) -> list[Bar]:
    """Return the bars that decide the run."""
    return [_bar(result) for result in results]


def _bar(result: Result) -> Bar:
    share = result.seconds[OURS] / result.seconds[READING]
    most = MOST[result.name]
    return Bar(
        text=f"{result.name}: at most {most:g} times as long as reading all entries",
        measured=f"{figures(share)} times as long",
        passed=share <= most,
        binding=True,
    )


def notes(results: Sequence[Result]) -> list[Bar]:
    """Return the targets in absolute time, which depend on the machine and decide nothing."""
    found = []
    for name, most in ((ONE, 50.0), (AGAIN, 1000.0)):
        (result,) = (each for each in results if each.name == name)
        spent = result.seconds[OURS] * PER_SECOND[result.unit]
        text = f"{name} explained in under {most:g} ms"
        measured = f"{figures(spent)} ms"
        found.append(Bar(text=text, measured=measured, passed=spent <= most, binding=False))
    return found
