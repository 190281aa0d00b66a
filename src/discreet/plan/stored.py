"""How a source stores a column: what its values were before they became values of ours.

Trust: kernel.  A scope's columns are named by it, and whether two tables name people alike is
decided by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

__all__ = ["EXACT", "Stored"]

EXACT: Final = frozenset({"integer", "text", "uuid", "boolean", "date"})
"""Forms that keep every value; floats, decimals and moments may be rounded when they are stored."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A column in its source: the kind of source, the type there, and the form of its values.

    ``form`` is one of ``EXACT``, or None for a type that may round.  ``blurred`` says that
    different values are held for equal: by the collation of a text, by blanks that fill it up, or
    because a moment is rounded when it is read.

    >>> Stored(source="parquet", native="string", form="text").blurred
    False
    """

    source: str
    native: str
    form: str | None
    blurred: bool = False
