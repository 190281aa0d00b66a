"""From SQL to the matrix: conditions on public columns say whom a question is about.

An attacker knows some columns of every person, from a register or a profile, and asks how many
people meet a condition on them and have a secret too.  Each condition is a row of zeros and ones
over the people whom the attacker knows, and the attacks of this room take it from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from discreet.errors import WrongKind
from discreet_course.reconstruction.curators import Answers, Ask, Sets

__all__ = ["People", "asked", "people"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class People:
    """Who is who, and which conditions each of them meets.

    Attributes:
        names: what names each person, in the order of the columns of ``sets``.
        conditions: the conditions, in the order of the rows.
        sets: 1 where a person meets a condition.
    """

    names: tuple[Any, ...]
    conditions: tuple[str, ...]
    sets: Sets

    def guessed(self, guess: Sequence[int]) -> dict[Any, int]:
        """Return a guess of each person's secret by name."""
        if len(guess) != len(self.names):
            raise WrongKind(
                what="there is not one guess for everybody.",
                why="guesses belong to people by their order.",
                do="give what an attack on these sets guessed.",
            )
        return {name: int(bit) for name, bit in zip(self.names, guess, strict=True)}


def people(connection: Any, *, table: str, name: str, conditions: Sequence[str]) -> People:
    """Ask a DuckDB connection, which holds the public data, who meets which condition.

    A condition that is NULL for a person is not met.

    >>> import duckdb
    >>> public = duckdb.connect()
    >>> _ = public.execute("CREATE TABLE register AS SELECT * FROM "
    ...                    "(VALUES ('Ada', 36), ('Ben', 71)) AS t(name, age)")
    >>> found = people(public, table="register", name="name", conditions=["age < 50", "age > 30"])
    >>> found.names, found.sets.tolist()
    (('Ada', 'Ben'), [[1, 0], [1, 1]])
    """
    wanted = tuple(conditions)
    if isinstance(conditions, str) or not wanted:
        raise WrongKind(
            what="there is no list of conditions.",
            why="each one is a question about a set of people.",
            do="give conditions as a list of texts, such as ['age < 50'].",
        )
    columns = ", ".join(f"CASE WHEN ({each}) THEN 1 ELSE 0 END" for each in wanted)
    rows = connection.execute(f"SELECT {name}, {columns} FROM {table} ORDER BY {name}").fetchall()  # noqa: S608 (the attacker's own words)
    names = tuple(row[0] for row in rows)
    if not names or len(set(names)) != len(names):
        raise WrongKind(
            what="the public table does not name everybody once.",
            why="a column of the matrix stands for one person.",
            do="give a table with one row for each person, and the column that names them.",
        )
    sets = np.array([row[1:] for row in rows], np.uint8).T
    return People(names=names, conditions=wanted, sets=np.ascontiguousarray(sets))


def asked(ask: Ask, *, table: str, secret: str, conditions: Sequence[str]) -> Answers:
    """Ask a database how many people meet each condition and have the secret.

    >>> import duckdb
    >>> from discreet_course.reconstruction.curators import exactly
    >>> private = duckdb.connect()
    >>> _ = private.execute("CREATE TABLE visits AS SELECT 36 AS age, true AS ill")
    >>> asked(exactly(private), table="visits", secret="ill", conditions=["age < 50"]).tolist()
    [1.0]
    """
    return np.array(
        [
            ask(f"SELECT COUNT(*) AS n FROM {table} WHERE ({secret}) AND ({condition})")  # noqa: S608
            for condition in conditions
        ],
        np.float64,
    )
