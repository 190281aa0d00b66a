"""Values as PostgreSQL's protocol sends them: as text, and in binary if a client insists.

Trust: public.  Definition.  A type is named by its object id.  In binary, numbers are big-endian,
a date is days and a timestamp microseconds since 2000, and a list is its dimensions and elements.
"""

from __future__ import annotations

import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from discreet.errors import OutOfRange, WrongKind

OIDS: Final = {
    "boolean": 16,
    "integer": 20,
    "text": 25,
    "float": 701,
    "date": 1082,
    "timestamp": 1114,
}
"""The object ids of the types of columns."""
ARRAYS: Final = {16: 1000, 20: 1016, 23: 1007, 25: 1009, 701: 1022, 1082: 1182, 1114: 1115}
"""The object ids of lists, by those of their elements."""
SIZES: Final = {16: 1, 20: 8, 21: 2, 23: 4, 26: 4, 700: 4, 701: 8, 1082: 4, 1114: 8}
"""How many bytes a value has; those of other types have any number."""
_ELEMENTS: Final = {of_list: element for element, of_list in ARRAYS.items()}
_PACKED: Final = {16: "!?", 20: "!q", 21: "!h", 23: "!i", 26: "!I", 700: "!f", 701: "!d"}
_DAY, _MOMENT = date(2000, 1, 1), datetime(2000, 1, 1)  # noqa: DTZ001  without a time zone
_TRUE: Final = frozenset({"t", "true", "1", "on", "y", "yes"})
_TEXTS: Final = frozenset({0, 18, 19, 25, 705, 1042, 1043})


def text_of(value: Any) -> str:
    """Return a value as text.

    >>> text_of(True), text_of(0.5), text_of([1, None]), text_of(datetime(2024, 2, 1, 12))
    ('t', '0.5', '{1,NULL}', '2024-02-01 12:00:00')
    """
    match value:
        case bool():
            return "t" if value else "f"
        case datetime():
            return value.isoformat(" ")
        case list() | tuple():
            return (
                "{" + ",".join("NULL" if each is None else _element(each) for each in value) + "}"
            )
        case _:
            return str(value)


def _element(value: Any) -> str:
    if not isinstance(value, str):
        return text_of(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def encoded(value: Any, oid: int, *, binary: bool) -> bytes | None:
    """Return a value as it is sent; None for NULL."""
    if value is None:
        return None
    if isinstance(value, str) and oid in {1082, 1114, 1182, 1115}:
        value = datetime.fromisoformat(value) if oid == 1114 else date.fromisoformat(value)
    if isinstance(value, list) and oid in {1182, 1115}:
        read: Any = date.fromisoformat if oid == 1182 else datetime.fromisoformat
        value = [read(each) if isinstance(each, str) else each for each in value]
    try:
        return _binary(value, oid) if binary else text_of(value).encode()
    except (OverflowError, struct.error):
        raise OutOfRange(
            what="a number of this answer has more bits than its type in binary.",
            why="a number that is cut off would be another one.",
            do="fetch the answer as text; it is on record, and free.",
        ) from None


def _binary(value: Any, oid: int) -> bytes:
    if oid in _PACKED:
        return struct.pack(_PACKED[oid], float(value) if oid in {700, 701} else value)
    if oid == 1082:
        return struct.pack("!i", (value - _DAY).days)
    if oid == 1114:
        return struct.pack("!q", (value - _MOMENT) // timedelta(microseconds=1))
    if oid not in _ELEMENTS:
        return text_of(value).encode()
    element = _ELEMENTS[oid]
    found = struct.pack("!iIIii", 1, any(e is None for e in value), element, len(value), 1)
    for each in value:
        data = encoded(each, element, binary=True)
        found += struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data
    return found


def decoded(data: bytes | None, oid: int, *, binary: bool) -> Any:
    r"""Return the value of a parameter; a text whose type is not given stays a text.

    >>> decoded(b"5", 23, binary=False), decoded(b"\0\0\0\5", 23, binary=True)
    (5, 5)
    """
    if data is None:
        return None
    try:
        return _from_binary(data, oid) if binary else _from_text(data.decode(), oid)
    except (ArithmeticError, RecursionError, ValueError, struct.error):
        raise WrongKind("a parameter does not have the form of its type.") from None


def _from_text(text: str, oid: int) -> Any:
    if oid in {20, 21, 23, 26}:
        return int(text)
    if oid in {700, 701}:
        return float(text)
    known: dict[int, Any] = {
        16: lambda given: given.strip().lower() in _TRUE,
        1082: lambda given: date.fromisoformat(given[:10]),
        1114: datetime.fromisoformat,
        1700: Decimal,
    }
    return known.get(oid, str)(text)


def _from_binary(data: bytes, oid: int) -> Any:
    if oid in _PACKED:
        return struct.unpack(_PACKED[oid], data)[0]
    if oid == 1082:
        return _DAY + timedelta(days=struct.unpack("!i", data)[0])
    if oid == 1114:
        return _MOMENT + timedelta(microseconds=struct.unpack("!q", data)[0])
    if oid in _TEXTS:
        return data.decode()
    _, _, element = struct.unpack("!iiI", data[:12])
    (count,) = struct.unpack("!i", data[12:16]) if data[:4] == b"\0\0\0\1" else (0,)
    found, at = [], 20
    for _ in range(count):
        (size,) = struct.unpack("!i", data[at : at + 4])
        found.append(_from_binary(data[at + 4 : at + 4 + size], element) if size >= 0 else None)
        at += 4 + max(size, 0)
    return text_of(found)


def type_oid(name: str) -> int:
    """Return the type of a column of DuckDB's, by its name there.

    >>> type_oid("BIGINT"), type_oid("VARCHAR[]"), type_oid("STRUCT(a INTEGER)")
    (20, 1009, 25)
    """
    if name.endswith("[]"):
        return ARRAYS.get(type_oid(name[:-2]), 1009)
    return _DUCKDB.get(name.partition("(")[0], 25)


_DUCKDB: Final = {
    "BOOLEAN": 16,
    "BIGINT": 20,
    "HUGEINT": 20,
    "INTEGER": 23,
    "SMALLINT": 23,
    "TINYINT": 23,
    "UINTEGER": 20,
    "DOUBLE": 701,
    "FLOAT": 701,
    "DECIMAL": 701,
    "DATE": 1082,
    "TIMESTAMP": 1114,
}
