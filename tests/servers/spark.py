"""Spark for the tests: sessions, a cluster and a Connect server that never stay behind.

``local_session()`` is one classic session for a whole process, with two threads and a small heap.
``StandaloneCluster`` is a master with two workers on the loopback address, started from the classes
that pyspark brings along; its executors can be killed.  ``ConnectServer`` is a server for sessions
that have no Java of their own.  A process has one classic session or none, so whoever asks the
cluster or the Connect server is a process of its own, with ``cluster_session`` or
``connect_session``.

No process and no folder outlives the tests, however they end: the Java of a session ends with the
pipe that its Python holds, and a guard waits for the end of a pipe that only this process holds,
and then kills the others and removes the folder.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self
from unittest import mock

from tests.servers.java import java_home

ROOT = Path(__file__).parents[2]
TREE = os.pathsep.join([str(ROOT), str(ROOT / "src")])  # what workers import is this tree
LOOPBACK, OTHER_LOOPBACK = "127.0.0.1", "127.0.0.2"  # a task is doubled on another host only
PATIENCE = 120  # seconds until something that was started must run, on a busy machine
SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"  # starts in half the time
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
SETTINGS = {
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.extraJavaOptions": SMALL_JAVA,
    "spark.driver.host": LOOPBACK,
    "spark.driver.memory": "1g",
    "spark.executor.extraJavaOptions": SMALL_JAVA,
    "spark.executorEnv.PYTHONPATH": TREE,
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
CLOSED = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "a-secret-of-the-tests",
    "spark.io.encryption.enabled": "true",
    "spark.io.encryption.keySizeBits": "256",
    "spark.network.crypto.enabled": "true",
}
"""What docs/guide/scale.md tells the owner of a cluster to set."""
GUARD = """
read -r group
cat >/dev/null
[ "$group" ] && kill -s KILL -- "-$group" 2>/dev/null
for _ in 1 2 3 4 5; do rm -rf "$1" 2>/dev/null && break; sleep 0.5; done
"""


class NoSpark(RuntimeError):
    """Something of Spark did not start."""


# --- sessions ---------------------------------------------------------------------------------


@cache
def local_session(log_level: str = "OFF") -> Any:
    """Return the classic session of this process; Java starts with the first call."""
    scratch = Scratch()
    settings = {**SETTINGS, "spark.log.level": log_level}
    return _classic("local[2]", settings, scratch)


def cluster_session(address: str, **settings: str) -> Any:
    """Return a classic session on a cluster, for a process that has no other one."""
    few = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2"}
    return _classic(address, {**SETTINGS, **CLOSED, **few, **settings}, Scratch())


def connect_session(address: str) -> Any:
    """Return a session on a Connect server, for a process that has no classic one."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  takes its time, and few tests need it

    session = SparkSession.builder.remote(address).getOrCreate()
    atexit.register(session.stop)
    return session


def _classic(master: str, settings: Mapping[str, str], scratch: Scratch) -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415  takes its time, and few tests need it

    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in {**settings, **scratch.settings}.items():
        builder = builder.config(name, value)
    with mock.patch.dict(os.environ, environment(scratch.folder)), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about versions of pandas
        session = builder.getOrCreate()
    atexit.register(_end, session, scratch)
    return session


def _end(session: Any, scratch: Scratch) -> None:
    """Stop a classic session, wait for its Java, and remove its files."""
    java = session.sparkContext._gateway.proc
    session.stop()
    java.stdin.close()
    java.wait(PATIENCE)
    scratch.close()


def environment(folder: Path) -> dict[str, str]:
    """Return what programs of Spark must know of their surroundings, and no more."""
    empty = folder / "conf"
    empty.mkdir(exist_ok=True)
    return {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": TREE,
        "SPARK_CONF_DIR": str(empty),
        "SPARK_HOME": str(_spark_home()),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_NO_DAEMONIZE": "1",
    }


def _spark_home() -> Path:
    import pyspark  # noqa: PLC0415  takes its time, and few tests need it

    return Path(pyspark.__file__).parent


class Scratch:
    """A temporary folder with a guard, which also ends a group of processes."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # an interrupt from the keyboard is for the tests alone
            text=True,
        )

    @property
    def settings(self) -> dict[str, str]:
        """Where a session puts its files."""
        return {
            "spark.local.dir": str(self.folder / "local"),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
        }

    def guards(self, group: int) -> None:
        """Take charge of a group of processes."""
        self._guard.stdin.write(f"{group}\n")
        self._guard.stdin.flush()

    def close(self) -> None:
        """End the processes, and remove the folder."""
        if self._guard.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self._guard.communicate(timeout=PATIENCE)


# --- servers ----------------------------------------------------------------------------------


class Servers:
    """Programs of Spark in one group of processes, each with a log of its own."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self.folder = self.scratch.folder
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    def _start_all(self) -> None:
        raise NotImplementedError

    def _program(self) -> str:
        return str(_spark_home() / "bin" / "spark-class")

    def _start(self, name: str, *command: str, **more: str) -> None:
        first = next(iter(self._programs.values()), None)
        known = {name: value for name, value in os.environ.items() if "SPARK" not in name}
        with (self.folder / f"{name}.log").open("wb") as log:
            self._programs[name] = subprocess.Popen(
                [self._program(), *command],
                env={**known, **environment(self.folder), **more},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0 if first is None else first.pid,
            )
        if first is None:
            self.scratch.guards(self._programs[name].pid)

    def _awaited(self, name: str, pattern: str) -> str:
        """Wait until a program says something, and return what it says."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            text = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
            if found := re.search(pattern, text):
                return found[1]
            if self._programs[name].poll() is not None:
                break
            time.sleep(0.05)
        message = f"the {name} of Spark did not start:\n{text}"
        raise NoSpark(message)

    def processes(self) -> list[tuple[int, str]]:
        """Return the numbers and commands of all processes that run now."""
        return list(_group(next(iter(self._programs.values())).pid))

    def logs(self) -> str:
        """Return what all programs have written, executors too."""
        files = [*self.folder.glob("*.log"), *self.folder.glob("work/**/std*")]
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)

    def close(self) -> None:
        """End all programs, and remove the folder."""
        self.scratch.close()
        for program in self._programs.values():
            program.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StandaloneCluster(Servers):
    """A master and two workers, each with one core; ``address`` is that of the master.

    They speak with those who know the secret alone, and encrypt what they say and keep.
    """

    def _start_all(self) -> None:
        small = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SMALL_JAVA}
        closed = self.folder / "closed.conf"
        closed.write_text("".join(f"{name} {value}\n" for name, value in CLOSED.items()))
        place = ("--properties-file", str(closed), "--port", "0", "--webui-port", "0", "--host")
        self._start("master", "org.apache.spark.deploy.master.Master", *place, LOOPBACK, **small)
        self.address = self._awaited("master", r"Starting Spark master at (spark://\S+)")
        share = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / "work"))
        workers = {"worker-1": LOOPBACK, "worker-2": OTHER_LOOPBACK}
        for name, host in workers.items():
            program = "org.apache.spark.deploy.worker.Worker"
            own = {**small, "SPARK_LOCAL_IP": host}
            self._start(name, program, *place, host, *share, self.address, **own)
        for name in workers:
            self._awaited(name, r"(Successfully registered) with master")

    def executors(self) -> list[int]:
        """Return the numbers of the processes that run tasks now."""
        return [process for process, command in self.processes() if EXECUTOR in command]

    def kill_executor(self) -> int:
        """Kill a process that runs tasks, at once, and return its number."""
        first = min(self.executors())
        os.kill(first, signal.SIGKILL)
        return first


class ConnectServer(Servers):
    """A server with two threads; ``address`` is what sessions connect to."""

    def _start_all(self) -> None:
        settings = {**SETTINGS, **self.scratch.settings, "spark.connect.grpc.binding.port": "0"}
        settings["spark.connect.grpc.binding.address"] = LOOPBACK
        options = [f"--conf={name}={value}" for name, value in settings.items()]
        program = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
        submit = ("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]")
        self._start("connect", *submit, *options, *program, "spark-internal")
        place = self._awaited("connect", r"Spark Connect server started at: \S*:(\d+)")
        self.address = f"sc://{LOOPBACK}:{place}"


def _group(group: int) -> Iterator[tuple[int, str]]:
    """Yield the processes of a group, each with its command."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                yield int(folder.name), (folder / "cmdline").read_text().replace("\0", " ")
