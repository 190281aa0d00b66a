"""The dialect as data: what ``dialect.toml`` says is answered, and what is refused."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Accepted(NamedTuple):
    """A rule, a text that follows it, and the question as it is drawn."""

    rule: str
    sql: str
    drawn: str


class Refused(NamedTuple):
    """A rule, a text that breaks it, the code, the words underlined, and the advice."""

    rule: str
    sql: str
    code: str
    words: str
    do: str


class Apart(NamedTuple):
    """A rule, and a text that keeps people apart."""

    rule: str
    sql: str


class Mixed(NamedTuple):
    """A rule, a text that mixes people, the words underlined, and the advice."""

    rule: str
    sql: str
    words: str
    do: str


_DATA = tomllib.loads((Path(__file__).parent / "dialect.toml").read_text(encoding="utf-8"))

ACCEPTED = [
    Accepted(**{key: text.strip() for key, text in entry.items()}) for entry in _DATA["accepted"]
]
REFUSED = [
    Refused(**{key: text.strip() for key, text in entry.items()}) for entry in _DATA["refused"]
]

APART = [Apart(**{key: text.strip() for key, text in entry.items()}) for entry in _DATA["apart"]]
MIXED = [Mixed(**{key: text.strip() for key, text in entry.items()}) for entry in _DATA["mixed"]]
TABLES = _DATA["tables"]["policy"]


def underlined(error):
    """Return the words that an error underlines, which must stand in its text."""
    _, shown, carets = error.what.rsplit("\n", 2)
    start = carets.index("^")
    assert shown[: shown.index("|")].strip().isdigit()
    return shown[start : start + carets.count("^")]
