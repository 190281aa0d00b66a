"""Settings of a Spark session under which one row can make reading fail, or hide others.

Trust: kernel.

Whoever owns the session sets it, and may set it again at any time.  Most settings make no
difference to us; these do, when files are read.  With EXCEPTION for a calendar, one day before the
year 1582 makes every job fail that reads its column.  Where Spark ignores files that are damaged,
one record that it cannot read hides all that follow in its file.  So a session with such a setting
is refused when its tables are opened, and before anything is charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from discreet.errors import UnreadableSource

if TYPE_CHECKING:  # an optional library
    from pyspark.sql import SparkSession

__all__ = ["check_settings"]

_REFUSED: Final = {
    "spark.sql.avro.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "EXCEPTION",
    "spark.sql.parquet.int96RebaseModeInRead": "EXCEPTION",
}
_INSTEAD: Final = {"EXCEPTION": "CORRECTED", "true": "false"}


def check_settings(session: SparkSession) -> None:
    """Refuse a session in which a row could make reading fail, or hide the rows of others."""
    for setting, refused in _REFUSED.items():
        found = session.conf.get(setting, None)
        if found is not None and found.lower() == refused.lower():
            raise UnreadableSource(
                what=f"the Spark session has {setting} = {refused}.",
                why="then one row can make every question fail, or hide the rows of others.",
                do=f"set it to {_INSTEAD[refused]}, and write files again that Spark then cannot "
                "read.",
            )
