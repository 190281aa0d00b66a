"""Statistics of Parquet files: what is not true of the cells changes no answer."""

import math
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp

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
