"""Clients, kills and restarts on two servers of one ledger: ``python chaos/service.py``.

Every client asks questions from one list and repeats those that get no answer.  Meanwhile workers
and servers are killed and started again, each once it has answered, so that a slow machine sees a
storm too.  At the end the ledger is read:

- no account is beyond its limit, and the chain of entries holds;
- whatever a client was told is on record, charged before it was started and stored (no free
  answer), and everybody was told the same (no changed answer);
- no question was charged twice;
- grants are linearizable: all questions have one price, so a question that is invoked after
  another one was refused is not granted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.ledger import Ledger
from discreet.service.credentials import Tokens
from discreet.service.directory import Directory
from discreet.service.site import read_site
from discreet.service.state import SecurityLog, StateStore

POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "{limit}"
[limits]
max_rows = 3
[tables.visits.columns.cost]
type = "float"
low = 0
high = 100
nullable = false
"""
SITE = """
format = 1
state = "state-{name}"
[limits]
workers = 1
tick = 0
calls_per_minute = 1000000
[datasets.clinic]
policy = "policy.toml"
data = "visits.parquet"
ledger = "clinic.ledger"
[people.ana]
roles = ["analyst"]
"""
PRICE = "0.5"
_PATIENCE = 300.0


@dataclass
class Event:
    """What one client saw of one question."""

    question: int
    invoked: float
    told: float
    status: int
    answer: str = ""
    entry: int = 0


@dataclass
class Storm:
    """What happened."""

    events: list[Event] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=lambda: {"worker": 0, "server": 0})
    problems: list[str] = field(default_factory=list)
    until: float = float("inf")
    """When clients stop, by the monotonic clock."""


class KilledServer:
    """A server that is killed and started again on the same port."""

    def __init__(self, folder: Path, name: str) -> None:
        self.site = folder / f"site-{name}.toml"
        self.site.write_text(SITE.format(name=name))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.token = _token(self.site)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        program = Path(__file__).parent / "served_site.py"
        return subprocess.Popen(
            [sys.executable, str(program), str(self.site), str(self.port)],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def wait(self, seconds: float) -> bool:
        """Wait until it answers; return whether it does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/v1/ready", timeout=10).is_success:
                    return True
            time.sleep(0.05)
        return False

    def kill(self) -> None:
        """Kill the server, which takes its workers along, and start it again."""
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def kill_worker(self) -> bool:
        """Kill one worker; the server starts another."""
        for child in children(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
                return True
        return False

    def stop(self) -> int:
        """End it gracefully, and return how it ended."""
        self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def children(process: int) -> list[int]:
    """Return the processes that any thread of a process has started, and that still run."""
    found: list[int] = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def _token(path: Path) -> str:
    """Make a token for ana, before the server runs."""
    site = read_site(path)
    log = SecurityLog(site.state / "security.log")
    store = StateStore(site.state / "state.sqlite")
    directory = Directory(site, log=log)
    caller = directory.find("ana")
    assert caller is not None  # noqa: S101  the site file names her
    token = Tokens(store, directory, log=log).make(caller, scope=caller.allowed)
    store.close()
    log.close()
    return token


def question(number: int) -> dict[str, str]:
    """Return one of many questions of the same price."""
    below = f"{number % 90}.{number // 90 + 1}"
    text = f"SELECT COUNT(*) AS n FROM visits WHERE cost < {below}"  # noqa: S608  it is ours
    return {"question": text, "epsilon": PRICE}


def ask_all(servers: list[KilledServer], storm: Storm, numbers: list[int], seed: int) -> None:
    """Ask questions, each until there is an answer or a refusal, or the storm is over."""
    draw = random.Random(seed)  # noqa: S311  when to kill
    with httpx.Client(timeout=60) as client:
        for number in numbers:
            while time.monotonic() < storm.until:
                server = draw.choice(servers)
                invoked = time.monotonic()
                try:
                    answer = client.post(
                        f"http://127.0.0.1:{server.port}/v1/datasets/clinic/queries",
                        json=question(number),
                        headers={
                            "Authorization": f"Bearer {server.token}",
                            "Idempotency-Key": f"{seed}-{number}",
                        },
                    )
                except httpx.HTTPError:
                    time.sleep(0.05)
                    continue
                event = Event(number, invoked, time.monotonic(), answer.status_code)
                if answer.status_code == 200:
                    told = answer.json()
                    event.answer, event.entry = json.dumps(told["rows"]), told["entry"]
                storm.events.append(event)
                if answer.status_code in {200, 402}:
                    break
                time.sleep(0.05)


def run(  # noqa: PLR0913
    folder: Path,
    *,
    clients: int,
    questions: int,
    granted: int,
    kills: int,
    seconds: float,
    seed: int = 0,
) -> Storm:
    """Let a storm rage, and check what is left."""
    draw = random.Random(seed)  # noqa: S311  when to kill
    costs = [float(who % 100) for who in range(400)]
    table = pa.table({"patient": list(range(400)), "cost": costs})
    pq.write_table(table, folder / "visits.parquet")
    (folder / "policy.toml").write_text(POLICY.format(limit=granted * float(PRICE)))
    storm = Storm()
    servers = [KilledServer(folder, name) for name in ("a", "b")]
    try:
        threads = []
        for number in range(clients):
            mine = draw.sample(range(questions), questions)
            arguments = (servers, storm, mine, seed + 1 + number)
            threads.append(threading.Thread(target=ask_all, args=arguments))
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(draw.uniform(0.3, 1.0) * seconds / (2 * kills))
            server = draw.choice(servers)
            if not server.wait(_PATIENCE):
                storm.problems.append("a server did not come back")
                break
            if draw.random() < 0.6 and server.kill_worker():
                storm.kills["worker"] += 1
            else:
                server.kill()
                storm.kills["server"] += 1
        storm.until = time.monotonic() + seconds / 2
        for thread in threads:
            thread.join()
    finally:
        storm.until = 0.0
        codes = [server.stop() for server in servers]
    if any(code not in {0, -signal.SIGTERM} for code in codes):
        storm.problems.append(f"a server ended with {codes}")
    check(folder, storm, granted=granted)
    return storm


def check(folder: Path, storm: Storm, *, granted: int) -> None:
    """Compare what clients saw with what is on record."""
    with Ledger.open(folder / "clinic.ledger") as ledger:
        report = ledger.verify()
        entries = list(ledger.entries())
        spent = float(ledger.left().budget.limit[0] - ledger.left().amounts[0]) / 10**24
    if not report.ok:
        storm.problems.append("the ledger does not verify")
    charges = [entry for entry in entries if entry["kind"] == "charge"]
    keys = [entry["key"] for entry in charges]
    if len(set(keys)) != len(keys):
        storm.problems.append("a question was charged twice")
    if len(charges) > granted or spent > granted * float(PRICE) + 1e-9:
        storm.problems.append(f"{len(charges)} charges where {granted} fit")
    releases = {entry["seq"]: entry["key"] for entry in entries if entry["kind"] == "release"}
    order = {
        kind: {entry["key"]: entry["seq"] for entry in reversed(entries) if entry["kind"] == kind}
        for kind in ("charge", "start")
    }
    told: dict[int, set[tuple[str, int]]] = {}
    for event in storm.events:
        if event.status != 200:
            continue
        told.setdefault(event.question, set()).add((event.answer, event.entry))
        key = releases.get(event.entry)
        if key is None or not order["charge"][key] < order["start"][key] < event.entry:
            storm.problems.append(f"question {event.question} was answered for free")
    storm.problems += [
        f"question {number} has {len(answers)} answers"
        for number, answers in told.items()
        if len(answers) != 1
    ]
    if set(told) and len({entry for each in told.values() for _, entry in each}) != len(told):
        storm.problems.append("two questions share an answer")
    check_grants(storm)
    odd = {event.status for event in storm.events} - {200, 402, 503}
    if odd:
        storm.problems.append(f"clients were told {sorted(odd)}")


def check_grants(storm: Storm) -> None:
    """Refuse histories in which a question is granted after one of the same price was refused."""
    refused = min((e.told for e in storm.events if e.status == 402), default=float("inf"))
    first: dict[int, float] = {}
    for event in storm.events:
        first[event.question] = min(first.get(event.question, float("inf")), event.invoked)
    late = {e.question for e in storm.events if e.status == 200 and first[e.question] > refused}
    storm.problems += [f"question {number} was granted after a refusal" for number in sorted(late)]


def main() -> None:
    """Run a storm, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--granted", type=int, default=80)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        storm = run(Path(folder), **vars(given))
    seen = {status: sum(e.status == status for e in storm.events) for status in (200, 402, 503)}
    print(f"told {seen}; killed {storm.kills}; problems {storm.problems or 'none'}")
    sys.exit(1 if storm.problems else 0)


if __name__ == "__main__":
    main()
