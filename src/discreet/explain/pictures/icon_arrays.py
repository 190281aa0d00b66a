"""Two arrays of a hundred icons: how many answers suggest a thing, where it is true and where not.

Trust: public.

Icons that suggest it are filled, the others are rings, so that the picture reads without color.
"""

from __future__ import annotations

from html import escape
from typing import Final

from discreet.charts import STYLE
from discreet.explain.disclosure import Disclosure
from discreet.explain.figures import GuessOdds

_STEP: Final = 22
_TOP: Final = 92
_SIDES: Final = (20, 300)
_WIDTH: Final = 540
_HEIGHT: Final = 340


def icon_arrays(disclosure: Disclosure, odds: GuessOdds) -> str:
    """Draw both worlds side by side.

    >>> from discreet.explain.sources import disclosure_of
    >>> from discreet.explain.figures import Figures
    >>> from discreet.loss import Pure
    >>> disclosure = disclosure_of(Pure(epsilon=1))
    >>> picture = icon_arrays(disclosure, Figures.of(disclosure).one)
    >>> picture.count("<circle"), "at most 74 of 100" in picture
    (200, True)
    """
    if disclosure.relation.replaces:
        heads = ("first version true", "second version true")
        matter = "suggest the second version"
    else:
        heads = (f"{disclosure.entity} not in the data", f"{disclosure.entity} in the data")
        matter = f"suggest that the {disclosure.entity} is in the data"
    counts = (odds.without, odds.within)
    bounds = ("at least", "at most")
    words = "; ".join(
        f"{head}: {bound} {count} of 100 possible answers {matter}"
        for head, bound, count in zip(heads, bounds, counts, strict=True)
    )
    sides = "".join(
        _array(left, head, f"{bound} {count} of 100", count)
        for left, head, bound, count in zip(_SIDES, heads, bounds, counts, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" style="max-width:100%;height:auto">'
        f"<title>{escape(words)}</title><style>{STYLE}</style>"
        f'<rect class="page" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>'
        f'<text class="b" x="{_SIDES[0]}" y="28">Answers that {escape(matter)}</text>'
        f"{sides}</svg>"
    )


def _array(left: int, head: str, count_words: str, count: int) -> str:
    icons = []
    for place in range(100):
        line, column = divmod(place, 10)
        x, y = left + 8 + column * _STEP, _TOP + 8 + line * _STEP
        style = 'class="f0"' if place < count else 'fill="none" class="a"'
        icons.append(f'<circle {style} cx="{x}" cy="{y}" r="7"/>')
    return (
        f'<text x="{left}" y="56">{escape(head)}</text>'
        f'<text class="b" x="{left}" y="78">{escape(count_words)}</text>{"".join(icons)}'
    )
