"""Cells of CSV files read letter by letter, without regular expressions: without a doubt."""

import math
from datetime import date, datetime, timedelta

from discreet.query.types import Type

DIGITS = frozenset("0123456789")
SPACES = {" ": " \u00a0\u202f"}
TRUE = {"true", "t", "yes", "y", "1", "1.0"}
FALSE = {"false", "f", "no", "n", "0", "0.0"}


def value(cell, kind, form):
    """Return the value of a cell; None for NULL."""
    if cell is None or kind is Type.TEXT:
        return cell
    return READERS[kind](cell.strip(" \t"), form)


def digits(text):
    return bool(text) and set(text) <= DIGITS


def ungrouped(text, thousands):
    """Return digits without the signs of thousands, or None."""
    signs = SPACES.get(thousands, thousands)
    if digits(text):
        return text
    for sign in signs:
        text = text.replace(sign, "\0")
    first, *others = text.split("\0")
    good = others and digits(first) and len(first) <= 3
    return "".join([first, *others]) if good and all(map(three, others)) else None


def three(text):
    return digits(text) and len(text) == 3


def unsigned(text):
    return (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))


def integer(text, form):
    sign, text = unsigned(text)
    whole, point, rest = text.rpartition(form.decimal)
    if not point:
        whole, rest = text, "0"
    found = ungrouped(whole, form.thousands)
    if found is None or set(rest) != {"0"} or len(rest) == 3:
        return None
    size = sign * int(found)
    return size if -(2**63) <= size < 2**63 else None


def number(text, form):
    sign, text = unsigned(text)
    small = text.replace("E", "e")
    size, mark, power = small.partition("e")
    if mark and not digits(unsigned(power)[1]):
        return None
    whole, point, rest = size.partition(form.decimal)
    if rest and not digits(rest):
        return None
    found = ungrouped(whole, form.thousands)
    if found is None and (whole or not point or not rest):
        return None
    read = float(f"{found or ''}.{rest or '0'}{mark}{power}")
    return sign * read + 0.0 if math.isfinite(read) else None


def boolean(text, form):
    return True if text.lower() in TRUE else False if text.lower() in FALSE else None


def day(text, form):
    """Return a day and whatever follows it, or None."""
    for order in ("YYYY-MM-DD", form.dates):
        found = in_order(text, order) if order else None
        if found is not None:
            return found
    return None


def in_order(text, order):
    sign = next((each for each in order if each in "./-"), "")
    parts, rest = {}, text
    for place, name in enumerate(order.split(sign) if sign else split_plainly(order)):
        if place and sign:
            if not rest.startswith(sign):
                return None
            rest = rest[1:]
        longest = len(name)
        length = 0
        while length < min(longest, len(rest)) and rest[length] in DIGITS:
            length += 1
        fixed = name == "YYYY" or not sign or order == "YYYY-MM-DD"
        if length < (longest if fixed else 1):
            return None
        parts[name], rest = int(rest[:length]), rest[length:]
    try:
        return date(parts["YYYY"], parts["MM"], parts["DD"]), rest
    except ValueError:
        return None


def split_plainly(order):
    return ["YYYY", "MM", "DD"] if order.startswith("Y") else [order[:2], order[2:4], "YYYY"]


def whole_day(text, form):
    found = day(text, form)
    if found is None:
        return None
    read, rest = found
    time, point, zeros = rest[1:].partition(".")
    midnight = rest[:1] in {" ", "T"} and time in {"00:00", "00:00:00"}
    if point and (time != "00:00:00" or not 1 <= len(zeros) <= 9 or set(zeros) != {"0"}):
        midnight = False
    return read if not rest or midnight else None


def moment(text, form):  # noqa: PLR0911 (one for each form)
    found = day(text, form)
    if found is None:
        return None
    read, rest = found
    midnight = datetime(read.year, read.month, read.day)  # noqa: DTZ001
    if not rest:
        return midnight
    if rest[0] not in " T":
        return None
    ahead, rest = clock(rest[1:])
    if ahead is None:
        return None
    rest = rest.removeprefix(" ")
    try:
        if rest in {"", "Z", "z"}:
            return midnight + ahead
        offset = zone(rest)
        return None if offset is None else midnight + ahead - offset
    except OverflowError:
        return None


def clock(text):
    """Return how long after midnight a time is, and whatever follows it."""
    if len(text) < 5 or not digits(text[:2] + text[3:5]) or text[2] != ":":
        return None, text
    hours, minutes, seconds, micro, rest = int(text[:2]), int(text[3:5]), 0, 0, text[5:]
    if len(rest) >= 3 and rest[0] == ":" and digits(rest[1:3]):
        seconds, rest = int(rest[1:3]), rest[3:]
        if rest[:1] in {".", ","} and digits(rest[1:2]):
            length = 1
            while length < len(rest) and rest[length] in DIGITS:
                length += 1
            if length > 10:
                return None, text
            micro, rest = int(rest[1:length].ljust(6, "0")[:6]), rest[length:]
    if hours > 23 or minutes > 59 or seconds > 59:
        return None, text
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micro), rest


def zone(text):
    sign, size = text[0], text[1:]
    if sign not in "+-" or not digits(size[:2]) or len(size) < 2 or int(size[:2]) > 23:
        return None
    rest = size[2:].removeprefix(":")
    if rest and (not digits(rest) or len(rest) != 2 or int(rest) > 59):
        return None
    offset = timedelta(hours=int(size[:2]), minutes=int(rest or 0))
    return -offset if sign == "-" else offset


READERS = {
    Type.INTEGER: integer,
    Type.FLOAT: number,
    Type.BOOLEAN: boolean,
    Type.DATE: whole_day,
    Type.TIMESTAMP: moment,
}
