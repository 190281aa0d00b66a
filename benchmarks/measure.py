"""CPU time, the best of several rounds, of contenders that take turns.

Taking turns matters: a busy neighbor or a change of clock speed then touches all contenders of a
race alike, and ratios can be trusted where single figures cannot.
"""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

Contender = Callable[[], float]
"""Does its work once and returns CPU seconds per unit of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """One row of a table before it is measured."""

    kind: str
    """The family of rows it belongs to, which bars refer to."""
    name: str
    contenders: Mapping[str, Contender]
    unit: str = "ns"
    size: float = 0
    """The scale, the number of candidates, or whatever sets it apart within its kind."""
    rounds: int | None = None
    """How many rounds at most, for rows that take long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row of a table: the best CPU seconds per unit of each contender."""

    kind: str
    name: str
    unit: str
    size: float
    seconds: dict[str, float] = field(default_factory=dict)

    def ratio(self, other: str, ours: str = "discreet") -> float | None:
        """Return how many times as long the other one takes, where both were measured."""
        if other in self.seconds and ours in self.seconds:
            return self.seconds[other] / self.seconds[ours]
        return None


def timed(work: Callable[[], object], *, units: int, calls: int = 1) -> Contender:
    """Make a contender of a function that does ``units`` units of work in each call."""

    def contender() -> float:
        start = time.process_time()
        for _ in range(calls):
            work()
        return (time.process_time() - start) / (units * calls)

    return contender


def run_race(race: Race, rounds: int) -> Result:
    """Let the contenders take turns and keep the best time of each; the first turn is practice."""
    for contender in race.contenders.values():
        contender()
    best = dict.fromkeys(race.contenders, float("inf"))
    for _ in range(min(rounds, race.rounds or rounds)):
        for name, contender in race.contenders.items():
            best[name] = min(best[name], contender())
    return Result(kind=race.kind, name=race.name, unit=race.unit, size=race.size, seconds=best)


def machine() -> dict[str, Any]:
    """Describe what the figures were measured on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("cryptography", "discreet", "numpy")},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _commit() -> str | None:
    """Return the commit of the working tree, marked where the tree differs from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + (" (changed)" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):  # no git, or nothing committed yet
        return None


@functools.cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="compiled")  # removed when the process ends


def installed_environment() -> dict[str, str]:
    """Return the variables of a process that finds compiled modules, as installed ones are.

    They are kept in a folder of this run, filled by the turn for practice, whatever the shell says
    about writing them.
    """
    around = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return around | {"PYTHONPYCACHEPREFIX": _compiled().name}


def started(program: str) -> Contender:
    """Make a contender that starts Python and runs a program, which prints its own seconds."""

    def contender() -> float:
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=installed_environment(),
            capture_output=True,
            check=True,
            text=True,
        )
        return float(done.stdout)

    return contender


def import_seconds(module: str) -> Contender:
    """Make a contender that starts Python and imports a module."""
    return started(f"import time, {module}; print(time.process_time())")


def read_options(
    name: str,
    description: str | None,
    *,
    rounds: int,
    quick: int,
    paths: Mapping[str, str] | None = None,
) -> Namespace:
    """Read the command line that every benchmark shares; ``paths`` are options of its own."""
    parser = ArgumentParser(prog=f"./run bench {name}", description=description)
    parser.add_argument("--quick", action="store_true", help="less work, rougher figures")
    parser.add_argument(
        "--no-peers", dest="peers", action="store_false", help="leave out the other libraries"
    )
    turns = f"turns of each contender ({rounds}; {quick} if quick)"
    parser.add_argument("--rounds", type=int, help=turns)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    for option, text in (paths or {}).items():
        parser.add_argument(f"--{option}", type=Path, metavar="PATH", help=text)
    options = parser.parse_args()
    options.rounds = options.rounds or (quick if options.quick else rounds)
    return options


def run_all(races: Iterable[Race], rounds: int) -> list[Result]:
    """Run all races, saying which one is on."""
    results = []
    for race in races:
        if sys.stderr.isatty():
            print(f"\r\033[K{race.name} ...", end="", file=sys.stderr, flush=True)
        results.append(run_race(race, rounds))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return results
