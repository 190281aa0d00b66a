"""Events in words: which answers distinguish the neighbors, so that a reader can look for them.

Trust: public.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"(.*)#(\d+)( \(length\))?")
_ITEM: Final = re.compile(r"\[(\d+)\]")
_ORDER: Final = ("first", "second", "third", "fourth", "fifth")
_KINDS: Final = {
    0.0: "not a number",
    1.0: "minus infinity",
    2.0: "infinity",
    3.0: "zero",
    4.0: "minus zero",
    5.0: "an ordinary number",
}
_ZERO_GRAIN: Final = 2000.0
_NAMED: Final = 3
_LONGEST: Final = 40
_WHOLE: Final = {
    "shape": "the form of the answer (its types, lengths, words or error)",
    "sum": "the sum of all numbers",
    "smallest": "the smallest number",
    "largest": "the largest number",
    "place of the largest": "which number is the largest",
}


class EventRange(NamedTuple):
    """Values from one on to below another; both the same for one value, None for no end."""

    low: float | None
    high: float | None


def feature_words(kind: str, place: str) -> str:
    """Name a feature of an answer.

    >>> feature_words("value", ""), feature_words("grain", "['n']#"), feature_words("value", "#1")
    ('the answer', "the lowest bit that is set in ['n']", 'the second number that is printed')
    """
    if kind in _WHOLE:
        return _WHOLE[kind]
    where = place_words(place)
    return {
        "value": where,
        "grain": f"the lowest bit that is set in {where}",
        "ending": f"the last four bits of {where}",
        "class": f"what {where} is",
    }[kind]


def place_words(place: str) -> str:
    """Describe which number of an answer is at a place.

    >>> place_words("[2]"), place_words("['count']#0 (length)")
    ('the third number', "the length of the first number that is printed in ['count']")
    """
    name = place.removesuffix("#")
    token = _TOKEN.fullmatch(name)
    if token:
        number = f"the {_nth(int(token[2]))} number that is printed"
        inside = f"{number} in {token[1]}" if token[1] else number
        return f"the length of {inside}" if token[3] else inside
    item = _ITEM.fullmatch(name)
    if item:
        return f"the {_nth(int(item[1]))} number"
    return name.removeprefix(".") or "the answer"


def form_words(parts: Sequence[tuple[str, str]]) -> str:
    """Say what an answer is without its numbers: its texts, types and lengths, by their places.

    >>> form_words([("", "many")]), form_words([("", "list of 2"), ("[0]", "yes")])
    ("'many'", "'list of 2' and 'yes'")
    >>> form_words([("", "Raised"), (".kind", "timeout"), (".told", "")]), form_words([])
    ('an error, timeout', 'a number')
    """
    texts = [text for _, text in parts if text]
    if parts and parts[0] == ("", "Raised"):
        told = f", after {listed([shortened(repr(text)) for text in texts[2:]], 'and')}"
        return f"an error, {texts[1]}{told if texts[2:] else ''}"
    if not parts:
        return "a number"
    return listed([shortened(repr(text)) for text in texts or [""]], "and")


def shortened(text: str) -> str:
    """Return a text that is not too long to be read in a sentence.

    >>> shortened("a" * 100).endswith("a...")
    True
    """
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def value_words(kind: str, value: float) -> str:
    """Say one value of a feature.

    >>> value_words("grain", -53.0), value_words("class", 4.0), value_words("ending", 10.0)
    ('2^-53', 'minus zero', '1010')
    """
    if kind == "class":
        return _KINDS.get(value, "something else")
    if kind == "ending":
        return f"{int(value):04b}"
    if kind == "grain":
        return "none at all" if value == _ZERO_GRAIN else f"2^{value:g}"
    return f"{value:.6g}"


def range_words(kind: str, span: EventRange) -> str:
    """Say which values are in a range.

    >>> range_words("value", EventRange(None, 3.0)), range_words("value", EventRange(2.0, 2.0))
    ('below 3', '2')
    """
    if span.low == span.high and span.low is not None:
        return value_words(kind, span.low)
    if span.low is None:
        return "anything" if span.high is None else f"below {value_words(kind, span.high)}"
    low = value_words(kind, span.low)
    return f"{low} or more" if span.high is None else f"{low} to {value_words(kind, span.high)}"


def listed(words: Sequence[str], last: str = "or", *, count: int | None = None) -> str:
    """Join words as one says them; of many the first few, of ``count`` in all.

    >>> listed(["a", "b", "c"]), listed(list("abcde")), listed(["a", "b"], count=9)
    ('a, b or c', 'a, b, c or 2 others', 'a, b or 7 others')
    """
    shown, size = list(words), len(words) if count is None else count
    if size > min(len(shown), _NAMED + 1):
        shown = shown[:_NAMED]
        shown.append(f"{size - len(shown)} others")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def _nth(number: int) -> str:
    return _ORDER[number] if number < len(_ORDER) else f"{number + 1}th"
