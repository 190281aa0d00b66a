"""The Spark of ``benchmarks/spark.py``: two threads, and the same settings for everybody."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.environment import Peers
from benchmarks.process_tree import tree_seconds
from tests.servers.java import java_home

SETTINGS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def _surroundings() -> dict[str, str]:
    return {"JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def spark_session(folder: Path) -> Iterator[Any]:
    """Start Spark with its files in a folder, and stop it with its Java."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  after the options have been read

    os.environ |= {**_surroundings(), "PYSPARK_PYTHON": sys.executable}
    places = {"spark.local.dir": folder / "local", "spark.sql.warehouse.dir": folder / "warehouse"}
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for name, value in {**SETTINGS, **places}.items():
        builder = builder.config(name, str(value))
    session: Any = builder.getOrCreate()
    java = session.sparkContext._gateway.proc  # noqa: SLF001  (nothing else waits for its end)
    try:
        yield session
    finally:
        session.stop()
        java.stdin.close()
        java.wait()


class Watched(Peers):
    """Another library on a Spark of its own, whose CPU time is taken from outside."""

    def __init__(self, name: str) -> None:
        """Start the process and its Spark."""
        os.environ |= _surroundings()
        super().__init__(name)
        self.ask(**SETTINGS)

    @property
    def process(self) -> int:
        """The number of the process that all others of it are below."""
        return self._process.pid

    def ask(self, **request: object) -> dict[str, Any]:
        """Send one request; the answer also says how many CPU seconds it took."""
        before = tree_seconds(self.process)
        answer = super().ask(**request)
        return {**answer, "seconds": tree_seconds(self.process) - before}
