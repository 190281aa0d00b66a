"""What private models must reach."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.measure import Result
from benchmarks.report import Bar
from benchmarks.rows.learning_digits import Reading
from benchmarks.rows.learning_fits import THEIRS
from benchmarks.rows.learning_tables import Fit

ADULT = {"accuracy": 0.843, "area": 0.888}
"""At epsilon 0.1."""
DIGITS = {"0.5": 0.76, "1": 0.85, "3": 0.90, "8": 0.92}
LEAST_ROWS = 10_000
"""Below so many rows, planning exact noise takes longer than some of their fits."""
_CHANCE = 0.002
"""What chance moves the mean of three splits by."""


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
    """Judge what a fit takes from arrays to a model, with a charge in memory as theirs is."""
    found = []
    for result in times:
        durable, memory = result.ratio(THEIRS), result.ratio(THEIRS, "in memory")
        if durable is None or memory is None:
            continue
        found.append(
            Bar(
                text=f"{result.name}: no slower than {THEIRS}",
                measured=f"{memory:.2f} times as fast, {durable:.2f} with a ledger in a file",
                passed=memory >= 1,
                binding=result.size >= LEAST_ROWS,
            )
        )
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
        ratio = _mean(here, other, "seconds") / _mean(here, "discreet", "seconds")
        found.append(
            Bar(
                text=f"{where}: no slower than {other}",
                measured=f"{ratio:.2f} times as fast",
                passed=ratio >= 1,
                binding=False,
            )
        )
    return found


def _mean(here: Sequence[Fit], library: str, what: str) -> float:
    return mean(getattr(fit, what) for fit in here if fit.library == library)
