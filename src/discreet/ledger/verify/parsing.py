"""Entries: what a line says, if it says it in the one permitted way.

Trust: kernel.  A misread line is an entry that nobody made.

The slow way is the definition: read canonical JSON, and check each field.  Nearly all lines are
charges, starts and releases with plain texts, and those are matched by patterns.
Theorem (key ``canonical-members``).  If t_1, ..., t_k are canonical for v_1, ..., v_k, and the
names n_1 < ... < n_k are plain, {"n_1":t_1,...,"n_k":t_k} is canonical for the object in which each
n_i is v_i.
    Proof.  That is how the object is written, and reading it gives the object back.
So a line that is cut at its names, in whatever way, says what the parts say if each of them is
canonical: a text between quotes without quotes, backslashes or anything but printable ASCII; a
whole number without leading zeros; or an object or list that was read the slow way once.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from discreet.ledger.verify.entry_format import canonical, field_problem, read_canonical

_KEPT: Final = 1 << 14
_TIME: Final = r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"'
_COUNT: Final = r"0|[1-9][0-9]{0,17}"
_TEXT: Final = r"[ !#-\[\]-~]*"
_PATH: Final = r"[A-Za-z0-9_.-]{1,64}(?:/[A-Za-z0-9_.-]{1,64}){0,7}"


def _looks(*members: str) -> re.Pattern[str]:
    return re.compile(r"\{" + ",".join(members) + r"\}", re.ASCII)


_START: Final = _looks(
    rf'"at":{_TIME}',
    rf'"attempt":(?P<attempt>{_COUNT})',
    r'"format":1',
    rf'"key":"(?P<key>{_TEXT})"',
    r'"kind":"start"',
    rf'"seq":(?P<seq>{_COUNT})',
)
_RELEASE: Final = _looks(
    r'"answer":"(?P<answer>[0-9a-f]{64})"',
    rf'"at":{_TIME}',
    r'"format":1',
    rf'"key":"(?P<key>{_TEXT})"',
    r'"kind":"release"',
    rf'"seq":(?P<seq>{_COUNT})',
    rf'"size":(?P<size>{_COUNT})',
)
# An atomic group (?>...) ends where it can end first, so that a line is read in one go.
_CHARGE: Final = _looks(
    rf'"account":(?P<account>"{_PATH}")',
    r'"amounts":(?>(?P<amounts>\{.*?\}),"at":)' + _TIME,
    r'"body":"(?P<body>[0-9a-f]{64})"',
    r'"boxes":(?>(?P<boxes>\[.*?\]),"delta":)(?P<delta>null|"' + _TEXT + r'")',
    r'"format":1',
    rf'"key":"(?P<key>{_TEXT})"',
    r'"kind":"charge"',
    rf'"question":"(?P<question>{_TEXT})"',
    rf'"scope":(?>(?P<scope>\{{.*?\}}),"seq":)(?P<seq>{_COUNT})',
    r'"tree":(?P<tree>\{.*\})',
)


class ChargeTexts(NamedTuple):
    """What decides the price of a charge, as canonical JSON."""

    account: str
    tree: str
    scope: str
    delta: str
    boxes: str
    amounts: str


_NOTHING: Final = ChargeTexts("", "", "", "", "", "")


class ParsedEntry(NamedTuple):
    """What a line says: its kind, its fields but the time, and of a charge the texts."""

    kind: str
    fields: Mapping[str, Any]
    said: ChargeTexts = _NOTHING


class UnreadableEntry(NamedTuple):
    """A line that is not an entry: the number that it claims, and why."""

    seq: object
    message: str


def parse_entry(line: str) -> ParsedEntry | UnreadableEntry:
    """Read a line.

    >>> parse_entry('{"format":1,"kind":"start","seq":7}')
    UnreadableEntry(seq=7, message='its fields are not those of a start.')
    """
    return parse_fast(line) or parse_slow(line)


def parse_slow(line: str) -> ParsedEntry | UnreadableEntry:
    """Read a line by the definition.

    >>> parse_slow("[]")
    UnreadableEntry(seq=None, message='it is not an object in canonical JSON.')
    """
    fields = read_canonical(line)
    if not isinstance(fields, dict):
        return UnreadableEntry(None, "it is not an object in canonical JSON.")
    wrong = field_problem(fields)
    if wrong is not None:
        return UnreadableEntry(fields.get("seq"), wrong)
    if fields["kind"] != "charge":
        return ParsedEntry(fields["kind"], fields)
    return ParsedEntry(
        "charge", fields, ChargeTexts(*(canonical(fields[name]) for name in ChargeTexts._fields))
    )


def parse_fast(line: str) -> ParsedEntry | None:
    """Read a line that looks like nearly all others; None if it does not."""
    match line[:4]:
        case '{"at':
            return _start(line)
        case '{"an':
            return _release(line)
        case '{"ac':
            return _charge(line)
        case _:
            return None


def _start(line: str) -> ParsedEntry | None:
    match = _START.fullmatch(line)
    if match is None or not match["key"].strip():
        return None
    fields = {"seq": int(match["seq"]), "key": match["key"], "attempt": int(match["attempt"])}
    return ParsedEntry("start", fields)


def _release(line: str) -> ParsedEntry | None:
    match = _RELEASE.fullmatch(line)
    if match is None or not match["key"].strip():
        return None
    texts = {"key": match["key"], "answer": match["answer"]}
    return ParsedEntry("release", {"seq": int(match["seq"]), "size": int(match["size"]), **texts})


def _charge(line: str) -> ParsedEntry | None:
    match = _CHARGE.fullmatch(line)
    if match is None or not match["key"].strip():
        return None
    said = ChargeTexts(*match.group(*ChargeTexts._fields))
    if not all(map(_is_canonical, (said.tree, said.scope, said.boxes, said.amounts))):
        return None
    fields = {
        "seq": int(match["seq"]),
        "account": said.account[1:-1],
        **{name: match[name] for name in ("key", "question", "body")},
    }
    return ParsedEntry("charge", fields, said)


@functools.lru_cache(_KEPT)
def _is_canonical(text: str) -> bool:
    """Whether a text that starts as an object or a list is canonical."""
    return read_canonical(text) is not None
