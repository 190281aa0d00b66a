"""Windows taken out of the expressions that they stand in.

Trust: kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.query.expressions import Column, Expression, Window, transformed, walk
from discreet.query.relations import Output, folded

__all__ = ["without_windows"]


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
