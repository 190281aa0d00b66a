"""Two arrays of a hundred icons: how many answers suggest a property, if it holds and if not.

Trust: public.

Icons that suggest it are filled, the others are rings, so that the picture reads without color.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from discreet.charts import Marker, Picture, Shape, Words
from discreet.explain.disclosure import Disclosure
from discreet.explain.figures import GuessOdds

_STEP: Final = 20
_TOP: Final = 92
_SIDES: Final = (20, 240)
_WIDTH: Final = 450
_HEIGHT: Final = 310
_LONGEST: Final = 14


def icon_arrays(disclosure: Disclosure, odds: GuessOdds) -> Picture:
    """Draw both worlds side by side.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.explain.figures import Figures
    >>> from discreet.loss import Pure
    >>> disclosure = disclosure_of(Pure(epsilon=1))
    >>> picture = icon_arrays(disclosure, Figures.of(disclosure).one)
    >>> picture.svg().count("<circle"), "at most 74 of 100" in picture.svg()
    (200, True)
    """
    name = disclosure.entity
    short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    if disclosure.relation.replaces:
        heads = ("first version true", "second version true")
        matter = "suggest the second version"
    else:
        heads = ("not in the data", "in the data")
        matter = f"suggest the {short} is in the data"
    counts = (odds.without, odds.within)
    bounds = ("at least", "at most")
    words = "; ".join(
        f"{head}: {bound} {count} of 100 possible answers {matter}"
        for head, bound, count in zip(heads, bounds, counts, strict=True)
    )
    title = Words(at=(_SIDES[0], 28), text=f"Answers that {matter}", anchor="start", bold=True)
    sides = (
        shape
        for left, head, bound, count in zip(_SIDES, heads, bounds, counts, strict=True)
        for shape in _array(left, head, f"{bound} {count} of 100", count)
    )
    return Picture(
        title=f"Answers that {matter}",
        description=words,
        width=_WIDTH,
        height=_HEIGHT,
        shapes=(title, *sides),
        cell=(_STEP // 2, _STEP),
    )


def _array(left: int, head: str, count_words: str, count: int) -> Iterator[Shape]:
    yield Words(at=(left, 56), text=head, anchor="start")
    yield Words(at=(left, 78), text=count_words, anchor="start", bold=True)
    for place in range(100):
        line, column = divmod(place, 10)
        at = (left + 8 + column * _STEP, _TOP + 8 + line * _STEP)
        yield Marker(at=at, color=0, radius=6.5, ring=place >= count)
