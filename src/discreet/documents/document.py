"""What all documents have in common: a kind, a format, and how they are read and written.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.errors import WrongKind
from discreet.notebook import Shown

FORMAT: Final = 1


class Part(BaseModel):
    """A part of a document; what it does not know of a later release it leaves out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Document(Part, Shown):
    """One document, with its format.

    >>> Document.read({"format": 1, "added later": True})
    Document(format=1)
    >>> Document.read({"format": 2})
    Traceback (most recent call last):
    discreet.errors.WrongKind
    """

    format: Literal[1] = 1

    @classmethod
    def read(cls, data: object) -> Self:
        """Read what ``written`` returned, also that of a later release."""
        found = data.get("format", FORMAT) if isinstance(data, Mapping) else FORMAT
        if found != FORMAT:
            raise WrongKind(
                what=f"a document has the format {str(found)[:20]}, and {FORMAT} is read.",
                why="the two programs are of releases that write documents differently.",
                do="install the same release of discreet on both sides.",
            )
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            places = {".".join(map(str, each["loc"][:2])) or "the whole" for each in error.errors()}
            raise cls._refused(f"wrong or missing: {', '.join(sorted(places))[:200]}") from None

    @classmethod
    def _refused(cls, what: str) -> WrongKind:
        return WrongKind(
            what=f"a {cls.__name__} cannot be read: {what}.",
            why="documents are read by the names and types of their fields.",
            do="install the same release of discreet on both sides.",
        )

    def written(self) -> dict[str, Any]:
        """Return plain JSON."""
        return self.model_dump(mode="json")
