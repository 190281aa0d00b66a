"""What takes much memory, each in a process of its own: tall tables, and many queries.

``python -m benchmarks.rows.synthetic_large WORK`` does one of them and prints a line of JSON.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from benchmarks.measure import ROOT
from benchmarks.peers.environment import PeersUnavailable
from benchmarks.rows.public_tables import adult_file
from benchmarks.rows.synthetic import PATIENCE
from benchmarks.rows.synthetic_queries import adult, faithful, twin, upgraded, wide
from benchmarks.rows.synthetic_tables import CodedTable
from benchmarks.time_limits import TookTooLong, within

TALL_ROWS: Final = 10_000_000
TALL_SIZES: Final = (2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 10, 10)
CHUNK: Final = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """CPU seconds, the largest number of bytes that the process held, and an error."""

    seconds: float | None = None
    peak: int | None = None
    error: float | None = None
    why: str = ""


def measured(work: str) -> Large:
    """Do some work in a process of its own; say why if nothing came of it."""
    try:
        with within(PATIENCE), tempfile.TemporaryDirectory() as folder:
            if work == "tall":
                write_tall(Path(folder) / "people.parquet")
            if work.startswith("adult"):
                shutil.copy(adult_file(), folder)
            command = [sys.executable, "-m", "benchmarks.rows.synthetic_large", work, folder]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    except (TookTooLong, PeersUnavailable, subprocess.CalledProcessError) as failure:
        return Large(why=str(failure))
    return Large(**json.loads(done.stdout))


def write_tall(path: Path, rows: int = TALL_ROWS) -> None:
    """Write a table of people of a few hidden classes, in pieces."""
    generator = np.random.default_rng(9)
    weights = generator.dirichlet(np.full(12, 0.8))
    ends = [
        np.cumsum(generator.dirichlet(np.full(size, 0.25), size=12), axis=1) for size in TALL_SIZES
    ]
    names = CodedTable(np.zeros((0, len(TALL_SIZES)), np.uint8), TALL_SIZES).names
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            kinds = generator.choice(12, count, p=weights)
            columns = [
                (generator.random((count, 1)) > end[kinds][:, :-1]).sum(axis=1) for end in ends
            ]
            writer.write_table(pa.table(columns, schema=schema))


def tall(folder: Path) -> float | None:
    """Make a synthetic table of ten million rows and fifteen columns, by MST."""
    empty = CodedTable(np.zeros((0, len(TALL_SIZES)), np.uint8), TALL_SIZES)
    with dp.open(
        {"people": folder / "people.parquet"}, policy=empty.policy, ledger=folder / "tall.ledger"
    ) as session:
        plan = dp.plan_synthesis(
            session, "people", method=dp.synthetic.MST(), epsilon="1", delta="1e-9"
        )
        release = dp.synthesize(session, plan)
        release.table(1000)
    return None


def as_published(folder: Path) -> float:  # noqa: ARG001  nothing is read
    """Play DualQuery as it was published, on 500,000 conjunctions."""
    return faithful(twin()).largest


def as_upgraded(folder: Path) -> float:  # noqa: ARG001  nothing is read
    """Play DualQuery with one value a column and our settings, on the same conjunctions."""
    return upgraded(twin()).largest


def as_published_on_adult(folder: Path) -> float:
    """Play DualQuery as it was published, on the table that its paper reports on."""
    return faithful(adult(folder / "adult.data")).largest


def as_upgraded_on_adult(folder: Path) -> float:
    """Play DualQuery with one value a column and our settings, on the same table."""
    return upgraded(adult(folder / "adult.data")).largest


def on_wide_rows(folder: Path) -> float:  # noqa: ARG001  nothing is read
    """Play DualQuery on rows of half a million bits."""
    return wide().largest


LARGE: Final = {
    "tall": tall,
    "faithful": as_published,
    "upgraded": as_upgraded,
    "adult, faithful": as_published_on_adult,
    "adult, upgraded": as_upgraded_on_adult,
    "wide": on_wide_rows,
}
"""What is done, by its name."""


def main() -> int:
    """Do one of them."""
    work, folder = sys.argv[1:]
    start = time.process_time()
    error = LARGE[work](Path(folder))
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(asdict(Large(seconds=seconds, peak=peak, error=error))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
