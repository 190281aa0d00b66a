"""What ``benchmarks/service.py`` must show: grouped charges, little overhead, a quick start."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.report import Bar, figures

FASTER = 8
CHARGES = 1_000
OVERHEAD = 0.015
START = 2.0


def bars(
    grouped: Mapping[int, Mapping[str, float]],
    alone: Mapping[str, float],
    overhead: float,
    start: Mapping[str, float],
) -> list[Bar]:
    """Return the bars that decide the run."""
    most = max(grouped)
    rate = grouped[most]["per_second"]
    return [
        Bar(
            text=f"at least {CHARGES:,} charges a second from {most} processes",
            measured=figures(rate),
            passed=rate >= CHARGES,
            binding=True,
        ),
        Bar(
            text=f"{FASTER} times as many as where each process opens the ledger itself",
            measured=f"{figures(rate / alone['per_second'])} times",
            passed=rate >= FASTER * alone["per_second"],
            binding=True,
        ),
        Bar(
            text=f"an answer takes at most {1e3 * OVERHEAD:g} ms more than in a session (median)",
            measured=f"{1e3 * overhead:.1f} ms",
            passed=overhead <= OVERHEAD,
            binding=True,
        ),
        Bar(
            text=f"a server answers within {START:g} s of its start (by the clock; beside it, CPU)",
            measured=f"{start['wall']:.2f} s, {start['cpu']:.2f} s",
            passed=start["wall"] <= START,
            binding=True,
        ),
    ]
