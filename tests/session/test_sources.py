"""Which tables a session opens, and under which names."""

from pathlib import Path

import pyarrow as pa
import pytest

from discreet.engines.postgres.address import address_of
from discreet.errors import WrongKind
from discreet.session.opening_arguments import named_sources, without_password

FRAME = pa.table({"a": [1]})
SERVER = "postgresql://ana:secret@db.example/clinic"


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
        (f"{SERVER}/visits?sslrootcert=ca.db", None, ["visits", "wards"], ["visits"]),
        (f"{SERVER}/visits", None, [], ["visits"]),
        (f"{SERVER}/flu.visits", None, [], ["visits"]),
        (f"{SERVER}/visits-2026", "visits", [], ["visits"]),
        (f"{SERVER}/visits-2026", None, ["visits"], ["visits"]),
        (f"{SERVER}/wards", None, ["visits", "wards"], ["wards"]),
        (SERVER, ["visits", "flu.wards"], [], ["visits", "wards"]),
        (SERVER, "visits", [], ["visits"]),
        (SERVER, None, ["visits", "wards"], ["visits", "wards"]),
        (address_of(f"{SERVER}/visits"), None, [], ["visits"]),
        ({"visits": f"{SERVER}/a", "wards": FRAME}, None, [], ["visits", "wards"]),
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
        ("bills.csv", None, ["visits", "wards"]),
        ("clinic.duckdb", None, []),
        (SERVER, None, []),
        (SERVER, ["a.visits", "b.visits"], []),
        (SERVER, ["a.b.visits"], []),
        (f"{SERVER}/visits", ["visits", "wards"], []),
        (f"{SERVER}/visits-2026", None, []),
        (f"{SERVER}/a%2Fvisits", None, []),
        (f"{SERVER}/bills", None, ["visits", "wards"]),
        ({}, None, []),
        ({"visits": FRAME, "VISITS": FRAME}, None, []),
        ({7: FRAME}, None, []),
        ({"visits": FRAME}, "bills", []),
        (f"{SERVER}/flu.db", None, ["visits", "wards"]),
    ],
)
def test_names_that_are_unclear_are_refused(source, tables, described):
    with pytest.raises(WrongKind):
        named_sources(source, tables, described)


def test_tables_of_a_server_keep_their_addresses():
    found = named_sources(f"{SERVER}?port=1", ["visits", "flu.wards"], [])
    assert [each.sql for each in found.values()] == ['"public"."visits"', '"flu"."wards"']
    assert all(each.uri.startswith(f"{SERVER}?port=1&") for each in found.values())
    assert "secret" not in str(found)


def test_a_password_is_not_written_down():
    address = f"{SERVER}/visits?Password=secret&sslmode=require&sslpassword=secret"
    shown = "postgresql://ana@db.example/clinic/visits?sslmode=require"
    assert without_password(address) == shown
    assert without_password(f"{SERVER}/visits") == "postgresql://ana@db.example/clinic/visits"
    assert without_password("visits.csv") == "visits.csv"
