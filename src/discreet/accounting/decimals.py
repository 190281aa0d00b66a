"""How amounts are stored: as decimal text, which every reader keeps and a person can check.

Trust: kernel.  An amount that is misread is paid by nobody, or twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from discreet.accounting.forms import unreadable

__all__ = ["read_decimals", "written_decimals"]

_DECIMAL: Final = re.compile("0|[1-9][0-9]{0,999}", re.ASCII)


def written_decimals(amounts: Iterable[int]) -> list[str]:
    """Write amounts as decimal text.

    >>> written_decimals((10**23, 0))
    ['100000000000000000000000', '0']
    """
    return [str(amount) for amount in amounts]


def read_decimals(data: object, *, width: int) -> tuple[int, ...]:
    """Read so many amounts, and refuse everything that ``written_decimals`` does not write.

    >>> read_decimals(["12", "0"], width=2)
    (12, 0)
    """
    if not isinstance(data, list) or len(data) != width:
        raise unreadable("amounts are missing, or there are too many")
    if not all(isinstance(text, str) and _DECIMAL.fullmatch(text) for text in data):
        raise unreadable("an amount is not a whole number as decimal text")
    return tuple(map(int, data))
