"""What pyspark prints when a job fails: nothing, while it works for us.

Trust: kernel.  An error of Spark may quote a value of a row.  When pyspark makes such an error, it
also writes it to stderr through loggers of its own, whatever the level of Spark's logs is; on a
screen that may be that of whoever asks.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["hushed"]

_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_THREAD: Final = threading.local()


@contextmanager
def hushed() -> Iterator[None]:
    """Let these loggers drop what this thread says; others are heard as before."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415  an optional library

    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_heard)  # once, however often it is added
    before = getattr(_THREAD, "hushed", False)
    _THREAD.hushed = True
    try:
        yield
    finally:
        _THREAD.hushed = before


def _heard(_: logging.LogRecord) -> bool:
    return not getattr(_THREAD, "hushed", False)
