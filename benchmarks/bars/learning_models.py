"""What private models must reach."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.measure import Result
from benchmarks.report import Bar
from benchmarks.rows.learning_digits import Reading
from benchmarks.rows.learning_fits import THEIR_TABLE, THEIRS
from benchmarks.rows.learning_tables import Fit, best

ADULT = {"accuracy": 0.843, "area": 0.888}
"""At epsilon 0.1."""
DIGITS = {"0.5": 0.76, "1": 0.85, "3": 0.90, "8": 0.92}
LEAST_ROWS = 1_000
"""Below so many rows, planning exact noise may take longer than their fits."""
_TURNS = 0.05
"""What chance moves a ratio of the best of nine turns by, of two milliseconds each."""
_CHANCE = 0.002
"""What chance moves the mean of three splits by."""
LEAST_TABLE = 16_000
"""Below so many rows, a session's plan may take longer than one of their fits."""


def bars(fits: Sequence[Fit], readings: Sequence[Reading], times: Sequence[Result]) -> list[Bar]:
    """Judge fits against others and the literature, and digits against theirs."""
    found = []
    for table, epsilon in sorted({(fit.table, fit.epsilon) for fit in fits}):
        here = [fit for fit in fits if (fit.table, fit.epsilon) == (table, epsilon)]
        found += _against_others(f"{table} at epsilon {epsilon}", here)
        if (table, epsilon) == ("Adult", "0.1"):
            for what, least in ADULT.items():
                ours = _mean(here, "discreet", what)
                found.append(_bar(f"Adult at epsilon 0.1: {what} of {least}", ours, least))
    for epsilon, least in DIGITS.items():
        right = mean(each.accuracy for each in readings if each.epsilon == epsilon)
        found.append(_bar(f"digits at epsilon {epsilon}: accuracy of {least}", right, least))
    return found + _no_slower(times)


def _no_slower(times: Sequence[Result]) -> list[Bar]:
    """Judge what a fit takes from arrays, with a charge in memory as theirs is, or a table."""
    found = []
    for result in times:
        durable, memory = result.ratio(THEIRS), result.ratio(THEIRS, "in memory")
        if durable is None or memory is None:
            continue
        found.append(
            Bar(
                text=f"{result.name}: no slower than {THEIRS}",
                measured=f"{memory:.2f} times as fast, {durable:.2f} with a ledger in a file",
                passed=memory >= 1 - (_TURNS if result.size <= LEAST_ROWS else 0),
                binding=result.size >= LEAST_ROWS,
            )
        )
        table = result.ratio(THEIR_TABLE, "session")
        if table is not None:
            text = f"{result.name}, from a table: no slower than {THEIRS} from the same one"
            found.append(_faster(text, table, binding=result.size >= LEAST_TABLE))
    return found


def _bar(text: str, measured: float, least: float) -> Bar:
    return Bar(text=text, measured=f"{measured:.4f}", passed=measured >= least, binding=True)


def _against_others(where: str, here: Sequence[Fit]) -> list[Bar]:
    others = sorted({fit.library for fit in here} - {"discreet"})
    found = []
    for other in others:
        for what in ("accuracy", "area"):
            ours, theirs = _mean(here, "discreet", what), _mean(here, other, what)
            text = f"{where}: {what} no lower than that of {other}"
            measured = f"{ours:.4f} against {theirs:.4f}"
            found.append(
                Bar(text=text, measured=measured, passed=ours >= theirs - _CHANCE, binding=True)
            )
        found += _no_slower_fit(where, here, other)
    return found


def _no_slower_fit(where: str, here: Sequence[Fit], other: str) -> list[Bar]:
    """Judge ours from a table beside theirs from the same one, and from arrays."""
    ours = best([fit for fit in here if fit.library == "discreet"], "from_table")
    theirs = [fit for fit in here if fit.library == other]
    found = []
    for what in ("from_table", "from_arrays"):
        seconds = best(theirs, what)
        if ours is not None and seconds is not None:
            text = f"{where}, ours from a table: no slower than {other} {what.replace('_', ' ')}"
            large = min(fit.rows for fit in here) >= LEAST_TABLE
            found.append(_faster(text, seconds / ours, binding=large and what == "from_table"))
    return found


def _faster(text: str, ratio: float, *, binding: bool) -> Bar:
    return Bar(text=text, measured=f"{ratio:.2f} times as fast", passed=ratio >= 1, binding=binding)


def _mean(here: Sequence[Fit], library: str, what: str) -> float:
    return mean(getattr(fit, what) for fit in here if fit.library == library)
