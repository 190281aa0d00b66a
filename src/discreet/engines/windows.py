"""Windows taken out of the expressions that they stand in, and how ties in them are broken.

Trust: kernel.

Definition.  Rows that agree in the order of a window come in the order of their columns; a text of
more than ``LONG`` bytes stands there for its MD5 in hexadecimal, so that rows are sorted by little.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import md5
from typing import Final

from discreet.engines.order import Value
from discreet.query.expressions import Column, Expression, Window, transformed, walk
from discreet.query.relations import Output, folded

__all__ = ["LONG", "tie_breaker", "without_windows"]

LONG: Final = 64


def tie_breaker(value: Value) -> Value:
    """Return what stands for a value where rows agree in the order of a window.

    >>> tie_breaker("ward"), len(tie_breaker("a" * 100))
    ('ward', 32)
    """
    if not isinstance(value, str) or len(written := value.encode("utf-8", "surrogatepass")) <= LONG:
        return value
    return md5(written, usedforsecurity=False).hexdigest()


def without_windows(
    outputs: tuple[Output, ...], taken: Iterable[str]
) -> tuple[tuple[tuple[str, Window], ...], tuple[Output, ...]]:
    """Return each window under a new name, and the outputs with these names in their places.

    >>> rank = Window("RANK", ())
    >>> without_windows((("first", rank),), ["a"])[1]
    (('first', Column(name='window 0', table=None)),)
    """
    used = {folded(name) for name in taken}
    found = dict.fromkeys(
        node for _, value in outputs for node in walk(value) if isinstance(node, Window)
    )
    names: dict[Window, str] = {}
    for window in found:
        number = len(names)
        while (name := f"window {number}") in used:
            number += 1
        used.add(name)
        names[window] = name

    def replaced(node: Expression) -> Expression | None:
        return Column(names[node]) if isinstance(node, Window) else None

    rest = tuple((name, transformed(value, replaced)) for name, value in outputs)
    return tuple((name, window) for window, name in names.items()), rest
