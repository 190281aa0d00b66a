"""A byte of a CSV file concerns its own record, or the whole file is refused when it is opened."""

import gzip
import random
import time

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Performance
from discreet.engines.sources.csv_structure import CHUNK, LONGEST_RECORD, CsvStructure
from discreet.errors import UnreadableSource
from discreet.query.relations import Scan
from discreet.query.types import Type
from tests.engines.reading.csv_oracle import records, rows

printed = DUCKDB.printed

ONE = Performance(threads=1)
HEADER = b"a,b,c\n"
BODY = (
    b'1,x,ab\n2,"y,z","q"\n3,"two\nlines",\n4,"say ""hi""","\r\n"\r\n5,,"""q"""\n'
    b'6,\xc3\xa9,"\xc3\xa9"\n7,"","z\\"\n8\n9,x,y,"z",\n\n'
)
SIGNS = b'"\n\r,\\ a;\t\0\xff\xc3\xa9'


def accepted(*chunks):
    """Whether bytes are well formed, taken in some chunks."""
    check = CsvStructure(",")
    try:
        for chunk in chunks:
            check.feed(chunk)
        check.finish()
    except UnreadableSource as error:
        return error.__context__ is not None  # nothing that quotes the data is in sight
    return True


def contents(path):
    """Return the rows that an engine reads of a file."""
    types = dict.fromkeys("abc", Type.TEXT)
    with DuckDB({"t": path}, ONE) as engine:
        inner = engine._connection
        rows = inner.fetch(printed(inner.scan(Scan("t", tuple(types.items())))))
    return [tuple(row.values()) for row in rows.to_pylist()]


def poisoned(rng, body=BODY):
    """Return bytes of which one is another, is missing, or was put in."""
    at = rng.randrange(len(body))
    sign = bytes([rng.choice(SIGNS) if rng.random() < 0.7 else rng.randrange(256)])
    return rng.choice(
        [
            body[:at] + sign + body[at + 1 :],
            body[:at] + sign + body[at:],
            body[:at] + body[at + 1 :],
        ]
    )


def compared(bodies, path):
    """Read many poisoned bodies from one file; each is between two marks, and moves no other.

    Bodies that are well formed by themselves are so one after another: no byte of one may show
    beyond its marks.
    """
    marked = [b"mark,%d,\n%b\n" % (index, body) for index, body in enumerate(bodies)]
    path.write_bytes(HEADER + b"".join(marked))
    found = contents(path)
    expected = []
    for number, body in enumerate(bodies):
        expected += [("mark", str(number), None), *rows(body, 3)]
    assert found == expected


def test_every_single_byte_of_a_small_file(tmp_path):
    """Every byte is replaced by every sign that could matter, left out, and doubled."""
    cases = {BODY[:number] + BODY[number + 1 :] for number in range(len(BODY))}
    for index in range(len(BODY)):
        for sign in SIGNS:
            cases.add(BODY[:index] + bytes([sign]) + BODY[index + 1 :])
            cases.add(BODY[:index] + bytes([sign]) + BODY[index:])
    good = [body for body in sorted(cases) if rows(body, 3) is not None]
    assert [body for body in sorted(cases) if accepted(body)] == good
    assert len(cases) > 2 * len(good) > 500
    compared(good, tmp_path / "t.csv")


def test_however_bytes_come_they_are_judged_the_same():
    rng = random.Random(1)  # noqa: S311
    for _ in range(4000):
        body = poisoned(rng, poisoned(rng))
        first, second = sorted(rng.randrange(len(body) + 1) for _ in range(2))
        whole = accepted(body)
        assert accepted(body[:first], body[first:second], body[second:]) is whole
        assert whole is (records(body) is not None)


@pytest.mark.slow
def test_a_million_poisoned_bytes(tmp_path):
    cases, read, began = 0, 0, time.monotonic()
    rng = random.Random(7)  # noqa: S311
    while cases < 10**6:
        bodies = []
        for _ in range(20_000):
            body = poisoned(rng)
            good = accepted(body)
            assert good is (records(body) is not None)
            bodies += [body] if good else []
        compared(bodies, tmp_path / "t.csv")
        cases, read = cases + 20_000, read + len(bodies)
    print(f"{cases:,} poisoned bytes, {read:,} of them read, {time.monotonic() - began:.0f} s")  # noqa: T201


@pytest.mark.parametrize(
    "body",
    [
        b'1,"x\\"y",z\n' + b"2,x,y\n" * 2000,
        b'1,"x,y\n' + b"2,x,y\n" * 2000,
        b'1,x"y,z\n2,"q\n' + b"2,x,y\n" * 2000,
        b'1, "x",y\n',
        b'1,"x" ,y\n',
        b"1,\xff,z\n",
        b"1,\xc3,z\n",
        b"1,x\ry,z\n",
        b"1,x,\xc3",
        b"1,x,y\r",
        b"1," + b"x" * LONGEST_RECORD + b",y\n",
        b'1,"' + b"\n" * LONGEST_RECORD + b'",y\n',
    ],
    ids=range(12),
)
@pytest.mark.parametrize("packed", [False, True])
def test_files_that_could_be_read_otherwise_are_refused_when_opened(tmp_path, body, packed):
    text = HEADER + b"0,x,y\n" * 50_000 + body
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    with pytest.raises(UnreadableSource, match="CSV") as caught:
        DuckDB({"t": path}, ONE)
    assert caught.value.__context__ is None


def test_the_longest_record_and_what_follows_are_read(tmp_path):
    path = tmp_path / "t.csv"
    plain = b"1," + b"x" * (LONGEST_RECORD - 4) + b",y"
    quoted = b'2,"' + b"\n" * (LONGEST_RECORD - 6) + b'",y'
    path.write_bytes(HEADER + b"0,x,y\n" + plain + b"\n" + quoted + b"\n3,x,y\n")
    assert [(a, len(b), c) for a, b, c in contents(path)] == [
        ("0", 1, "y"),
        ("1", LONGEST_RECORD - 4, "y"),
        ("2", LONGEST_RECORD - 6, "y"),
        ("3", 1, "y"),
    ]


def test_records_that_go_over_the_edges_of_all_buffers(tmp_path):
    """A file of several buffers of the reader, with line ends in quotes everywhere."""
    line = b'%d,"two\r\nlines ""x"" ' + b"y" * 900 + b'","\n"\r\n'
    count = 75_000
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.write(HEADER)
        for first in range(0, count, 5000):
            file.write(b"".join(line % number for number in range(first, first + 5000)))
    assert path.stat().st_size > 64 * CHUNK
    with DuckDB({"t": path}, ONE) as engine:
        inner = engine._connection
        scan = printed(inner.scan(Scan("t", tuple(dict.fromkeys("abc", Type.TEXT).items()))))
        rows = inner.fetch(
            f"SELECT count(*) AS n, sum(a::BIGINT) AS a, count(DISTINCT b) AS b, max(b) AS x, "  # noqa: S608
            f"min(c) AS c FROM ({scan})"
        )
    text = 'two\r\nlines "x" ' + "y" * 900
    assert rows.to_pylist() == [
        {"n": count, "a": count * (count - 1) // 2, "b": 1, "x": text, "c": "\n"}
    ]


def test_the_old_reading_would_have_swallowed_rows(tmp_path):
    """A twin without the check: an escape that is none takes the rest of the file along."""
    path = tmp_path / "t.csv"
    path.write_bytes(HEADER + b"0,x,y\n" * 1000 + b'1,"x\\"y",z\n' + b"2,x,y\n" * 1000)
    found = duckdb.sql(
        f"FROM read_csv('{path}', columns = {{a: 'VARCHAR', b: 'VARCHAR', c: 'VARCHAR'}}, "
        "auto_detect = false, header = true, quote = '\"', escape = '\"', strict_mode = false, "
        "ignore_errors = true, null_padding = true, parallel = false)"
    )
    assert len(found.fetchall()) < 2001
