"""The entry of a description: what a ledger was told about the data that it is charged for.

Trust: kernel.

Definition.  A description is a JSON object under a word that says what it describes, "schema" or
"source" say.  Its digest is the SHA-256 of its canonical JSON: equal descriptions have equal
digests.  Descriptions are kept in the order in which they were recorded, and never changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, final

from discreet.errors import OutOfRange, WrongKind
from discreet.ledger.entry import canonical, digest, line_of

__all__ = ["Description"]

_LONGEST: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What is described, and its canonical JSON.

    >>> Description.of("schema", {"table": "visits"}).text
    '{"table":"visits"}'
    """

    kind: ClassVar[str] = "describe"
    key: ClassVar[None] = None
    question: ClassVar[None] = None

    what: str
    text: str

    @classmethod
    def of(cls, what: str, content: object) -> Self:
        """Take an object that JSON can write; refuse everything else."""
        text = _written(content) if isinstance(content, Mapping) else None
        if text is None:
            raise WrongKind(
                what=f"the description of a {what} is not an object that JSON can write.",
                why="it is compared with later ones by its text, so it must have exactly one.",
                do="give a mapping from texts to texts, whole numbers, lists and mappings.",
            )
        if len(text) > _LONGEST:
            raise OutOfRange(
                what=f"the description of a {what} is longer than {_LONGEST} characters.",
                why="every process that opens the ledger reads it.",
                do="describe less, or store a digest of the rest.",
            )
        return cls(what=what, text=text)

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON."""
        return digest(self.text.encode("ascii"))

    def content(self) -> dict[str, Any]:
        """Return the object itself, a new one each time."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    def line(self, seq: int, at: str) -> str:
        """Return the canonical line."""
        fields = {"what": self.what, "content": self.content(), "digest": self.digest}
        return line_of(seq, self.kind, at, fields)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read what a line says."""
        found = cls(what=fields["what"], text=canonical(fields["content"]))
        if found.digest != fields["digest"]:
            raise ValueError
        return found


def _written(content: Mapping[Any, Any]) -> str | None:
    """Return the canonical JSON of an object, or None where reading it gives something else."""
    try:
        plain = _plain(content)
        text = canonical(plain)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if json.loads(text) == plain else None


def _plain(value: object) -> object:
    """Return a value with lists for sequences; refuse names that are no text."""
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
