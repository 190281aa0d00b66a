"""Lines and heads: canonical JSON and the chain, written a second time for whoever checks.

Trust: kernel.

Definition.  A line is canonical if it is the only way to write its value: keys in order, each once,
no spaces, ASCII alone, no floats.  The head of an entry is the SHA-256 of the head before it, a
line feed and its line; before the first entry it is 64 zeros.
Theorem (key ``hash-chain``).  Two records with the same head at the same number are the same up to
there, or show two texts with the same SHA-256.
    Proof.  Equal heads of different texts are such two.  Otherwise the texts are equal, so that the
    lines are, and the heads before them, since a head has 64 letters; go on with those.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final, NoReturn

__all__ = ["FIRST_HEAD", "canonical", "digest", "next_head", "read_canonical"]

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
    """Read canonical JSON; None if it is anything else, or null.

    >>> read_canonical('{"a":[1]}'), read_canonical('{"a": 1}'), read_canonical('{"a":1,"a":1}')
    ({'a': [1]}, None, None)
    """
    try:
        found = _READ(text)
        same = canonical(found) == text
    except (ValueError, RecursionError):
        return None
    return found if same else None


def next_head(head: str, line: str) -> str:
    """Return the head of an entry, from the one before it and its line.

    >>> next_head(FIRST_HEAD, "{}")[:16]
    '5649d09ed68c1715'
    """
    return digest(f"{head}\n{line}".encode("utf-8", "surrogatepass"))


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal digits.

    >>> digest(b"")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(data).hexdigest()
