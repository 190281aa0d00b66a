"""Programs for a cluster in trouble.

Tasks fail, take so long that another one is started beside them, or take their machine with them.
"""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.engines.spark.bin_writer import write_bins
from discreet.release.answer import KeyedBins
from discreet.requests.raw_totals import RawTotals
from tests.release.clinic import plan_of
from tests.session.apart import groups_of

COUNT = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"
CANARY = 918273645918
KEY = bytes(range(100, 132))
BINS = 8
TROUBLES = ("none", "fails", "is slow", "is killed")
SETTINGS = {
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.quantile": "0.5",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}


@dataclass(frozen=True)
class Troubled:
    """Finishes bins, and gets into trouble once: the first time that anybody finishes bin 5."""

    finish: KeyedBins
    trouble: str
    mark: str

    @property
    def bins(self):
        return self.finish.bins

    def __call__(self, raw, at):
        if at == 5 and self._first():
            match self.trouble:
                case "fails":
                    message = f"{CANARY} {raw.units.tolist()}"
                    raise ValueError(message)
                case "is killed":
                    os.kill(executor(), signal.SIGKILL)
                case "is slow":
                    time.sleep(300)
        return self.finish(raw, at)

    def _first(self):
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def executor():
    """Return the process above the one that starts Python's workers."""
    fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def many_groups():
    """Return groups of which the last has the canary for its total."""
    plan = plan_of(COUNT, epsilon=1, delta="1e-9")
    (measure,) = plan.request.measures
    units = np.append(np.arange(399) * 7 % 400, CANARY)
    names = pa.array([f"city {number}" for number in range(400)])
    raw = RawTotals(keys=(names,), units=units, totals={measure.name: units}, leaves={})
    return plan, groups_of(raw, plan.request)


def main(address, folder):
    """Write the same groups with and without trouble, and say what the files are."""
    from tests.servers.spark import cluster_session  # noqa: PLC0415  needed here only

    events = folder / "events"
    events.mkdir()
    settings = {**SETTINGS, "spark.eventLog.dir": events.as_uri()}
    session = cluster_session(address, **settings)
    plan, table = many_groups()
    finish = KeyedBins(plan=plan, key=KEY, bins=BINS)
    found = {}
    for trouble in TROUBLES:
        target = folder / trouble
        target.mkdir()
        mark = folder / f"{trouble}.mark"
        files = write_bins(
            session.createDataFrame(table).repartition(4),
            plan.request,
            bins=BINS,
            finish=Troubled(finish, trouble, str(mark)),
            folder=target,
        )
        found[trouble] = [[file.name, file.rows, file.digest] for file in files]
        assert mark.exists()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
