"""Neighbor relations: which two tables must look alike.

Trust: kernel.

Definition.  Tables are multisets of rows.  Two different tables are neighbors

``add_remove``
    if one arises from the other by adding one row (also called unbounded);
``replace``
    if one arises from the other by changing one row (bounded; the number of rows is public);
``either``
    if one of the two above holds;
``replace_null``
    if each row has a fixed place, and one place holds a row in one table and nothing in the other;
``local``
    if each table is a single row, whatever the two rows are: the local model is the same
    definition of privacy, for tables of one person.

For units larger than a row, read "everything of one unit" in place of "row".
"""

from __future__ import annotations

from enum import Enum
from typing import final

from discreet.errors import WrongKind

__all__ = ["Relation"]


@final
class Relation(Enum):
    """A neighbor relation between tables.

    >>> Relation.read("replace")
    <Relation.REPLACE: 'replace'>
    >>> Relation.REPLACE.size_is_public, Relation.ADD_REMOVE.size_is_public
    (True, False)
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"
    EITHER = "either"
    REPLACE_NULL = "replace_null"
    LOCAL = "local"

    @classmethod
    def read(cls, value: object) -> Relation:
        """Read a relation, or the name of one."""
        if isinstance(value, cls):
            return value
        for relation in cls:
            if isinstance(value, str) and value == relation.value:
                return relation
        given = f"{value[:40]!r}" if isinstance(value, str) else f"a {type(value).__name__}"
        names = ", ".join(repr(relation.value) for relation in cls)
        raise WrongKind(
            what=f"the relation is {given}, which is none that is known.",
            why="without a relation there is no saying which tables must look alike.",
            do=f"give one of {names}.",
        )

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbors have the same number of rows."""
        return self in {Relation.REPLACE, Relation.LOCAL}
