"""Who is asked in SQL: a database that answers exactly, one that refuses small groups, a session.

Trust: public.  An attack takes any function from the text of a question to a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.exact import whole

if TYPE_CHECKING:  # a session brings the engine, which takes its time
    from discreet.session import Session

__all__ = ["Ask", "Refused", "exactly", "guarded", "privately"]

Ask = Callable[[str], float]
"""From the text of a question to its one number."""


class Refused(Exception):
    """What a database says that refuses a question."""


def exactly(connection: Any) -> Ask:
    """Ask a DuckDB connection, which answers exactly.

    >>> import duckdb
    >>> exactly(duckdb.connect())("SELECT COUNT(*) FROM range(5)")
    5.0
    """
    return lambda sql: float(connection.execute(sql).fetchone()[0])


def guarded(connection: Any, *, table: str, smallest: int) -> Ask:
    """Ask one that counts exactly, but refuses counts of few people and of nearly all.

    This is how databases were guarded before noise: no count below ``smallest``, and none of more
    than all but ``smallest``.  Questions are written as ``SELECT COUNT(*) FROM table WHERE ...``.
    """
    ask, least = exactly(connection), whole(smallest, name="smallest", low=1)
    everyone = ask(f"SELECT COUNT(*) FROM {table}")  # noqa: S608 (the attacker's own words)

    def answer(sql: str) -> float:
        found = ask(sql)
        if not least <= found <= everyone - least:
            raise Refused(sql)
        return found

    return answer


def privately(session: Session, **price: Any) -> Ask:
    """Ask a session; every question is paid for."""

    def answer(sql: str) -> float:
        release = session.ask(sql, **price)
        return float(release[release.names[0]][0].as_py())

    return answer
