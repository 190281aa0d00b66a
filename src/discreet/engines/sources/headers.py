"""The first line of a CSV file: whether it holds names.

Trust: kernel.  A first row that passes for names would be shown to everybody, and left out of every
answer.

Definition.  A name looks like data if it is empty or blank, a number, a date, or a time.  Files
whose first line has such a name are refused: a row of data has one nearly always, and whoever means
a name can add a letter to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from discreet.engines.sources.source import check_names, unreadable

__all__ = ["check_header"]

_NUMBER: Final = r"[-+]?[$€£]?(\d[\d_ ,.']*|[.,]\d+)([eE][-+]?\d+)?%?"
_DATE: Final = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_TIME: Final = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[-+]\d{2}:?\d{2}|[AaPp][Mm])?"
_DATA: Final = re.compile(rf"\s*({_NUMBER}|{_DATE}|{_TIME}|{_DATE}[T ]{_TIME})?\s*")


def check_header(names: Sequence[str]) -> None:
    """Refuse a first line that looks like a row of data; the message quotes none of it.

    >>> check_header(["patient", "ward", "cost_2024"])
    >>> check_header(["17", "A", "2024-02-29"])
    Traceback (most recent call last):
    discreet.errors.UnreadableSource: ...
    """
    if any(_DATA.fullmatch(name) for name in names):
        raise unreadable(
            "the first line of the file looks like data: a name is empty, a number or a date.",
            do="begin the file with a line of names, and rename columns such as 2024 to year_2024; "
            "pandas leaves its nameless first column out with to_csv(index=False).",
        )
    check_names(names, what="columns")
