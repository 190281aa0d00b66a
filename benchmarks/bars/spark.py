"""What ``benchmarks/spark.py`` must show, and what a row and a group cost."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measure import Result
from benchmarks.report import OURS, Bar, figures
from benchmarks.rows.ask_tables import PERSON, ROW
from benchmarks.rows.spark import BOUNDED, TUMULT, WRITTEN

BEHIND = 1.3
"""How many times as long as bounded SQL an answer by person may take."""
AHEAD = 5
"""How many times as long Tumult has to take at least."""


def bars(results: Sequence[Result]) -> list[Bar]:
    """Return the bars that decide the run."""
    return [bounded(results), ahead(results)]


def notes(results: Sequence[Result]) -> list[Bar]:
    """Return what is told beside the bars: the same for many groups."""
    found = []
    for one in (each for each in results if each.kind == WRITTEN):
        behind = one.seconds[OURS] / one.seconds[BOUNDED]
        text = f"{one.name}, at most {BEHIND} times as long as bounded SQL"
        measured = f"{figures(behind)} times"
        found.append(Bar(text=text, measured=measured, passed=behind <= BEHIND, binding=False))
    return found


def bounded(results: Sequence[Result]) -> Bar:
    """Compare with SQL that bounds contributions in the same way, and adds no noise."""
    rows = [one for one in results if one.kind == PERSON]
    behind = {one.name: one.seconds[OURS] / one.seconds[BOUNDED] for one in rows}
    worst = max(behind, key=behind.__getitem__)
    return Bar(
        text=f"by person, at most {BEHIND} times as long as bounded SQL without noise",
        measured=f"{figures(behind[worst])} times at worst ({worst})",
        passed=behind[worst] <= BEHIND,
        binding=True,
    )


def ahead(results: Sequence[Result]) -> Bar:
    """Compare with Tumult, wherever it answers."""
    text = f"at least {AHEAD} times as fast as Tumult"
    ratios = {one.name: ratio for one in results if (ratio := one.ratio(TUMULT)) is not None}
    if not ratios:
        return Bar(text=text, measured="no figures", passed=None, binding=True)
    worst = min(ratios, key=ratios.__getitem__)
    return Bar(
        text=text,
        measured=f"{figures(ratios[worst])} times at worst ({worst})",
        passed=ratios[worst] >= AHEAD,
        binding=True,
    )


def costs(results: Sequence[Result]) -> list[str]:
    """Say what a row and a group cost: straight lines through the smallest and the largest size."""
    found = []
    words = {PERSON: "by person", ROW: "by row", WRITTEN: "by group"}
    for kind, word in words.items():
        sizes = sorted((one.size, one.seconds[OURS]) for one in results if one.kind == kind)
        if len(sizes) < 2:
            continue
        (least, first), *between, (most, last) = sizes
        slope = max(0.0, last - first) / (most - least)
        fixed = first - slope * least
        thing = "group" if kind == WRITTEN else "row"
        said = f"{word}: {figures(fixed)} s and {figures(1e6 * slope)} µs a {thing}"
        for size, spent in between:
            off = (fixed + slope * size) / spent - 1
            said += f"; for {size:,.0f} {thing}s that is {off:+.0%} off"
        found.append(said)
    return found
