"""What ``benchmarks/local.py`` must show: ratios within one run, errors, and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from benchmarks.measure import Result
from benchmarks.report import OURS, Bar
from benchmarks.rows.local import HYBRID, MULTI, PURE, VALUES, Errors

LEAST = {"direct": 20, "unary": 10, "subset": 10}
END_TO_END = 100
MEANS = {1: 0.99, 2: 0.95, 4: 0.72}  # by epsilon
CLOSE = 0.03
MEMORY = 64 << 20
SIGMAS = 4


def bars(results: Sequence[Result], errors: Sequence[Errors], memory: int) -> list[Bar]:
    """Return the bars that decide the run."""
    speed = [
        _ahead(f"{name} {side} {least} times ahead of the faster peer", row, least, (PURE, MULTI))
        for name, least in LEAST.items()
        for side in ("client", "server")
        for row in results
        if row.kind == f"{name} {side}"
    ]
    whole = [
        _ahead(f"{row.name} {END_TO_END} times ahead of pure-ldp", row, END_TO_END, (PURE,))
        for row in results
        if row.kind == "end to end"
    ]
    kept = Bar(
        text="collecting holds less than 64 MiB beyond one chunk of people",
        measured=f"{memory / 2**20:.1f} MiB",
        passed=memory < MEMORY,
        binding=True,
    )
    return [*speed, *whole, kept, *_errors(errors)]


def means(variances: Mapping[int, float]) -> list[Bar]:
    """Return the bars of randomizers of numbers, against the published hybrid mechanism."""
    return [
        Bar(
            text=f"a mean at epsilon {epsilon}: variance at most {most} of the hybrid mechanism",
            measured=f"{variances[epsilon] / HYBRID[epsilon]:.3f}" if epsilon in variances else "-",
            passed=variances[epsilon] <= most * HYBRID[epsilon] if epsilon in variances else None,
            binding=True,
        )
        for epsilon, most in MEANS.items()
    ]


def _ahead(text: str, row: Result, least: float, others: Sequence[str]) -> Bar:
    ratios = [ratio for other in others if (ratio := row.ratio(other)) is not None]
    if not ratios:
        return Bar(text=text, measured="no figures", passed=None, binding=True)
    measured = f"{min(ratios):,.1f} times ahead"
    return Bar(text=text, measured=measured, passed=min(ratios) >= least, binding=True)


def _errors(errors: Sequence[Errors]) -> list[Bar]:
    """Judge errors, whose mean over r runs of k values spreads by about sqrt(2 / (k r))."""
    found = []
    for row in errors:
        ratio = row.measured[OURS] / row.formula
        allowed = max(CLOSE, SIGMAS * math.sqrt(2 / (VALUES * row.runs[OURS])))
        found.append(
            Bar(
                text=f"{row.oracle}: n MSE within {allowed:.1%} of the formula",
                measured=f"{ratio:.4f} of it",
                passed=abs(ratio - 1) <= allowed,
                binding=True,
            )
        )
    peers = [
        (row.measured[name], row.runs[name])
        for row in errors
        for name in row.measured
        if name != OURS
    ]
    text = "the least error is not above that of the best peer"
    if not peers:
        return [*found, Bar(text=text, measured="no figures", passed=None, binding=True)]
    best, runs = min(peers)
    ours = min(row.measured[OURS] for row in errors)
    slack = 1 + SIGMAS * math.sqrt(2 / (VALUES * runs))
    measured = f"{ours:.3f} against {best:.3f}, {runs} runs"
    return [*found, Bar(text=text, measured=measured, passed=ours <= best * slack, binding=True)]


def notes(results: Sequence[Result], crowd: int) -> list[Bar]:
    """Return the target in absolute time, which depends on the machine and decides nothing."""
    return [
        Bar(
            text=f"{crowd:,} reports in less than a second of CPU ({row.name})",
            measured=f"{row.seconds[OURS] * crowd:.2f} s",
            passed=row.seconds[OURS] * crowd < 1,
            binding=False,
        )
        for row in results
        if row.kind == "end to end"
    ]
