"""What ``benchmarks/ask.py`` must show: answers nearly as fast as SQL, and with smaller errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from benchmarks.measure import Result
from benchmarks.report import OURS, PER_SECOND, Bar, figures
from benchmarks.rows.ask import BOUNDED, OPENDP, PIPELINEDP, PLAIN, SMARTNOISE
from benchmarks.rows.ask_errors import NEARLY, Row
from benchmarks.rows.ask_others import SHOWN
from benchmarks.rows.ask_quantiles import ListRow, QuantileRow
from benchmarks.rows.ask_tables import PERSON, ROW

BEHIND = 1.3
"""How many times as long as bounded SQL an answer by person may take."""
BEHIND_PLAIN, FIXED = 1.5, 0.03
"""The same for plain SQL and answers by row, and seconds besides."""
FASTER = 20
LINEAR = 1.25
"""How many times as long one sum may take in a plan of twice as many."""
NAMES = {OPENDP: "OpenDP", PIPELINEDP: "PipelineDP", SMARTNOISE: "SmartNoise"}
DEVIATIONS = 5
"""How many standard deviations a share of measured errors may be off."""


def bars(
    results: Sequence[Result],
    errors: Sequence[Row],
    quantiles: Sequence[QuantileRow],
    lists: Sequence[ListRow],
) -> list[Bar]:
    """Return the bars that decide the run."""
    speed = [bounded(results), plain(results), *(ahead(results, who) for who in NAMES)]
    exact = [smallest(errors, public=True), smallest(errors, public=False), shown(errors)]
    speed.append(linear(results))
    return [*speed, *exact, kept(errors), ranks(quantiles), halved(lists), listed(lists)]


def bounded(results: Sequence[Result]) -> Bar:
    """Compare with SQL that bounds contributions in the same way, and adds no noise."""
    text = f"by person, at most {BEHIND} times as long as bounded SQL without noise"
    rows = [one for one in results if one.kind == PERSON]
    behind = {one.name: one.seconds[OURS] / one.seconds[BOUNDED] for one in rows}
    worst = max(behind, key=behind.__getitem__)
    return Bar(
        text=text,
        measured=f"{figures(behind[worst])} times at worst ({worst})",
        passed=behind[worst] <= BEHIND,
        binding=True,
    )


def linear(results: Sequence[Result]) -> Bar:
    """Compare plans of more and more sums: twice as many may take a little over twice as long."""
    rows = sorted((one for one in results if one.kind == "linear"), key=lambda one: one.size)
    steps = {
        f"{more.name} against {few.size:.0f}": (more.seconds[OURS] / few.seconds[OURS])
        / (more.size / few.size)
        for few, more in pairwise(rows)
    }
    worst = max(steps, key=steps.__getitem__)
    return Bar(
        text=f"a sum takes at most {LINEAR} times as long in a plan of twice as many",
        measured=f"{figures(steps[worst])} times at worst ({worst})",
        passed=steps[worst] <= LINEAR,
        binding=True,
    )


def plain(results: Sequence[Result]) -> Bar:
    """Compare with a plain GROUP BY."""
    text = f"by row, at most {BEHIND_PLAIN} times as long as plain SQL and {1e3 * FIXED:.0f} ms"
    rows = [one for one in results if one.kind == ROW]
    used = {
        one.name: one.seconds[OURS] / (BEHIND_PLAIN * one.seconds[PLAIN] + FIXED) for one in rows
    }
    worst = max(used, key=used.__getitem__)
    return Bar(
        text=text,
        measured=f"{used[worst]:.0%} of that at worst ({worst})",
        passed=used[worst] <= 1,
        binding=True,
    )


def ahead(results: Sequence[Result], who: str) -> Bar:
    """Compare with another library, wherever it answers."""
    text = f"at least {FASTER} times as fast as {NAMES[who]}"
    ratios = {one.name: ratio for one in results if (ratio := one.ratio(who)) is not None}
    if not ratios:
        return Bar(text=text, measured="no figures", passed=None, binding=True)
    worst = min(ratios, key=ratios.__getitem__)
    return Bar(
        text=text,
        measured=f"{figures(ratios[worst])} times at worst ({worst})",
        passed=ratios[worst] >= FASTER,
        binding=True,
    )


def smallest(errors: Sequence[Row], *, public: bool) -> Bar:
    """Compare the errors of columns, row by row, with those of all who show groups as small."""
    rows = [row for row in errors if row.case.public == public and row.judged != SHOWN]
    shown = {row.case: row for row in errors if row.judged == SHOWN}

    def as_small(row: Row, who: str) -> bool:
        return public or shown[row.case].others[who] <= shown[row.case].predicted

    worse = [
        f"{row.judged} ({row.case.name})"
        for row in rows
        if any(as_small(row, who) for who in row.worse_than)
    ]
    text = "with public groups, nobody errs less at the same price"
    if not public:
        text = "with private groups, nobody who shows groups as small errs less at the same price"
    return Bar(
        text=text,
        measured=f"{len(rows) - len(worse)} of {len(rows)}"
        + "".join(f"; not {name}" for name in worse),
        passed=not worse,
        binding=True,
    )


def shown(errors: Sequence[Row]) -> Bar:
    """Compare the groups that are shown, with those whose columns are as exact as ours."""
    rows = [row for row in errors if not row.case.public]
    cases = [list(group) for _, group in groupby(rows, key=lambda row: row.case)]
    compared, behind = 0, []
    for case in cases:
        columns = [row for row in case if row.judged != SHOWN]
        (ours,) = (row for row in case if row.judged == SHOWN)
        for who in ours.others:
            if all(row.others[who] <= row.predicted * (1 + NEARLY) for row in columns):
                compared += 1
                if who in ours.worse_than:
                    behind.append(f"{who} ({ours.case.name})")
    return Bar(
        text="nobody who errs as little shows smaller private groups",
        measured=f"{compared - len(behind)} of {compared}"
        + "".join(f"; but {name}" for name in behind),
        passed=not behind,
        binding=True,
    )


def kept(errors: Sequence[Row]) -> Bar:
    """Hold measured errors against what plans promise with a chance of 95 %."""
    worst, name = math.inf, "none"
    for row in errors:
        if row.within is not None:
            slack = DEVIATIONS * math.sqrt(0.05 * 0.95 / row.drawn)
            if row.within - 0.95 + slack < worst:
                worst = row.within - 0.95 + slack
                name = f"{row.within:.1%} of {row.drawn:,} {row.judged}s ({row.case.name})"
    return Bar(
        text="95 % of measured errors are within what was promised, but for chance",
        measured=f"{name} at worst",
        passed=worst >= 0,
        binding=True,
    )


def ranks(quantiles: Sequence[QuantileRow]) -> Bar:
    """Compare rank errors of quantiles with those of OpenDP."""
    rows = [row for row in quantiles if row.opendp is not None]
    behind = [f"{row.level} of {row.values}" for row in rows if row.behind]
    return Bar(
        text="quantiles miss by no more ranks than OpenDP's, with ties and without, but for chance",
        measured=f"{len(rows) - len(behind)} of {len(rows)}"
        + "".join(f"; not {name}" for name in behind),
        passed=not behind if rows else None,
        binding=True,
    )


def halved(lists: Sequence[ListRow]) -> Bar:
    """Compare lists that are bought together with single choices at the same price."""
    worst = max(lists, key=lambda row: row.ours / row.single)
    return Bar(
        text="nineteen quantiles miss by at most half of what they miss one by one",
        measured=f"{worst.ours / worst.single:.0%} at worst ({worst.values})",
        passed=worst.ours <= worst.single / 2,
        binding=True,
    )


def listed(lists: Sequence[ListRow]) -> Bar:
    """Compare lists of quantiles with those of other libraries."""
    rows = [row for row in lists if (row.opendp, row.diffprivlib) != (None, None)]
    behind = [row.values for row in rows if row.behind]
    return Bar(
        text="nobody's lists of quantiles miss by fewer ranks, but for chance",
        measured=f"{len(rows) - len(behind)} of {len(rows)}"
        + "".join(f"; not {name}" for name in behind),
        passed=not behind if rows else None,
        binding=True,
    )


def notes(results: Sequence[Result]) -> list[Bar]:
    """Return the targets in absolute time, which depend on the machine and decide nothing."""
    targets = (
        ("a plan in under 20 ms", "plan", 20.0),
        ("a plan of 800 different sums in under 0.5 s of CPU time", "many sums", 0.5),
        ("and if it is the first of its process", "first many sums", 0.5),
        ("the first answer of a new process in under 0.5 s of CPU time", "first", 0.5),
    )
    found = []
    for text, kind, most in targets:
        for one in (each for each in results if each.kind == kind):
            spent = one.seconds[OURS] * PER_SECOND[one.unit]
            measured = f"{figures(spent)} {one.unit} ({one.name})"
            found.append(Bar(text=text, measured=measured, passed=spent <= most, binding=False))
    return found
