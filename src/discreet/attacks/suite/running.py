"""Running the suite: every promise, every attack and every broken twin, one after another.

Trust: public.

Every bound on a promise has the same level, and they add up to that of the suite: the chance that
any promise is called broken though it is kept is at most 1e-6.  Bounds on broken twins have that
level each, and attacks on the implementation state their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final

from discreet.attacks.findings import Finding
from discreet.attacks.implementation import ATTACKS
from discreet.attacks.suite.curve import curve
from discreet.attacks.suite.figures import figures
from discreet.attacks.suite.mechanisms import mechanism_rows
from discreet.attacks.suite.questions import question_rows
from discreet.attacks.suite.releases import release_rows
from discreet.attacks.suite.report import Report
from discreet.attacks.suite.rows import Line, Row
from discreet.attacks.suite.twins import twin_rows

__all__ = ["LEVEL", "Told", "all_rows", "run_rows", "run_suite"]

LEVEL: Final = Fraction(1, 10**6)
"""The chance that any bound on a promise is too high, at most."""

Told = Callable[[str, int, int], None]
"""Hears what comes next, how much is done, and of how much."""

_CLAIMED: Final = "A7"


def all_rows() -> tuple[Row, ...]:
    """Return every audit: mechanisms, questions, releases, broken twins."""
    return (*mechanism_rows(), *question_rows(), *release_rows(), *twin_rows())


def run_suite(*, long: bool, told: Told = lambda *_: None) -> Report:
    """Run everything."""
    rows = all_rows()
    attacks = [attack for attack in ATTACKS if attack.code != _CLAIMED]
    steps = len(rows) + len(attacks) + 1
    lines = run_rows(rows, long=long, told=lambda name, at, _: told(name, at, steps))
    findings = [_claimed(lines)]
    for at, attack in enumerate(attacks, start=len(rows)):
        told(f"{attack.code} {attack.title}", at, steps)
        findings.append(attack(quick=not long))
    told("figures", steps - 1, steps)
    return Report(
        long=long,
        level=LEVEL,
        lines=lines,
        findings=tuple(sorted(findings, key=lambda each: int(each.code[1:]))),
        figures=tuple(figures(long=long)),
        points=tuple(curve()),
    )


def run_rows(
    rows: Iterable[Row], *, long: bool, level: Fraction = LEVEL, told: Told = lambda *_: None
) -> tuple[Line, ...]:
    """Make audits whose bounds all hold together, but for a chance of ``level``."""
    listed = tuple(rows)
    sampled = sum((row.long if long else row.quick) > 0 for row in listed if not row.broken)
    each = level / max(sampled, 1)
    lines: list[Line] = []
    for at, row in enumerate(listed):
        told(row.name, at, len(listed))
        lines.append(row.run(long=long, level=each))
    return tuple(lines)


def _claimed(lines: Iterable[Line]) -> Finding:
    """Return what the rows say together, as an attack."""
    promises = [line for line in lines if not line.broken]
    wrong = [line.name for line in promises if not line.passed]
    return Finding(
        code=_CLAIMED,
        title=next(attack.title for attack in ATTACKS if attack.code == _CLAIMED),
        claimed="no certified bound is above what is claimed",
        measured=f"{len(promises)} promises, {len(wrong)} refuted",
        passed=not wrong,
        numbers={"promises": len(promises), "refuted": len(wrong)},
        not_covered="other parameters, neighbors and events: a bound below a claim proves nothing",
    )
