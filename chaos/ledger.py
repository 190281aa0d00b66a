"""Try to make a ledger overspend, forget or change its mind: ``./run chaos ledger``.

    storm       processes that share a ledger are killed, at random and at named points
    race        processes charge one account at once, until long after it is empty
    power       power is lost at every moment of a recorded run
    postgres    storm and race on a PostgreSQL server, which crashes too

Everything that must not happen is counted, and the exit status is 1 if anything did.
"""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.report import aligned
from chaos import power, race, storm
from chaos.trace import NoTrace
from tests.servers.postgres import NoServer, PostgresServer

SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is tried."""

    kills: int
    processes: int
    attempts: int
    limit: int
    questions: int
    some: int
    every: int
    server_kills: int
    server_crashes: int
    server_processes: int
    server_attempts: int


FULL = Size(
    kills=1_000,
    processes=32,
    attempts=100_000,
    limit=4_000,
    questions=5,
    some=1,
    every=1,
    server_kills=200,
    server_crashes=8,
    server_processes=16,
    server_attempts=8_000,
)
QUICK = Size(
    kills=100,
    processes=8,
    attempts=4_000,
    limit=400,
    questions=2,
    some=1,
    every=12,
    server_kills=30,
    server_crashes=2,
    server_processes=4,
    server_attempts=800,
)


@dataclass(slots=True)
class Outcome:
    """One line of the table, and what is wrong."""

    name: str
    tried: str
    wrong: list[str]
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


def of_storm(name: str, found: storm.Storm) -> Outcome:
    """Sum up a storm."""
    findings = found.findings
    wrong = [f"{kind}: {text}" for kind, texts in findings.wrong.items() for text in texts]
    tried = (
        f"{found.kills.total():,} kills; {findings.charges:,} charges, {findings.told:,} answers "
        f"told, {findings.refusals:,} refusals; {findings.completed:,} completed by a retry"
    )
    details = {"kills": dict(found.kills), "findings": asdict(findings), "failed": found.failures}
    return Outcome(name, tried, [*wrong, *found.failures], found.seconds, details)


def of_race(name: str, found: race.Race) -> Outcome:
    """Sum up a race."""
    grants = [runner.granted for runner in found.runners]
    longest = max((runner.longest for runner in found.runners), default=0.0)
    refused = sum(runner.refused for runner in found.runners)
    tried = (
        f"{len(grants)} processes, {found.granted + refused:,} attempts; {found.granted:,} granted "
        f"of {found.limit:,}, {min(grants, default=0)} to {max(grants, default=0)} to each; "
        f"longest wait {longest:.2f} s"
    )
    details = {"runners": [asdict(runner) for runner in found.runners]}
    return Outcome(name, tried, found.wrong, found.seconds, details)


def of_power(name: str, found: power.Losses) -> Outcome:
    """Sum up losses of power."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.states.items())
    tried = (
        f"{found.operations:,} operations, {found.syncs:,} of them syncs, {found.told:,} answers "
        f"told; {found.states.total():,} states ({kinds})"
    )
    return Outcome(name, tried, found.wrong, found.seconds, {"states": dict(found.states)})


class Trial:
    """The parts, each in a folder of its own."""

    def __init__(self, size: Size, seed: int, folder: Path) -> None:
        """Take how much is tried, and where."""
        self.size, self.seed, self._folder = size, seed, folder

    def folder(self, name: str) -> Path:
        """Make a folder."""
        made = self._folder / name
        made.mkdir()
        return made

    def storm(self) -> list[Outcome]:
        """Kill processes on a file."""
        folder = self.folder("storm")
        plan = storm.Plan(
            address=str(folder / "ledger"), folder=folder, kills=self.size.kills, seed=self.seed
        )
        return [of_storm("storm", storm.storm(plan))]

    def race(self) -> list[Outcome]:
        """Race on a file."""
        folder = self.folder("race")
        plan = race.Plan(
            address=str(folder / "ledger"),
            folder=folder,
            processes=self.size.processes,
            attempts=self.size.attempts,
            limit=self.size.limit,
        )
        return [of_race("race", race.race(plan))]

    def power(self) -> list[Outcome]:
        """Lose power."""
        plan = power.Plan(
            folder=self.folder("power"),
            questions=self.size.questions,
            some=self.size.some,
            seed=self.seed,
            every=self.size.every,
        )
        return [of_power("power loss", power.power_loss(plan))]

    def postgres(self) -> list[Outcome]:
        """Kill and race on a server, and crash the server itself."""
        import_module("discreet.ledger.postgres")  # once, and not in every process
        size, folder = self.size, self.folder("postgres-storm")
        with PostgresServer() as server:
            crashes = _Crashes(server, every=max(1, size.server_kills // (size.server_crashes + 1)))
            stormy = storm.Plan(
                address=server.address("storm"),
                folder=folder,
                kills=size.server_kills,
                seed=self.seed,
                patience=0.5,
                nemesis=crashes,
            )
            outcome = of_storm("postgres storm", storm.storm(stormy))
            outcome.tried += f"; {crashes.count} crashes of the server"
            plan = race.Plan(
                address=server.address("race"),
                folder=self.folder("postgres-race"),
                processes=size.server_processes,
                attempts=size.server_attempts,
                limit=size.server_attempts // 10,
            )
            return [outcome, of_race("postgres race", race.race(plan))]


@dataclass(slots=True)
class _Crashes:
    """Crashes the server after every so many kills."""

    server: PostgresServer
    every: int
    count: int = 0

    def __call__(self, kills: int) -> None:
        if kills >= self.every * (self.count + 1):
            self.count += 1
            self.server.crash()
            self.server.start()


PARTS: dict[str, Callable[[Trial], list[Outcome]]] = {
    "storm": Trial.storm,
    "race": Trial.race,
    "power": Trial.power,
    "postgres": Trial.postgres,
}


def main() -> int:
    """Try everything, print what came of it, and return the exit status."""
    options = _options()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="discreet-chaos-") as folder:
        trial = Trial(QUICK if options.quick else FULL, options.seed, Path(folder))
        for name in options.parts or PARTS:
            print(f"{name} ...", end="", file=sys.stderr, flush=True)
            outcomes += PARTS[name](trial)
            print(f"\r{' ' * (len(name) + 4)}\r", end="", file=sys.stderr, flush=True)
    rows = [
        [one.name, "PASS" if not one.wrong else "FAIL", str(len(one.wrong)), f"{one.seconds:.1f} s"]
        for one in outcomes
    ]
    print(aligned(["", "", "violations", "time"], rows))
    for one in outcomes:
        print(f"\n{one.name}: {one.tried}")
        for text in one.wrong[:SHOWN]:
            print(f"  {text}")
    if options.json:
        content = {
            "machine": machine(),
            "seed": options.seed,
            "outcomes": list(map(asdict, outcomes)),
        }
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return int(any(one.wrong for one in outcomes))


def _options() -> Namespace:
    parser = ArgumentParser(prog="./run chaos ledger", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="some of the parts only")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--seed", type=int, default=0, help="of all choices that are made here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NoTrace, NoServer) as failure:
        sys.exit(f"chaos ledger: {failure}")
