"""What ``benchmarks/service.py`` measures: charges from processes, answers over HTTP, starting.

Charges come from processes that are forked before anything is open, each with a connection of its
own: to the one writer (shared), or to the file itself (each alone).
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from chaos.service import KilledServer, children
from discreet.accounting import Budget
from discreet.ledger import Ledger
from discreet.loss import Pure
from discreet.service.workers.writer import WriterSocket, shared_ledger
from discreet.session import Session
from discreet.units import row

SHARED, ALONE = "one writer", "each alone"
PRICE = Pure(epsilon="1e-9")
POLICY = """
format = 1
unit = "patient"
[budget]
epsilon = "100000"
[limits]
max_rows = 3
[tables.visits.columns.cost]
type = "float"
low = 0
high = 100
nullable = false
"""


def charges(kind: str, clients: int, seconds: float, folder: Path) -> dict[str, float]:
    """Return how many charges a second so many processes get, and how long one takes."""
    path, socket = folder / "ledger", folder / "writer.sock"
    context = multiprocessing.get_context("fork")
    ready, go = context.Barrier(clients + 1), context.Event()
    results: Any = context.Queue()
    if not path.exists():
        Ledger.open(path, unit=row(), budget=Budget(epsilon=1)).close()
    processes = [
        context.Process(
            target=_charge, args=(kind, path, socket, f"{kind} {n}", seconds, ready, go, results)
        )
        for n in range(clients)
    ]
    server = context.Process(target=_write, args=(path, socket, go))
    if kind == SHARED:
        server.start()
        while not socket.exists():
            time.sleep(0.01)
    for process in processes:
        process.start()
    ready.wait()
    waits = [wait for _ in processes for wait in results.get()]
    go.set()
    for process in processes:
        process.join()
    if kind == SHARED:
        server.join()
    return _figures(waits, seconds)


def _write(path: Path, socket: Path, go: Any) -> None:
    ledger = Ledger.open(path)
    writer = WriterSocket(ledger, socket)
    go.wait()
    writer.close()
    ledger.close()


def _charge(  # noqa: PLR0913, PLR0917
    kind: str, path: Path, socket: Path, name: str, seconds: float, ready: Any, go: Any, out: Any
) -> None:
    ledger = shared_ledger(path, socket) if kind == SHARED else Ledger.open(path)
    waits: list[float] = []
    ready.wait()
    end, number = time.monotonic() + seconds, 0
    while (begun := time.monotonic()) < end:
        ledger.charge(PRICE, key=f"{name} {os.getpid()} {number}")
        waits.append(time.monotonic() - begun)
        number += 1
    out.put(waits)
    go.wait()
    ledger.close()


def _figures(waits: list[float], seconds: float) -> dict[str, float]:
    parts = quantiles(waits, n=100) if len(waits) > 1 else [waits[0]] * 99
    return {"per_second": len(waits) / seconds, "p50": parts[49], "p99": parts[98]}


def question(client: int, number: int) -> str:
    """Return a question that nobody has asked before."""
    below = f"{client}.{number + 1:06d}"
    return f"SELECT COUNT(*) AS n FROM visits WHERE cost < {below}"  # noqa: S608  it is ours


def data(folder: Path) -> None:
    """Write a table and its policy."""
    people = list(range(2000))
    table = pa.table({"patient": people, "cost": [float(who % 100) for who in people]})
    pq.write_table(table, folder / "visits.parquet")
    (folder / "policy.toml").write_text(POLICY)


def answers(make: Callable[[], Any], clients: int, seconds: float, first: int) -> dict[str, float]:
    """Return how many answers a second so many threads get from sessions or connections."""
    waits: list[float] = []
    end = time.monotonic() + seconds

    def ask_on(client: int) -> None:
        number = 0
        asked = make()
        while (begun := time.monotonic()) < end:
            asked.ask(question(client, number), epsilon="0.01")
            waits.append(time.monotonic() - begun)
            number += 1

    threads = [threading.Thread(target=ask_on, args=(first + client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _figures(waits, seconds)


def directly(folder: Path) -> Session:
    """Open the same data as a session of this process."""
    return dp.open(
        {"visits": str(folder / "visits.parquet")},
        policy=folder / "policy.toml",
        ledger=folder / "direct.ledger",
    )


def served(folder: Path) -> KilledServer:
    """Start a server on the data, and wait until it has answered."""
    server = KilledServer(folder, "bench")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            connected(server).close()
        except dp.DiscreetError:
            time.sleep(0.05)
        else:
            return server
    raise TimeoutError


def connected(server: KilledServer) -> Any:
    """Connect to a server."""
    return dp.connect(f"http://127.0.0.1:{server.port}", token=server.token)


def cold_start(folder: Path) -> dict[str, float]:
    """Return the seconds from starting a server to its first reply, and to its first answer.

    The first reply is that of ``/v1/health``; the first answer is that to a question, for which a
    worker has opened the data.
    """
    begun = time.monotonic()
    server = KilledServer(folder, "cold")
    try:
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{server.port}/v1/health", timeout=5)
            except httpx.HTTPError:
                time.sleep(0.01)
            else:
                break
        wall, cpu = time.monotonic() - begun, _seconds(server.process.pid)
        connected(server).ask(question(99, 0), epsilon="0.01")
        answer = time.monotonic() - begun
        below = sum(map(_seconds, children(server.process.pid)))
        return {"wall": wall, "cpu": cpu, "answer": answer, "worker_cpu": below}
    finally:
        server.stop()


def _seconds(process: int) -> float:
    """Return the CPU time of a process until now."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
    return sum(map(int, stat.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> dict[str, float]:
    """Return the resident MiB of a process and of its children."""
    status = Path(f"/proc/{process}/status").read_text()
    below = [Path(f"/proc/{child}/status").read_text() for child in children(process)]
    return {"server": _resident(status), "workers": sum(map(_resident, below))}


def _resident(status: str) -> float:
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024
