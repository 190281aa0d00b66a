"""Charges and answers a second through a server, against sessions: ``./run bench service``.

docs/benchmarks/service.md says what is measured and how to read it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.bars.service import bars
from benchmarks.measure import machine, read_options
from benchmarks.report import aligned, bar_list, figures, write_json
from benchmarks.rows.service import (
    ALONE,
    SHARED,
    answers,
    charges,
    cold_start,
    connected,
    data,
    directly,
    memory,
    served,
)

CLIENTS = (1, 8, 64)


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("service", __doc__, rounds=1, quick=1)
    seconds = 2.0 if options.quick else 6.0
    described = machine()
    described["load"] = os.getloadavg()[0]
    grouped, alone = race_charges(seconds)
    through, session, start, resident = race_answers(seconds)
    overhead = through[1]["p50"] - session[1]["p50"]
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}; ", end="")
    print(f"load {described['load']:.1f} before\n")
    rows = [
        [f"charges, {SHARED}, {clients} processes", *_cells(found)]
        for clients, found in grouped.items()
    ]
    rows.append([f"charges, {ALONE}, {CLIENTS[-1]} processes", *_cells(alone)])
    rows += [[f"answers, server, {n} clients", *_cells(found)] for n, found in through.items()]
    rows += [[f"answers, session, {n} threads", *_cells(found)] for n, found in session.items()]
    print(aligned(["", "unit", "per second", "p50 ms", "p99 ms"], rows))
    print(f"\nidle: {resident['server']:.0f} MiB, and {resident['workers']:.0f} MiB of one worker")
    print(f"cold start: {start['wall']:.2f} s to the first reply, ", end="")
    print(
        f"{start['answer']:.2f} s to the first answer to a question; CPU time of the server ",
        end="",
    )
    print(f"{start['cpu']:.2f} s, of its worker {start['worker_cpu']:.2f} s")
    verdict = bars(grouped, alone, overhead, start)
    print(f"\nBars\n{bar_list(verdict)}")
    if options.json:
        runs = {"charges": grouped, "alone": alone, "answers": through, "session": session}
        write_json(options.json, machine=described, results=[], bars=verdict, runs=runs)
    return int(any(bar.passed is False for bar in verdict))


def _cells(found: dict[str, float]) -> list[str]:
    times = (f"{1e3 * found[name]:.1f}" for name in ("p50", "p99"))
    return ["", figures(found["per_second"]), *times]


def race_charges(seconds: float) -> tuple[dict[int, dict[str, float]], dict[str, float]]:
    """Charge from processes, through one writer and each alone."""
    with tempfile.TemporaryDirectory() as folder:
        grouped = {n: charges(SHARED, n, seconds, Path(folder)) for n in CLIENTS}
        alone = charges(ALONE, CLIENTS[-1], seconds, Path(folder))
    return grouped, alone


Answers = dict[int, dict[str, float]]


def race_answers(seconds: float) -> tuple[Answers, Answers, dict[str, float], dict[str, float]]:
    """Ask through a server and in a session; start a server; look at its memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data(folder)
        start = cold_start(folder)
        server = served(folder)
        try:
            answers(lambda: connected(server), 1, 1.0, first=90)
            through = {
                clients: answers(lambda: connected(server), clients, seconds, first=3 * at)
                for at, clients in enumerate(CLIENTS)
            }
            resident = memory(server.process.pid)
        finally:
            server.stop()
        with directly(folder) as session:
            answers(lambda: session, 1, 1.0, first=90)
            found = {
                clients: answers(lambda: session, clients, seconds, first=3 * at)
                for at, clients in enumerate(CLIENTS)
            }
    return through, found, start, resident


if __name__ == "__main__":
    raise SystemExit(main())
