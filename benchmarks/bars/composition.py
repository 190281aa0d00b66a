"""What ``benchmarks/composition.py`` must show: a price for everything, quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.measure import Result
from benchmarks.report import OURS, PER_SECOND, Bar, figures
from benchmarks.rows.composition import GOOGLE
from discreet.loss.rounding import Bracket

FASTER = 10
WIDEST = 1e-4


def bars(
    results: Sequence[Result],
    brackets: Mapping[str, Bracket],
    theirs: Mapping[tuple[str, str], float],
) -> list[Bar]:
    """Return the bars that decide the run."""
    return [speed(results), width(brackets), agreement(brackets, theirs)]


def speed(results: Sequence[Result]) -> Bar:
    """Compare the tree with all its paths in dp_accounting, which has no parallel node."""
    text = f"the tree is priced at least {FASTER} times as fast as all its paths in dp_accounting"
    ratios = [ratio for one in results if (ratio := one.ratio(GOOGLE)) is not None]
    if not ratios:
        return Bar(text=text, measured="no figures", passed=None, binding=True)
    return Bar(
        text=text,
        measured=f"dp_accounting takes {figures(min(ratios))} times as long",
        passed=min(ratios) >= FASTER,
        binding=True,
    )


def width(brackets: Mapping[str, Bracket]) -> Bar:
    """Look for the widest bracket."""
    worst = max(brackets, key=lambda name: brackets[name].width)
    return Bar(
        text=f"every price known to {WIDEST:g}",
        measured=f"{brackets[worst].width:.1g} at worst ({worst})",
        passed=brackets[worst].width <= WIDEST,
        binding=True,
    )


def agreement(brackets: Mapping[str, Bracket], theirs: Mapping[tuple[str, str], float]) -> Bar:
    """Hold the price of the tree against the paths in dp_accounting, which is pessimistic."""
    text = "the price is that of the worst path in dp_accounting, or a little less"
    gaps = {name: other - brackets[name].high for (name, _), other in theirs.items()}
    if not gaps:
        return Bar(text=text, measured="no figures", passed=None, binding=True)
    return Bar(
        text=text,
        measured=", ".join(f"{gap:+.1e} ({name})" for name, gap in gaps.items()),
        passed=all(-1e-6 <= gap <= 1e-2 for gap in gaps.values()),
        binding=True,
    )


def notes(results: Sequence[Result]) -> list[Bar]:
    """Return the targets in absolute time, which depend on the machine and decide nothing."""
    targets = (
        ("a certified price of the tree in under a second", "tree", 1000.0),
        ("one charge in under 1 ms", "charge", 1.0),
        ("what is left in under 10 ms", "left", 10.0),
    )
    found = []
    for text, kind, most in targets:
        rows = [one for one in results if one.kind == kind]
        slowest = max(rows, key=lambda one: one.seconds[OURS])
        spent = slowest.seconds[OURS] * PER_SECOND[slowest.unit]
        measured = f"{figures(spent)} {slowest.unit} ({slowest.name})"
        found.append(Bar(text=text, measured=measured, passed=spent <= most, binding=False))
    return found
