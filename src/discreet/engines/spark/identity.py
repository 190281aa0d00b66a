"""The identity of a data frame of Spark: its plan, and the files that it reads.

Trust: kernel.

A data frame is a plan, which does not change; Spark lists its files when it is made, and reads CSV
files by the places of their columns.  So files of this machine are looked at like any others.
Files elsewhere are known by their names, and by the size and time that their file system tells;
through Spark Connect by their names alone.  Rows that come from a database, or from functions that
give something else each time, may change unseen.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import unquote, urlsplit

from discreet.engines.sources.identity import FileStamp

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import DataFrame

__all__ = ["SparkStamp"]

_LOCAL: Final = ("", "file")

Told = tuple[tuple[object, ...], ...]


@final
class SparkStamp:
    """A data frame, and its files as they were when it was opened."""

    __slots__ = ("_frame", "_local", "_told", "content", "kind", "state")

    def __init__(self, frame: DataFrame) -> None:
        """List the files, and look at them; no row is read."""
        self.kind = "spark"
        self.content = None  # which only Spark could compute
        self._frame = frame
        self._local = FileStamp(self._here, kind=self.kind)
        self._told = self._look()
        self.state = self._state() if self._told or self._local.paths else None

    def _state(self) -> str:
        plan = (self._frame.semanticHash(), self._frame.schema.json())
        seen = repr((plan, self._told, self._local.state))
        return hashlib.sha256(seen.encode("ascii", "backslashreplace")).hexdigest()

    def _here(self) -> tuple[str, ...]:
        """Return the files of this machine, sorted."""
        files = map(urlsplit, self._frame.inputFiles())
        return tuple(sorted(unquote(each.path) for each in files if each.scheme in _LOCAL))

    def _look(self) -> Told:
        """Return what is told of files elsewhere."""
        files = (each for each in self._frame.inputFiles() if urlsplit(each).scheme not in _LOCAL)
        return tuple(told_of(self._frame, each) for each in sorted(files))

    def holds(self) -> bool:
        """Look at the files again; a frame that cannot be asked any more has changed."""
        try:
            return self._local.holds() and self._look() == self._told
        except Exception:  # noqa: BLE001 (whatever Spark says may quote the data)
            return False


def told_of(frame: DataFrame, file: str) -> tuple[object, ...]:
    """Return the name, size and time of modification of a file, as its file system tells them."""
    session: Any = getattr(frame.sparkSession, "_jsparkSession", None)
    if session is None:  # on a server, whose file systems cannot be asked from here
        return (file,)
    virtual: Any = frame.sparkSession._jvm  # noqa: SLF001
    path = virtual.org.apache.hadoop.fs.Path(virtual.java.net.URI(file))
    status = path.getFileSystem(session.sessionState().newHadoopConf()).getFileStatus(path)
    return (file, status.getLen(), status.getModificationTime())
