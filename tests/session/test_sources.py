"""Which tables a session opens, and under which names."""

from pathlib import Path

import pyarrow as pa
import pytest

from discreet.errors import WrongKind
from discreet.session.sources import named_sources

FRAME = pa.table({"a": [1]})


@pytest.mark.parametrize(
    ("source", "tables", "described", "names"),
    [
        ("visits.parquet", None, [], ["visits"]),
        (Path("deep") / "visits.csv.gz", None, [], ["visits"]),
        ("visits-2026.parquet", "visits", [], ["visits"]),
        ("visits-2026.parquet", None, ["visits"], ["visits"]),
        ("part-*.parquet", ["visits"], [], ["visits"]),
        ("wards.csv", None, ["visits", "wards"], ["wards"]),
        (FRAME, "visits", [], ["visits"]),
        (FRAME, None, ["visits"], ["visits"]),
        ({"visits": FRAME, "wards": "wards.csv"}, None, [], ["visits", "wards"]),
        ({"visits": FRAME}, "visits", [], ["visits"]),
        ("clinic.duckdb", ["visits", "wards"], [], ["visits", "wards"]),
        ("clinic.db", None, ["visits", "wards"], ["visits", "wards"]),
    ],
)
def test_tables_get_their_names(source, tables, described, names):
    assert list(named_sources(source, tables, described)) == names


@pytest.mark.parametrize(
    ("source", "tables", "described"),
    [
        (FRAME, None, []),
        (FRAME, None, ["visits", "wards"]),
        (FRAME, ["a", "b"], []),
        (FRAME, 7, []),
        (FRAME, [], []),
        (FRAME, "two words", []),
        ("part-*.parquet", None, []),
        ("bills.csv", None, ["visits", "wards"]),
        ("clinic.duckdb", None, []),
        ({}, None, []),
        ({"visits": FRAME, "VISITS": FRAME}, None, []),
        ({7: FRAME}, None, []),
        ({"visits": FRAME}, "bills", []),
    ],
)
def test_names_that_are_unclear_are_refused(source, tables, described):
    with pytest.raises(WrongKind):
        named_sources(source, tables, described)
