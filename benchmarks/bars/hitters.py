"""What the search for frequent words must reach."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Bar
from benchmarks.rows.hitters import Found

PEOPLE = 1_000_000
SLACK = 0.08
PRECISION = {  # of binomial aggregates with the chances of local hashing: top, step, epsilon
    (16, 12, 1): 0.38,
    (16, 12, 2): 0.76,
    (16, 12, 4): 1.00,
    (32, 12, 1): 0.20,
    (32, 12, 2): 0.38,
    (32, 12, 4): 0.91,
}


def bars(results: Sequence[Found]) -> list[Bar]:
    """Judge precision, and that intervals hold."""
    verdict = []
    for found in results:
        search = found.search
        expected = PRECISION.get((search.top, search.step, search.epsilon))
        if expected is not None and search.people == PEOPLE:
            verdict.append(
                Bar(
                    text=f"{search.name}: precision at least {expected - SLACK:.2f}",
                    measured=f"{found.precision:.2f}",
                    passed=found.precision >= expected - SLACK,
                    binding=True,
                )
            )
    missed = sum(found.missed for found in results)
    verdict.append(
        Bar(
            text="intervals of found words that do not hold the true share: at most one row's",
            measured=str(missed),
            passed=missed <= max(found.search.top for found in results),
            binding=True,
        )
    )
    return verdict


def notes(results: Sequence[Found]) -> list[Bar]:
    """Judge time."""
    slowest = max(found.analyst_seconds for found in results)
    report = max(found.device_seconds for found in results)
    return [
        Bar(
            text="reading all reports and searching takes at most 10 s",
            measured=f"{slowest:.1f} s",
            passed=slowest <= 10,
            binding=False,
        ),
        Bar(
            text="a report takes at most 1 µs",
            measured=f"{1e6 * report:.2f} µs",
            passed=report <= 1e-6,
            binding=False,
        ),
    ]
