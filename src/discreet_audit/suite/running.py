"""Running the suite: every promise, every attack and every broken twin, in processes.

Trust: public.

Broken twins are programs with a known mistake, each of which must be caught.  Each is audited with
ten times as many answers until it is caught, so a row says how many it takes.

Every bound on a promise has the same level, and they add up to that of the suite: the chance that
any promise is called broken though it is kept is at most 1e-6.  Bounds on broken twins have that
level each, and attacks on the implementation state their own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from fractions import Fraction
from functools import cache, partial
from multiprocessing.connection import Connection
from typing import Final, TypeVar, cast

from discreet.attacks.measured import Measured
from discreet.exact import float_up, whole
from discreet_audit.findings import Finding
from discreet_audit.implementation import ATTACKS
from discreet_audit.suite.figures import curve, figures
from discreet_audit.suite.mechanism_rows import mechanism_rows
from discreet_audit.suite.question_rows import question_rows
from discreet_audit.suite.release_rows import release_rows
from discreet_audit.suite.report import Report
from discreet_audit.suite.rows import Line, Row
from discreet_audit.suite.unfinished import UnfinishedAudit
from discreet_audit.twins import Twin, all_twins, catch

Result = TypeVar("Result")
Piece = Callable[[], Line | Finding]
"""One audit or attack."""


def run_in_processes(
    work: Sequence[Callable[[], Result]], *, jobs: int
) -> Generator[Result, None, None]:
    """Yield what each piece of work returns, in order, from several processes.

    Other processes start afresh, so pieces of work have to be such that can be pickled.  They end
    with this one, however it ends: each waits at a pipe whose other end is here alone.

    >>> from functools import partial
    >>> list(run_in_processes([partial(int, "1"), partial(int, "2")], jobs=1))
    [1, 2]
    """
    if whole(jobs, name="jobs", low=1, high=1024) == 1:
        yield from (piece() for piece in work)
        return
    context = multiprocessing.get_context("spawn")
    waiting, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(jobs, context, initializer=_end_with_parent, initargs=(waiting,))
    with waiting, held, pool:
        try:
            yield from (each.result() for each in [pool.submit(piece) for piece in work])
        except BaseException:  # also if nobody wants the rest: work in progress is not waited for
            held.close()
            raise


def _end_with_parent(waiting: Connection) -> None:
    """Have this process end when its parent lets go of a pipe, or is gone."""
    signal.signal(signal.SIGINT, lambda *_: None)  # of a terminal: the parent decides

    def wait() -> None:
        waiting.poll(None)  # nothing is ever sent
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


_PART: Final = "broken twins"
_MOST: Final = 10**5


def twin_rows() -> Iterator[Row]:
    """Return a row for every broken twin."""
    for twin in all_twins():
        yield Row(
            part=_PART,
            name=f"{twin.name}: {twin.fault}",
            covers=(twin.name,),
            judge=_Judge(twin),
            quick=_MOST,
            long=10 * _MOST,
            broken=True,
        )


class _Judge:
    """Look for a violation, at the level of the twin's own audit."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin

    def __call__(self, n: int, _level: Fraction) -> Measured:
        return cast("Measured", catch(self.twin, most=n).row)  # at least one audit was made


LEVEL: Final = Fraction(1, 10**6)
"""The chance that any bound on a promise is too high, at most."""

ProgressCallback = Callable[[str, int, int], None]
"""Hears what comes next, how much is done, and of how much."""

_CLAIMED: Final = "A7"
_ALONE: Final = ("A2", "A3")


def all_rows() -> tuple[Row, ...]:
    """Return every audit: mechanisms, questions, releases, broken twins."""
    return (*mechanism_rows(), *question_rows(), *release_rows(), *twin_rows())


def run_suite(
    *,
    long: bool,
    jobs: int = 1,
    told: ProgressCallback = lambda *_: None,
    unfinished: UnfinishedAudit | None = None,
) -> Report:
    """Run everything in ``jobs`` processes; attacks on time come last, with nothing beside them.

    What is found is kept in ``unfinished``, if it is given, and is not looked for again.  Whoever
    has written the report removes it.
    """
    begun = _seconds()
    made = {} if unfinished is None else dict(unfinished.found)
    earlier = sum(seconds for _, seconds in made.values())
    together, alone = _pieces(long=long)
    steps = len(together) + len(alone) + 1
    for pieces, count, then in ((together, jobs, "attacks on time"), (alone, 1, "figures")):
        left = [name for name in pieces if name not in made]
        named = [*left, then]
        told(named[0], len(made), steps)
        work = [partial(_timed, pieces[name]) for name in left]
        with closing(run_in_processes(work, jobs=count)) as results:  # then processes have ended
            for name, found, following in zip(left, results, named[1:], strict=True):
                made[name] = found
                if unfinished is not None:
                    unfinished.add(name, *found)
                told(following, len(made), steps)
    return _report(
        [made[name][0] for name in (*together, *alone)],
        long=long,
        seconds=lambda: earlier + _seconds() - begun,
    )


def _pieces(*, long: bool) -> tuple[dict[str, Piece], dict[str, Piece]]:
    """Return all audits and attacks by name: those that may run side by side, and those on time."""
    rows = all_rows()
    share = _level_of_each(rows, long=long, level=LEVEL)
    together: dict[str, Piece] = {
        f"{row.part}: {row.name}": partial(_line, number, long=long, level=share)
        for number, row in enumerate(rows)
    }
    alone: dict[str, Piece] = {}
    for attack in ATTACKS:
        if attack.code != _CLAIMED:
            group = alone if attack.code in _ALONE else together
            group[f"{attack.code} {attack.title}"] = partial(attack, quick=not long)
    return together, alone


def _report(
    results: Sequence[Line | Finding], *, long: bool, seconds: Callable[[], float]
) -> Report:
    """Put a report together, with the figures."""
    lines = tuple(result for result in results if isinstance(result, Line))
    findings = [claimed(lines), *(result for result in results if isinstance(result, Finding))]
    shares, points = tuple(figures(long=long)), tuple(curve())
    return Report(
        long=long,
        level=LEVEL,
        lines=lines,
        findings=tuple(sorted(findings, key=lambda finding: int(finding.code[1:]))),
        figures=shares,
        points=points,
        seconds=seconds(),
    )


def _timed(piece: Piece) -> tuple[Line | Finding, float]:
    """Return what was found, and the processor time that it took."""
    begun = _seconds()
    return piece(), _seconds() - begun


def _seconds() -> float:
    """Return how long processors have worked for this process, and for those it waited for."""
    return sum(os.times()[:4])


def run_rows(rows: Iterable[Row], *, long: bool, level: Fraction = LEVEL) -> tuple[Line, ...]:
    """Make audits whose bounds all hold together, but for a chance of ``level``."""
    listed = tuple(rows)
    share = _level_of_each(listed, long=long, level=level)
    return tuple(row.run(long=long, level=share) for row in listed)


def _level_of_each(rows: Sequence[Row], *, long: bool, level: Fraction) -> Fraction:
    """Return the level of each bound on a promise that rests on answers: they add up to it."""
    sampled = sum((row.long if long else row.quick) > 0 for row in rows if not row.broken)
    return level / max(sampled, 1)


def _line(number: int, *, long: bool, level: Fraction) -> Line:
    """Make one audit; a row is known by its number in other processes too."""
    return _rows()[number].run(long=long, level=level)


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
