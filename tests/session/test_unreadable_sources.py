"""A source with something that cannot be read is refused when a session is opened, for free."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import UnreadableSource
from tests.engines.reading.cells import with_bytes

ROWS = 2001


def parquet(path, **columns):
    pq.write_table(pa.table({"patient": range(ROWS), **columns}), path)
    return path


def sources(folder):
    """Return sources in which one row of 2,001 cannot be read."""
    moments = np.zeros(ROWS, np.int64)
    moments[1000] = 2**62
    texts = [b"text"] * 1000 + [b"\xff\xfe"] + [b"text"] * 1000
    lines = [b"%d,x\n" % at for at in range(ROWS)]
    for name, line in (
        ("escaped", b'1000,"x\\"y"\n'),
        ("open", b'1000,"x\n'),
        ("bytes", b"1,\xff\n"),
    ):
        lines[1000] = line
        (folder / f"{name}.csv").write_bytes(b"patient,note\n" + b"".join(lines))
    return {
        "moment": parquet(folder / "moment.parquet", at=pa.array(moments).view(pa.timestamp("ms"))),
        "text": parquet(folder / "text.parquet", note=with_bytes(texts)),
        "frame": pa.table({"patient": range(ROWS), "note": with_bytes(texts)}),
        **{name: folder / f"{name}.csv" for name in ("escaped", "open", "bytes")},
    }


@pytest.mark.parametrize("name", ["moment", "text", "frame", "escaped", "open", "bytes"])
def test_it_is_refused_before_there_is_a_ledger(tmp_path, name):
    source = sources(tmp_path)[name]
    ledger = tmp_path / "clinic.ledger"
    with pytest.raises(UnreadableSource) as caught:
        dp.open(source, unit=dp.row(), budget=dp.Budget(epsilon=1), ledger=ledger, tables="visits")
    told = str(caught.value)
    assert caught.value.__context__ is None
    assert "1000" not in told
    assert str(ROWS) not in told
    assert not ledger.exists()


def test_packed_bytes_that_duckdb_does_not_unpack_are_refused(tmp_path):
    """Python's gzip passes over zeros behind the packed bytes, and DuckDB does not."""
    packed = gzip.compress(b"patient,note\n1,x\n2,y\n")
    for name, content in (("good", packed), ("two", packed + packed), ("bad", packed + bytes(20))):
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
    ledger = tmp_path / "clinic.ledger"
    asked = {"unit": dp.row(), "budget": dp.Budget(epsilon=1), "tables": "visits"}
    with pytest.raises(UnreadableSource, match="cannot be unpacked"):
        dp.open(tmp_path / "bad.csv.gz", ledger=ledger, **asked)
    assert not ledger.exists()
    for name in ("good", "two"):
        with dp.open(tmp_path / f"{name}.csv.gz", ledger=tmp_path / name, **asked) as session:
            session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)
