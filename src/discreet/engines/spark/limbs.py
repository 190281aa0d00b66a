"""Limbs: whole numbers of 127 bits in three of 64, which can be added up without a carry.

Trust: kernel.

Definition.  The limbs of a number t are t_0, t_1 and t_2 with t = t_0 + 2^42 t_1 + 2^84 t_2, where
t_0 and t_1 lie in [0, 2^42).
Theorem (key ``limbs``).  If |t| < 2^126, there are such limbs, and -2^42 <= t_2 < 2^42.  If the
limbs of at most 2^20 numbers are added up, no sum needs more than 62 bits and a sign; put together,
the sums are the sum of the numbers, and nothing on the way needs more than 127 bits and a sign if
that sum is below 2^126 in size, too.  Proof.  Let w = t + 2^126, which is not negative and below
2^127.  Its digits to the base 2^42 are t_0, t_1 and t_2 + 2^42, the last of them below 2^43.  A
limb is at most 2^42 in size, and 2^20 of them are at most 2^62.  Putting together is linear.  The
two lower sums stand for less than 2^105, and so the highest for less than 2^126 + 2^105.
A total, of a part or of all, is below 2^126: fewer than 2^63 rows add at most 2^63 in size each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["BITS", "LIMBS", "MOST_PARTS", "limb_names", "split", "together"]

BITS: Final = 42
LIMBS: Final = 3
MOST_PARTS: Final = 2**20
"""How many limbs may be added up."""

_BASE: Final = 2**BITS
_SHIFT: Final = 2 ** (BITS * LIMBS)


def limb_names(total: int) -> list[str]:
    """Return the names of the columns of limbs.

    >>> limb_names(7)
    ['t7_0', 't7_1', 't7_2']
    """
    return [f"t{total}_{place}" for place in range(LIMBS)]


def split(sql: str) -> list[str]:
    """Print the limbs of a number, lowest first.

    >>> split("t")[0]
    'CAST((t + 85070591730234615865843651857942052864::HUGEINT) % 4398046511104 AS BIGINT)'
    """
    shifted = f"({sql} + {_SHIFT}::HUGEINT)"
    return [
        f"CAST({shifted} % {_BASE} AS BIGINT)",
        f"CAST(({shifted} // {_BASE}) % {_BASE} AS BIGINT)",
        f"CAST({shifted} // {_BASE**2} - {_BASE} AS BIGINT)",
    ]


def together(names: Sequence[str]) -> str:
    """Print the number that limbs, or their sums, stand for.

    >>> together(["a", "b"])
    '(CAST(a AS HUGEINT) * 1 + CAST(b AS HUGEINT) * 4398046511104)'
    """
    parts = [f"CAST({name} AS HUGEINT) * {_BASE**place}" for place, name in enumerate(names)]
    return f"({' + '.join(parts)})"
