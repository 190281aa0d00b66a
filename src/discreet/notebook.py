"""How values look in notebooks, and on one line.

Trust: public.
"""

from __future__ import annotations

import re
from decimal import Decimal
from html import escape
from typing import Final

_LONGEST: Final = 72
_LONGEST_FRACTION: Final = 16
_FRACTION: Final = re.compile(r"(=?)Fraction\((-?\d+), (\d+)\)")
_SIMPLER: Final = (
    (re.compile(r"<\w+\.\w+: '(\w+)'>"), r"'\1'"),
    (re.compile(r", \w+=None"), ""),
)


class Shown:
    """What notebooks and IPython show by its text; without a text of its own, on one short line.

    >>> from discreet.loss import Pure
    >>> print(Pure(epsilon="1/2"))
    Pure(epsilon=1/2)
    >>> Pure(epsilon="1/2")._repr_html_()
    '<pre>Pure(epsilon=1/2)</pre>'
    """

    __slots__ = ()

    def __str__(self) -> str:
        return short_repr(self)

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, str]:
        """Answer IPython, which would ask a dataclass for its ``repr`` first."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _plain(found: re.Match[str]) -> str:
    """Write a fraction as a whole number, as a ratio, or rounded if it is long."""
    equals, above, below = found.groups()
    plain = above if below == "1" else f"{above}/{below}"
    if below == "1" or len(plain) <= _LONGEST_FRACTION:
        return equals + plain
    return f"≈{Decimal(above) / Decimal(below):.6g}"


def short_repr(value: object) -> str:
    """Show a value on one short line: how to make it, with plain numbers.

    >>> from discreet.mechanisms import Gaussian
    >>> short_repr(Gaussian(sigma="1/2"))
    'Gaussian(variance=1/4)'

    A fraction with many digits is rounded, and says so; ``repr`` keeps it as it is.

    >>> short_repr(Gaussian(sigma="1.234567890123456789"))
    'Gaussian(variance≈1.52416)'
    """
    text = _FRACTION.sub(_plain, repr(value))
    for pattern, simpler in _SIMPLER:
        text = pattern.sub(simpler, text)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
