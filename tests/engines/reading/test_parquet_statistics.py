"""Statistics of Parquet files: what is not true of the cells changes no answer."""

import math
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import Connection
from discreet.engines.engine import Performance

POLICY = """
format = 1
unit = "{unit}"
[limits]
max_rows = 1
max_groups = 1
[tables.visits.columns]
patient = {{ type = "integer" }}
born = {{ type = "integer", constant = true }}
cost = {{ type = "{kind}", low = 0, high = 900 }}
"""
ROWS = 4000
PRICE = 10**5
"""So high that there is hardly any noise."""


def visits(path, costs, **options):
    """Write visits whose statistics are those of their cells."""
    table = pa.table(
        {
            "patient": list(range(len(costs))),
            "born": [1900 + row % 50 for row in range(len(costs))],
            "cost": costs,
        }
    )
    pq.write_table(table, path, compression="none", use_dictionary=False, **options)


def with_bytes(path, old, new):
    """Exchange bytes of a page, each time that they occur, and leave the statistics."""
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def asked(path, tmp_path, text, *, unit, kind="integer"):
    """Return one number, nearly without noise."""
    with dp.open(
        {"visits": path},
        policy=POLICY.format(unit=unit, kind=kind),
        budget=dp.Budget(epsilon=3 * PRICE),
        ledger=tmp_path / "ledger",
    ) as clinic:
        (row,) = clinic.ask(text, epsilon=PRICE, confirm=True).rows()
        return row["n"]


UNITS = pytest.mark.parametrize("unit", ["row", "patient"])


@UNITS
@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(cost) AS n FROM visits",
        "SELECT SUM(cost) AS n FROM visits WHERE cost <= 900",
        "SELECT COUNT(*) AS n FROM visits WHERE cost <= 900",
        "SELECT COUNT(cost) AS n FROM visits",
    ],
)
def test_a_number_that_is_none_is_no_cost_and_leaves_no_trace_in_statistics(tmp_path, text, unit):
    costs = [math.nan if row % 8 == 0 else float(1 + row % 90) for row in range(ROWS)]
    numbers = [cost for cost in costs if not math.isnan(cost)]
    path = tmp_path / "visits.parquet"
    visits(path, costs)
    kept = pq.ParquetFile(path).metadata.row_group(0).column(2).statistics
    assert (kept.min, kept.max) == (1, 90)
    answer = asked(path, tmp_path, text, unit=unit, kind="float")
    assert answer == pytest.approx(sum(numbers) if "SUM" in text else len(numbers), abs=2)


@UNITS
@pytest.mark.parametrize(
    ("kind", "form", "huge"),
    [(pa.int64(), "<q", 2**40), (pa.int32(), "<i", 2**30), (pa.float64(), "<d", 1e200)],
)
def test_a_damaged_page_lets_nobody_count_for_more_than_the_bounds(
    tmp_path, unit, kind, form, huge
):
    costs = [row % 900 for row in range(900)]
    path = tmp_path / "visits.parquet"
    visits(path, pa.array(costs, kind))
    with_bytes(
        path,
        b"".join(struct.pack(form, value) for value in (6, 7, 8)),
        b"".join(struct.pack(form, value) for value in (6, huge, 8)),
    )
    assert pq.read_table(path)["cost"][7].as_py() == huge
    kind_name = "float" if kind == pa.float64() else "integer"
    text = "SELECT SUM(cost) AS n FROM visits"
    answer = asked(path, tmp_path, text, unit=unit, kind=kind_name)
    assert answer == pytest.approx(sum(costs) - 7 + 900, abs=2)


def test_a_damaged_page_brings_nobody_into_a_scope(tmp_path):
    path = tmp_path / "visits.parquet"
    visits(path, [1] * 400)
    with_bytes(path, struct.pack("<qq", 1948, 1949), struct.pack("<qq", 1948, 1997))
    text = "SELECT COUNT(*) AS n FROM visits WHERE born < 1950"
    assert asked(path, tmp_path, text, unit="patient") == 392


@pytest.mark.parametrize(("cost", "count"), [("= 7", 2), ("> 500", 399), ("< 5", 5)])
def test_a_filter_finds_cells_that_the_statistics_of_their_group_lack(tmp_path, cost, count):
    path = tmp_path / "visits.parquet"
    visits(path, pa.array(range(901), pa.int64()), row_group_size=300)
    with_bytes(path, struct.pack("<qq", 700, 701), struct.pack("<qq", 7, 701))  # within the table
    text = f"SELECT COUNT(*) AS n FROM visits WHERE cost {cost}"  # noqa: S608 (see above)
    assert asked(path, tmp_path, text, unit="row") == count


def uses_statistics(path):
    """Say whether a connection uses statistics."""
    connection = Connection({"visits": path}, Performance())
    try:
        statement = "SELECT current_setting('disabled_optimizers') AS without"
        return not connection.fetch(statement)["without"][0].as_py()
    finally:
        connection.close()


def test_statistics_are_used_where_they_hold(tmp_path):
    path = tmp_path / "visits.parquet"
    visits(path, [None if row % 7 == 0 else row for row in range(1000)], row_group_size=300)
    assert uses_statistics(path)
    visits(path, [1.0, 2.0, math.nan])
    assert not uses_statistics(path)


def test_statistics_are_not_used_where_groups_of_rows_are_not_alike(tmp_path):
    path = tmp_path / "visits.parquet"
    table = pa.table({"cost": list(range(10))})
    with pq.ParquetWriter(path, table.schema) as writer:
        for rows in (table[:3], table[:5], table[:3]):
            writer.write_table(rows)
    assert not uses_statistics(path)


def test_a_wrong_number_of_nulls_is_noticed(tmp_path):
    path = tmp_path / "visits.parquet"
    table = pa.table({"cost": pa.array([1, None, 3, None], pa.int64())})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    assert uses_statistics(path)
    data = path.read_bytes()
    field = b"\x16\x04\x28"  # the number of NULLs, 2, before the greatest value
    assert data.count(field) >= 1
    path.write_bytes(data.replace(field, b"\x16\x00\x28"))
    assert pq.read_table(path)["cost"].null_count == 2
    assert not uses_statistics(path)
