"""Many clients on one ledger, and how soon a long one is open: ``./run bench ledger``.

docs/benchmarks/ledger.md says what is measured and how to read it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.bars.ledger import bars, notes
from benchmarks.measure import machine, read_options
from benchmarks.report import aligned, bar_list, figures, write_json
from benchmarks.rows.ledger import CONTENDERS, GROUPED, fill, open_and_verify

CLIENTS = 64
ENTRIES = 10**5
SLOW = 5
"""Milliseconds that a sync takes longer on the slow disk."""

REALLY_SLOW = 3e-3
"""Seconds that a sync takes on a disk that needs no tracer to be slow."""

HERE = "on this disk"
SLOWLY = f"where a sync takes {SLOW} ms more"

Measured = dict[str, dict[str, dict[str, float]]]


def main() -> int:
    """Measure, print and judge; return the exit status."""
    options = read_options("ledger", __doc__, rounds=3, quick=1)
    described = machine()
    described["sync"] = sync_seconds()
    described["load"] = os.getloadavg()[0]
    runs = race(options.rounds, 1.5 if options.quick else 5.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        entries = fill(path, ENTRIES // 10 if options.quick else ENTRIES, CLIENTS)
        times = open_and_verify(path)
    slow, fast = (HERE, SLOWLY) if described["sync"] >= REALLY_SLOW else (SLOWLY, HERE)
    verdict, targets = bars(runs, slow, times, entries), notes(runs, fast, HERE)
    print(f"{described['cpu']}, {described['cores']} cores, {described['date'][:10]}")
    print(
        f"SQLite {sqlite3.sqlite_version}, a sync takes {described['sync'] * 1e3:.2f} ms; ", end=""
    )
    print(f"{CLIENTS} clients, best of {options.rounds}; load {described['load']:.1f} before\n")
    print(table(runs))
    for name, seconds in times.items():
        print(f"{name}, {entries:,} entries: {seconds:.3f} s of CPU time")
    print(f"\nBars\n{bar_list(verdict)}")
    print(f"\nTargets that depend on the machine\n{bar_list(targets)}")
    if options.json:
        judged = [*verdict, *targets]
        write_json(options.json, machine=described, results=[], bars=judged, runs=runs, times=times)
    return int(any(bar.passed is False for bar in verdict))


def race(rounds: int, seconds: float) -> Measured:
    """Let contenders take turns on each disk, and keep the best round of each."""
    runs: Measured = {}
    for disk, before in disks().items():
        turns: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
        for _ in range(rounds):
            for name in CONTENDERS:
                turns[name].append(turn(name, before, seconds))
        runs[disk] = {name: max(t, key=lambda one: one["per_second"]) for name, t in turns.items()}
    return runs


def disks() -> dict[str, list[str]]:
    """Return the disks, and the command that makes each of this one."""
    tracer = shutil.which("strace")
    if tracer is None:
        return {HERE: []}
    calls = "fsync,fdatasync"
    slower = ["-e", f"trace={calls}", "-e", f"inject={calls}:delay_exit={SLOW * 1000}"]
    return {HERE: [], SLOWLY: [tracer, "-f", "--seccomp-bpf", *slower, "-o", os.devnull]}


def turn(contender: str, before: list[str], seconds: float) -> dict[str, float]:
    """Run a contender in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "benchmarks.rows.ledger", contender, folder, str(CLIENTS), str(seconds)]
        command = [*before, sys.executable, *words]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def sync_seconds() -> float:
    """Return how long a sync takes here."""
    times = []
    with tempfile.TemporaryFile() as file:
        for number in range(50):
            os.pwrite(file.fileno(), bytes(4096), 4096 * number)
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return median(times)


def table(runs: Measured) -> str:
    """Lay out one row for each disk and contender."""
    rows = [
        [
            name + (" (discreet)" if name == GROUPED else ""),
            disk,
            figures(one["per_second"]),
            *(figures(one[key] * 1e3) for key in ("median", "p99", "longest")),
        ]
        for disk, contenders in runs.items()
        for name, one in contenders.items()
    ]
    return aligned(["", "", "questions/s", "median ms", "p99 ms", "longest ms"], rows)


if __name__ == "__main__":
    sys.exit(main())
