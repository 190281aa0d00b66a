"""A label as text and as a page of HTML.

Trust: public.  Everything is escaped, and nothing is loaded.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from discreet.charts import Picture
from discreet.errors import WrongKind
from discreet.explain.label.accuracy import accuracy_lines
from discreet.explain.words import of_hundred

_WIDTH: Final = 88
_NAME: Final = 18
_UNSAID: Final = "not said"


def label_text(content: Mapping[str, Any]) -> str:
    """Return a label as lines, a name and a value each."""
    lines = [f"Privacy label: {content['said'].get('title', 'untitled')}", ""]
    before = ""
    for name, value in label_lines(content):
        shown, before = "" if name == before else name, name
        lines += textwrap.wrap(
            value,
            _WIDTH,
            initial_indent=f"{shown:<{_NAME}}",
            subsequent_indent=" " * _NAME,
        )
    return "\n".join(lines)


def label_lines(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a label says, one name and one value at a time."""
    said, unit, odds = content["said"], content.get("unit"), content["odds"]
    if not unit or not unit.get("name"):
        raise WrongKind(
            what="the label does not say who is protected.",
            why="odds without a unit are about nobody: a day of a person is not a person.",
            do="make it anew from a ledger, which always has a unit: `discreet label`.",
        )
    yield "Holds the data", said.get("curator", _UNSAID)
    yield "Sees exact data", ", ".join(said.get("raw_access", ())) or _UNSAID
    yield "Sees answers", said.get("released_to", _UNSAID)
    yield "Purpose", said.get("purpose", _UNSAID)
    columns = ", ".join(unit["columns"]) or "each row"
    period = said.get("period", "all of the data")
    yield "Protects", f"one {unit['name']} ({columns}), {period}, under {unit['relation']}"
    one = content["evidence"].get("release")
    many = _answers(content["releases"])
    yield "Releases", many if one is None else f"the answer R-{one:04d}"
    yield "Spent", content["strength"]["spent"]
    if content["strength"]["left"]:
        yield "Left", content["strength"]["left"]
    if one is None:
        yield "So far", f"{_odds(odds['odds'])}, if all questions were chosen before any answer"
    else:
        yield "This answer", _odds(odds["odds"])
    if content["promise"] is not None:
        yield "In the end", _odds(content["promise"])
    if "group" in odds:
        yield f"Household of {odds['group']['size']}", _guess(odds["group"])
    if odds["question"] == "membership":
        yield "A property", _guess(odds["attribute"])
    yield from _total_lines(content["total"])
    for line in accuracy_lines(content["accuracy"]):
        yield "Accuracy", line
    yield "Mechanisms", ", ".join(content["how"]["mechanisms"]) or "none yet"
    yield "Noise", f"{content['how']['noise']}; randomness {content['how']['randomness']}"
    for fact in content["not_hidden"]:
        yield "Not hidden", fact
    if said.get("limits"):
        yield "Limits", said["limits"]
    evidence = content["evidence"]
    yield (
        "Evidence",
        f"{evidence['software']}; ledger {evidence['ledger']}, entry {evidence['entries']}",
    )
    yield "Head", evidence["head"]


def _total_lines(total: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield what all answers add up to, on the label of one of them."""
    if total is not None:
        yield (
            "All so far",
            f"{_answers(total['releases'])}, {total['spent']}; {_odds(total['odds'])}",
        )
        yield "Left", total["left"]


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _guess(odds: Mapping[str, Any]) -> str:
    return f"a guess is right at most {_up(odds['with_of_100'])} times in 100"


def _odds(odds: Mapping[str, Any]) -> str:
    within = _up(odds["with_of_100"])
    caught = odds["caught_at_false_alarms"]["0.01"]
    return (
        f"at least {100 - within} of 100 answers without, at most {within} of 100 with; an alarm "
        f"with 1 in 100 false alarms catches {of_hundred(caught)}"
    )


def _up(percent: float) -> int:
    whole = int(percent)
    return whole if percent - whole < 1e-9 else min(100, whole + 1)


_STYLE: Final = """
body { font: 15px/1.45 sans-serif; max-width: 48rem; margin: 1.5rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; border: 3px solid currentColor; }
caption { font-size: 1.5rem; font-weight: bold; text-align: left; padding: 0.3rem 0; }
th, td { border-top: 1px solid currentColor; padding: 0.25rem 0.6rem; text-align: left; }
th { width: 9rem; vertical-align: top; } td { overflow-wrap: anywhere; }
ul { margin: 0; padding-left: 1.1rem; }
svg { max-width: 100%; height: auto; }
.pictures { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 0.8rem; }
.pictures > * { flex: 1 1 18rem; }
@media (max-width: 30rem) {
  tr, th, td { display: block; } th { width: auto; border-bottom: 0; } td { border-top: 0; }
}
@media screen and (prefers-color-scheme: dark) { body { background: #1b1d20; color: #ededed; } }
@media print {
  body { margin: 0; padding: 0; font-size: 10px; line-height: 1.3; max-width: none; }
  th, td { padding: 0.1rem 0.5rem; } th { width: 8rem; } .pictures { flex-wrap: nowrap; }
}
"""


def label_html(content: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return a label as a table with pictures below it."""
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{_cell([value for _, value in lines])}</td></tr>"
        for name, lines in groupby(label_lines(content), key=itemgetter(0))
    )
    title = escape(str(content["said"].get("title", "untitled")))
    drawn = "".join(f"<div>{picture.svg()}</div>" for picture in pictures)
    return (
        f"<table><caption>Privacy label: {title}</caption>{rows}</table>"
        f'<div class="pictures">{drawn}</div>'
    )


def _cell(values: Sequence[str]) -> str:
    if len(values) == 1:
        return escape(values[0])
    return f"<ul>{''.join(f'<li>{escape(value)}</li>' for value in values)}</ul>"


def label_page(content: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """Return a label as a page that prints on one sheet."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>Privacy label</title><style>{_STYLE}</style></head>"
        f"<body>{label_html(content, pictures)}</body></html>\n"
    )
