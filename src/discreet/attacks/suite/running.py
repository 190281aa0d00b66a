"""Running the suite: every promise, every attack and every broken twin.

Trust: public.

Every bound on a promise has the same level, and they add up to that of the suite: the chance that
any promise is called broken though it is kept is at most 1e-6.  Bounds on broken twins have that
level each, and attacks on the implementation state their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache, partial
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
from discreet.attacks.suite.sharing import shared
from discreet.attacks.suite.twins import twin_rows
from discreet.exact import float_up

__all__ = ["LEVEL", "Told", "all_rows", "claimed", "run_rows", "run_suite"]

LEVEL: Final = Fraction(1, 10**6)
"""The chance that any bound on a promise is too high, at most."""

Told = Callable[[str, int, int], None]
"""Hears what comes next, how much is done, and of how much."""

_CLAIMED: Final = "A7"
_ALONE: Final = ("A2", "A3")


def all_rows() -> tuple[Row, ...]:
    """Return every audit: mechanisms, questions, releases, broken twins."""
    return (*mechanism_rows(), *question_rows(), *release_rows(), *twin_rows())


def run_suite(*, long: bool, jobs: int = 1, told: Told = lambda *_: None) -> Report:
    """Run everything, in so many processes; attacks on time come last, with nothing beside them."""
    begun, rows = _seconds(), all_rows()
    others = [attack for attack in ATTACKS if attack.code not in {_CLAIMED, *_ALONE}]
    each = _level_of_each(rows, long=long, level=LEVEL)
    work: list[Callable[[], Line | Finding]] = [
        *(partial(_line, at, long=long, level=each) for at in range(len(rows))),
        *(partial(attack, quick=not long) for attack in others),
    ]
    names = [*(row.name for row in rows), *(f"{each.code} {each.title}" for each in others)]
    steps = len(work) + len(_ALONE) + 1
    made: list[Line | Finding] = []
    told(names[0], 0, steps)
    for found in shared(work, jobs=jobs):  # to its end: only then have other processes ended
        made.append(found)
        told([*names, "attacks on time"][len(made)], len(made), steps)
    lines = tuple(each for each in made if isinstance(each, Line))
    findings = [claimed(lines), *(each for each in made if isinstance(each, Finding))]
    for at, attack in enumerate(each for each in ATTACKS if each.code in _ALONE):
        told(f"{attack.code} {attack.title}", len(work) + at, steps)
        findings.append(attack(quick=not long))
    told("figures", steps - 1, steps)
    shares, points = tuple(figures(long=long)), tuple(curve())
    return Report(
        long=long,
        level=LEVEL,
        lines=lines,
        findings=tuple(sorted(findings, key=lambda each: int(each.code[1:]))),
        figures=shares,
        points=points,
        seconds=_seconds() - begun,
    )


def _seconds() -> float:
    """Return how long processors have worked for this process, and for those it waited for."""
    return sum(os.times()[:4])


def run_rows(rows: Iterable[Row], *, long: bool, level: Fraction = LEVEL) -> tuple[Line, ...]:
    """Make audits whose bounds all hold together, but for a chance of ``level``."""
    listed = tuple(rows)
    each = _level_of_each(listed, long=long, level=level)
    return tuple(row.run(long=long, level=each) for row in listed)


def _level_of_each(rows: Sequence[Row], *, long: bool, level: Fraction) -> Fraction:
    """Return the level of each bound on a promise that rests on answers: they add up to it."""
    sampled = sum((row.long if long else row.quick) > 0 for row in rows if not row.broken)
    return level / max(sampled, 1)


def _line(at: int, *, long: bool, level: Fraction) -> Line:
    """Make one audit; a row is known by its number in other processes too."""
    return _rows()[at].run(long=long, level=level)


_rows = cache(all_rows)


def claimed(lines: Iterable[Line]) -> Finding:
    """Return what the rows say together, as an attack."""
    promises = [line for line in lines if not line.broken]
    wrong = [line.name for line in promises if not line.passed]
    return Finding(
        code=_CLAIMED,
        title=next(attack.title for attack in ATTACKS if attack.code == _CLAIMED),
        claimed="no certified bound is above what is claimed",
        measured=f"{len(promises)} promises, {len(wrong)} refuted"
        f"{': ' * bool(wrong)}{', '.join(wrong)}",
        passed=not wrong,
        numbers={
            "promises": len(promises),
            "refuted": len(wrong),
            "false_alarm_rate": float_up(LEVEL),
        },
        rows=tuple(line.measured for line in promises),
        not_covered="other parameters, neighbors and events: a bound below a claim proves nothing",
    )
