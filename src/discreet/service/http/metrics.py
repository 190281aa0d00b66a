"""Metrics as Prometheus text: how many calls there were, and no number that data could move.

Trust: kernel.  There are no durations, sizes or memory, and answers and retries after a charge
count as one kind: which of the two it was can depend on the data.
"""

from __future__ import annotations

import threading
import time
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Final, final

_WORDS: Final = {1: "done", 2: "done", 3: "done", 4: "refused", 5: "broken"}


@final
class Metrics:
    """Counts of calls, by route and outcome.

    >>> metrics = Metrics()
    >>> metrics.count("POST", "/v1/datasets/{dataset}/queries", 503)
    >>> 'outcome="done"} 1' in metrics.text()
    True
    """

    __slots__ = ("_calls", "_lock", "_since")

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._calls: Tally[tuple[str, str, str]] = Tally()
        self._since = time.time()

    def count(self, method: str, route: str, status: int) -> None:
        """Count one call."""
        with self._lock:
            self._calls[(method, route, outcome_of(status))] += 1

    def text(self) -> str:
        """Return all counts."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# HELP discreet_start_time_seconds When the server was started."
        yield "# TYPE discreet_start_time_seconds gauge"
        yield f"discreet_start_time_seconds {self._since:.0f}"
        yield "# HELP discreet_calls_total Calls by route and outcome."
        yield "# TYPE discreet_calls_total counter"
        with self._lock:
            known = sorted(self._calls.items())
        for (method, route, outcome), count in known:
            labels = f'method="{method}",route="{route}",outcome="{outcome}"'
            yield f"discreet_calls_total{{{labels}}} {count}"


def outcome_of(status: int) -> str:
    """Return what a status is counted as: 503 is what a charge may end in, as an answer is.

    >>> outcome_of(200), outcome_of(503), outcome_of(402), outcome_of(500)
    ('done', 'done', 'refused', 'broken')
    """
    return "done" if status == 503 else _WORDS.get(status // 100, "broken")
