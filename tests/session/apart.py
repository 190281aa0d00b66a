"""An engine that keeps groups apart, without Spark: its tasks are calls, divided up at will."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np
import pyarrow as pa

from discreet.engines.spark import bin_writer as writing
from discreet.engines.spark import workers as writers
from discreet.engines.spark.statements import limb_names
from discreet.requests.engine_request import Total

MASK = 2**42 - 1


def limbs_of(values):
    """Return the three limbs of 64-bit numbers."""
    exact = np.asarray(values, np.int64)
    return exact & MASK, (exact >> 42) & MASK, exact >> 63


def groups_of(raw, lowered):
    """Return the table that an engine would leave where it is."""
    columns = {f"k{at}": key for at, key in enumerate(raw.keys)}
    columns["units"] = pa.array(raw.units)
    sums = [each.name for each in lowered.measures if isinstance(each, Total)]
    for at, name in enumerate(sums):
        for column, limb in zip(limb_names(at), limbs_of(raw.totals[name]), strict=True):
            columns[column] = pa.array(limb)
    return pa.table(columns)


def with_bins(table, keys, bins):
    """Put groups into bins, by any hash of their keys."""
    rows = zip(*(table.column(f"k{at}").to_pylist() for at in range(keys)), strict=True)
    places = [crc32(repr(row).encode()) % bins for row in rows]
    return table.append_column(writing.BIN, pa.array(places, pa.int64()))


def batches_of(table, bins, tasks, size=7):
    """Divide whole bins among tasks; rows come bin after bin, otherwise in any order."""
    shuffled = table.take(np.random.default_rng(tasks).permutation(table.num_rows))
    for task in range(tasks):
        mine = np.flatnonzero(shuffled.column(writing.BIN).to_numpy() % tasks == task)
        part = shuffled.take(mine).sort_by(writing.BIN).combine_chunks()
        yield part.to_batches(max_chunksize=size)


@dataclass
class Apart:
    """Another engine, whose groups stay apart."""

    engine: object
    tasks: int = 3
    bins: int = 8
    before: Callable = field(default=lambda *_: None)

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def run(self, lowered, *, order):
        message = "all groups came to one machine"
        raise AssertionError(message)

    def groups(self, lowered, *, order):
        return Groups(self, lowered, order)

    def run_monitored(self, action):
        return action()


@dataclass
class Groups:
    """Groups that nobody has looked at yet."""

    engine: Apart
    lowered: object
    order: object
    sparkSession: object = None  # noqa: N815  (as Spark says)

    def table(self):
        raw = self.engine.engine.run(self.lowered, order=self.order)
        return groups_of(raw, self.lowered)


@dataclass
class Job:
    """What Spark would do, in this process."""

    groups: Groups
    lowered: object
    finish: Callable
    folder: object

    def collect(self):
        engine = self.groups.engine
        binned = with_bins(self.groups.table(), len(self.lowered.keys), engine.bins)
        found = []
        for batches in batches_of(binned, engine.bins, engine.tasks):
            engine.before(self)
            reports = writing.finish_bins(
                batches,
                request=self.lowered,
                finish=self.finish,
                folder=self.folder,
                drawn_by=writers.package(),
            )
            found += [row for report in reports for row in report.to_pylist()]
        return found


def without_spark(monkeypatch):
    """Let jobs run in this process."""

    def job(groups, lowered, *, bins, finish, folder):
        return Job(groups, lowered, finish, folder)

    monkeypatch.setattr(writing, "_job", job)
    monkeypatch.setattr(writers, "check_writers", lambda session, watched: None)


def kept_apart(session, **options):
    """Give a session an engine that keeps groups apart."""
    engine = Apart(session._engine, **options)
    session._pipeline = replace(session._pipeline, engine=engine)
    return engine
