"""Rate limits: how many calls somebody may make, refused and dry ones included.

Trust: public.  Refusals follow from public facts and cost nothing, but every one of them is work.

Definition.  A bucket holds up to a minute's calls and fills evenly; a call takes one out.
"""

from __future__ import annotations

import threading
import time
from typing import Final, final

_MOST: Final = 100_000


@final
class RateLimits:
    """One bucket for each name.

    >>> rates = RateLimits(per_minute=2)
    >>> [rates.wait("ana", now=0.0) for _ in range(3)]
    [0.0, 0.0, 30.0]
    """

    __slots__ = ("_buckets", "_lock", "_per_minute")

    def __init__(self, *, per_minute: int) -> None:
        """Take how many calls a minute has."""
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str, *, now: float | None = None) -> float:
        """Take one call out, and return 0; or return in how many seconds there will be one."""
        at = time.monotonic() if now is None else now
        rate = self._per_minute / 60
        with self._lock:
            if len(self._buckets) > _MOST:
                self._buckets.clear()
            level, then = self._buckets.get(name, (float(self._per_minute), at))
            level = min(float(self._per_minute), level + (at - then) * rate)
            if level < 1:
                self._buckets[name] = (level, at)
                return (1 - level) / rate
            self._buckets[name] = (level - 1, at)
            return 0.0
