"""The format of entries, checked anew: canonical JSON, the hash chain, and the fields of a kind.

Trust: kernel.  It is written a second time, for the auditor.  A field that nobody reads could say
anything.

Definition.  A line is canonical if it is the only way to write its value: keys in order, each once,
no spaces, ASCII alone, no floats.  The head of an entry is the SHA-256 of the head before it, a
line feed and its line; before the first entry it is 64 zeros.
Theorem (key ``hash-chain``; Haber and Stornetta 1991, How to Time-Stamp a Digital Document, for
linking by hashes).  Two records with the same head at the same number are the same up to there, or
exhibit two texts with the same SHA-256.
    Proof.  Equal heads of different texts are such a pair.  Otherwise the texts are equal, so the
    lines are, and the heads before them, since a head has 64 letters; continue with those.
Definition.  Every entry has ``format`` 1, its number ``seq``, its ``kind`` and the time ``at``,
on which nothing depends; and exactly the fields of its kind.  Here each field is checked by itself;
what they mean together is checked elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

FIRST_HEAD: Final = "0" * 64


def _refuse(text: str) -> NoReturn:
    raise ValueError(len(text))


_READ: Final = json.JSONDecoder(parse_float=_refuse, parse_constant=_refuse).decode
_WRITE: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def canonical(value: object) -> str:
    r"""Write a value of JSON in its canonical form.

    >>> canonical({"b": [1, None], "a": "ä"})
    '{"a":"\\u00e4","b":[1,null]}'
    """
    return _WRITE(value)


def read_canonical(text: str) -> Any:
    """Read canonical JSON; None if it is anything else, or null."""
    try:
        value = _READ(text)
        same = canonical(value) == text
    except (ValueError, RecursionError):
        return None
    return value if same else None


def next_head(head: str, line: str) -> str:
    """Return the head of an entry, from the one before it and its line."""
    return digest(f"{head}\n{line}".encode("utf-8", "surrogatepass"))


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


_FORMAT: Final = 1
_HEAD: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NAME: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_PATH: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}(/[A-Za-z0-9_.-]{1,64}){0,7}", re.ASCII)

Check = Callable[[Any], bool]


def is_head(value: object) -> bool:
    """Whether a value is a SHA-256 in hexadecimal digits.

    >>> is_head("0" * 64), is_head("0" * 63), is_head(0)
    (True, False, False)
    """
    return isinstance(value, str) and _HEAD.fullmatch(value) is not None


def is_path(value: object) -> bool:
    """Whether a value names an account.

    >>> is_path("data/flu"), is_path("data/"), is_path("a/b/c/d/e/f/g/h/i")
    (True, False, False)
    """
    return isinstance(value, str) and _PATH.fullmatch(value) is not None


def parent(path: str) -> str:
    """Return the account above another; nothing above a root.

    >>> parent("data/flu/ana"), parent("data")
    ('data/flu', '')
    """
    return path.rpartition("/")[0]


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_a(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


def _is_said(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_columns(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(column, str) for column in value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


_is_name: Final = _matches(_NAME)
_is_time: Final = _matches(_TIME)
_is_text: Final = _is_a(str)
_is_flag: Final = _is_a(bool)
_is_object: Final = _is_a(dict)
_is_list: Final = _is_a(list)
_COMMON: Final[Mapping[str, Check]] = {
    "format": _is_count,
    "seq": _is_count,
    "kind": _is_text,
    "at": _is_time,
}
_PEOPLE: Final[Mapping[str, Check]] = {"reason": _is_said, "by": _is_said, "approved_by": _is_said}
_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "open": {
        "ledger": _is_name,
        "unit": _is_object,
        "constant": _is_columns,
        "contribution": _or_null(_is_object),
        "account": is_path,
        "budget": _is_object,
    },
    "account": {"account": is_path, "budget": _or_null(_is_object), "by": _is_said},
    "raise": {"account": is_path, "budget": _is_object, **_PEOPLE},
    "charge": {
        "account": is_path,
        "key": _is_said,
        "question": _is_text,
        "body": is_head,
        "tree": _is_object,
        "scope": _is_object,
        "delta": _or_null(_is_text),
        "boxes": _is_list,
        "amounts": _is_object,
    },
    "start": {"key": _is_said, "attempt": _is_count},
    "release": {"key": _is_said, "answer": is_head, "size": _is_count},
    "restore": {"from": is_head, "spent": _is_flag, **_PEOPLE},
    "fail": {"key": _is_said},
    "reopen": {"key": _is_said, "reason": _is_said, "by": _is_said},
    "describe": {"what": _is_said, "content": _is_object, "digest": is_head},
}
_CHECKS: Final = {kind: {**_COMMON, **fields} for kind, fields in _KINDS.items()}


def field_problem(entry: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the fields of an entry; None if nothing is.

    >>> field_problem({"format": 1, "kind": "start"})
    'its fields are not those of a start.'
    >>> field_problem({"format": 2})
    'its format is not 1, the only one that is known.'
    """
    form, kind = entry.get("format"), entry.get("kind")
    if type(form) is not int or form != _FORMAT:
        return f"its format is not {_FORMAT}, the only one that is known."
    checks = _CHECKS.get(kind) if isinstance(kind, str) else None
    if checks is None:
        return "its kind is not known."
    if entry.keys() != checks.keys():
        return f"its fields are not those of a {kind}."
    for name, value in entry.items():
        if not checks[name](value):
            return f"what it says under {name!r} cannot be."
    return None
