"""Random poisoned cells in rows of a server: each is read as it is, or NULL, and moves no other."""

import math
import random
import struct
import time
from datetime import date, datetime, timedelta

import pytest

from discreet.engines.engine import HashOrder
from discreet.engines.postgres.engine import Postgres
from discreet.query.expressions import Column
from discreet.query.relations import Scan
from discreet.requests.engine_request import EngineRequest, Total
from tests.engines.postgres.rows import connect, make

FORMS = {
    "row": "bigint",
    "i2": "smallint",
    "i4": "integer",
    "i8": "bigint",
    "f4": "real",
    "f8": "double precision",
    "n": "numeric",
    "t": "text",
    "v": "varchar",
    "b": "boolean",
    "d": "date",
    "m": "timestamp",
}
DAYS = ("infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "0001-12-31 BC", "10000-01-01")
MOMENTS = ("infinity", "-infinity", "4713-01-01 BC", "294276-12-31", "10000-01-01 00:00:00")
NUMBERS = ("NaN", "1e400", "-1e400", "1e-16000", "-1e-16000", "9" * 5000, "0." + "0" * 5000 + "1")
FLOATS = ("NaN", "Infinity", "-Infinity", "5e-324", "-0", "1.7976931348623157e308")
TEXTS = ("", "\\N", "\\.", "\t", "\n", "\r\n", "\u202e", "\U0010ffff", "x" * 9999, "'; DROP", "%s")


def finite(number):
    return number if math.isfinite(number) else None


def cell(rng, name, *, poison):  # noqa: PLR0911 (one for each form)
    """Return what to write into a column, and what is to be read of it."""
    if name[0] == "i":
        edge = 2 ** (8 * int(name[1]) - 1)
        value = rng.choice([-edge, edge - 1, rng.randrange(-edge, edge)]) if poison else 7
        return value, value
    if name == "f8":
        bits = struct.unpack("<d", rng.randbytes(8))[0]
        value = rng.choice([float(rng.choice(FLOATS)), bits]) if poison else 1.5
        return value, finite(value)
    if name == "f4":
        value = struct.unpack("<f", rng.randbytes(4))[0] if poison else 1.5
        return value, finite(value)
    if name == "n":
        digits = f"{rng.randrange(-(10**40), 10**40)}e{rng.randrange(-400, 400)}"
        value = rng.choice([*NUMBERS, digits]) if poison else "1.5"
        return value, finite(float(value))
    if name in {"t", "v"}:
        letters = "".join(chr(rng.choice([rng.randrange(1, 0xD800), 0x1F600])) for _ in range(5))
        value = rng.choice([*TEXTS, letters]) if poison else "text"
        return value, value
    if name == "b":
        return poison, poison
    known = date(1, 1, 1) + timedelta(days=rng.randrange(3_652_058))
    if name == "d":
        return (rng.choice(DAYS), None) if poison and rng.random() < 0.7 else (known, known)
    moment = datetime(known.year, known.month, known.day, 23, 59, 59, 999_999)  # noqa: DTZ001
    return (rng.choice(MOMENTS), None) if poison and rng.random() < 0.7 else (moment, moment)


def rows(rng, size):
    """Return what to write, and what is to be read: one cell of each row is poisoned."""
    names = list(FORMS)[1:]
    for number in range(size):
        bad = rng.choice(names)
        cells = [cell(rng, name, poison=name == bad) for name in names]
        yield (number, *(written for written, _ in cells)), (number, *(read for _, read in cells))


def checked(postgres, place, rng, size):
    """Write poisoned rows, read them, and return how many cells were compared."""
    written, expected = zip(*rows(rng, size), strict=True)
    make(postgres, "poisoned", FORMS)
    with (
        connect(postgres) as connection,
        connection.cursor() as cursor,
        cursor.copy("COPY poisoned FROM STDIN") as copy,
    ):
        for row in written:
            copy.write_row(row)
    with Postgres({"poisoned": place("poisoned")}) as engine:
        scan = Scan("poisoned", tuple(engine.tables()["poisoned"].items()))
        measures = tuple(Total(name=form, row=Column(form), low=0, high=1) for form in FORMS)
        lowered = EngineRequest(relation=scan, unit=(), keys=(), groups=None, measures=measures)
        engine.check(lowered)
        with engine.snapshot(HashOrder(salt=1), ["poisoned"]):
            found = engine.fetch(f'{engine.dialect.printed(engine.scan(scan))} ORDER BY "row"', {})
    for index, name in enumerate(FORMS):
        assert found.column(name).to_pylist() == [row[index] for row in expected], name
    return size * len(FORMS)


def test_a_poisoned_cell_moves_no_other(postgres, place):
    checked(postgres, place, random.Random(1), 300)  # noqa: S311


@pytest.mark.slow
def test_a_hundred_thousand_poisoned_rows(postgres, place):
    began = time.monotonic()
    cells = 0
    for seed in range(10):
        cells += checked(postgres, place, random.Random(seed), 10_000)  # noqa: S311
    print(f"{cells:,} cells in {time.monotonic() - began:.0f} s")  # noqa: T201
