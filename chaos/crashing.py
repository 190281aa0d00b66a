"""A store that ends its own process at a named point, as a crash would.

The points lie around a transaction: before and after it begins, after each append, before and after
it is durable.  Those around the steps of a question are reached by the analyst.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from chaos.analyst import Point
from chaos.stores import Wrapped

IN_STORE: Final = ("before_begin", "after_begin", "after_append", "before_commit", "after_commit")
IN_ANALYST: Final = ("after_charge", "after_start", "after_read", "after_release", "after_telling")
POINTS: Final = (*IN_STORE, *IN_ANALYST)


@dataclass(slots=True)
class Fuse:
    """Ends this process when a point is reached for the n-th time; without a point, never."""

    point: str | None
    times: int

    def __call__(self, point: str) -> None:
        """Count, and perhaps do not return."""
        if point == self.point:
            self.times -= 1
            if self.times <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Crashing(Wrapped):
    """A store that reports the points it passes."""

    def __init__(self, store: Any, at: Point) -> None:
        """Wrap a store."""
        super().__init__(store)
        self._at = at

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Begin and commit, with a point on either side of both."""
        self._at("before_begin")
        with self.store.exclusive():
            self._at("after_begin")
            yield
            self._at("before_commit")
        self._at("after_commit")

    def append(self, rows: Sequence[Any]) -> None:
        """Append, and pass a point."""
        self.store.append(rows)
        self._at("after_append")
