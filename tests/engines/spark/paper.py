"""Spark on paper: tables are divided, tasks run and rows are added up in this process."""

from collections import defaultdict

import pyarrow as pa

from discreet.engines.spark import task
from discreet.engines.spark.aggregation import raw_answer
from discreet.engines.spark.data_frames import SparkSource
from discreet.engines.spark.jobs import JobBuilder
from discreet.engines.spark.partitioning import check_shape
from discreet.engines.spark.statements import GROUP, SEEN
from discreet.query.relations import folded
from discreet.requests.table_schema import ColumnFacts, Schema, TableFacts
from tests.engines.edges import arrow_table
from tests.engines.questions import EVENTS, TYPES, WARDS

NATIVES = {
    "INTEGER": "BIGINT",
    "FLOAT": "DOUBLE",
    "TEXT": "VARCHAR",
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
}


def facts(name, types, **more):
    """Return a table whose columns have their own types, and no facts."""
    columns = tuple(ColumnFacts(name=column, type=kind) for column, kind in types.items())
    return TableFacts(name=name, columns=columns, **more)


SCHEMA = Schema([facts("events", EVENTS, unit=("u",)), facts("wards", WARDS, public=True)])
BY_ROW = Schema([facts("events", EVENTS), facts("wards", WARDS, public=True)])


def prepared(lowered, order, rows, rows_at_once=7):
    """Prepare a question about random tables, without any Spark."""
    schema = SCHEMA if lowered.unit else BY_ROW
    check_shape(lowered, schema)
    natives = {name: NATIVES[kind.value] for name, kind in EVENTS.items()}

    def public(scan):
        whole = arrow_table(rows[scan.table], TYPES[scan.table])
        if not scan.columns:  # rows that are only counted
            return pa.table({"one": pa.array([1] * whole.num_rows)})
        return whole.select([name for name, _ in scan.columns])

    return (
        JobBuilder(
            schema=schema,
            sources={"events": SparkSource(None, natives, stamp=None)},
            public=public,
            memory="1GB",
            rows=rows_at_once,
        )
        .build(lowered, portable=order.portable)
        .with_salt(order.salt)
    )


def batches(rows, found, parts):
    """Return one batch of rows for each task, where a function gives the part of a row."""
    (table,) = found.tables
    names = list(EVENTS)
    by_task = defaultdict(list)
    for row in rows:
        if not found.bounding.unit or row["u"] is not None:
            by_task[parts(row)].append(row)
    for part, own in sorted(by_task.items()):
        whole = arrow_table(own, EVENTS)
        sent = {f"t0c{place}": whole.column(names[place]) for place in table.columns_sent}
        numbers = {task.PART: pa.array([part] * len(own), pa.int32())}
        yield pa.table({**numbers, **sent}).combine_chunks().to_batches()


def added(rows):
    """Add rows up as Spark does, and check what it checks."""
    seen, sums, values = set(), {}, set()
    for row in rows:
        kind, leaf, value = row.pop("kind"), row.pop("leaf"), row.pop("value")
        keys = tuple(row[name] for name in row if name.startswith("k"))
        if kind == SEEN:
            assert leaf not in seen
            seen.add(leaf)
            continue
        place = (kind, leaf, keys)
        if value is not None and (place, value) in values:
            continue
        values.add((place, value))
        counts = {name: count for name, count in row.items() if not name.startswith("k")}
        before = sums.setdefault(place, dict.fromkeys(counts, 0))
        sums[place] = {name: count + before[name] for name, count in counts.items()}
        assert all(abs(count) < 2**62 for count in sums[place].values())
    return sums


def run(lowered, rows, order, parts):
    """Answer on paper."""
    found = prepared(lowered, order, rows)
    work = task.by_unit if lowered.unit else task.by_row
    told = []
    for own in batches(rows["events"], found, parts):
        for batch in work(own, found.job):
            told += batch.to_pylist()
    sums = added(told)
    names = [name for name in found.job["schema"].names if name != "value"]
    columns = {name: [] for name in names}
    for (kind, leaf, keys), counts in sums.items():
        whole = {"kind": kind, "leaf": leaf, **counts}
        whole |= {f"k{index}": value for index, value in enumerate(keys)}
        for name in names:
            columns[name].append(whole[name])
    schema = found.job["schema"]
    table = pa.table({name: pa.array(columns[name], schema.field(name).type) for name in names})
    return raw_answer(table, found.bounding)


__all__ = ["BY_ROW", "GROUP", "SCHEMA", "added", "batches", "facts", "folded", "prepared", "run"]
