"""An explanation: what a loss means, for one audience, as text, HTML and JSON.

Trust: public.  Words are templates; every number in them comes from the certified curve.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final, final

from discreet.charts import Picture
from discreet.explain.figures import Figures
from discreet.notebook import Shown

FORMAT: Final = "explanation/1"
_WIDTH: Final = 88
_STYLE: Final = """
body { font: 16px/1.5 sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; }
@media screen and (prefers-color-scheme: dark) { body { background: #1b1d20; color: #ededed; } }
@media print { body { margin: 0; font-size: 12px; } svg, p { break-inside: avoid; } }
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and the sentences below it.

    >>> Section(heading="Odds", lines=("A coin is right 50 times.",)).lines[0]
    'A coin is right 50 times.'
    """

    heading: str
    lines: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Shown):
    """The meaning of a disclosure, for one audience.

    >>> from discreet.explain import explain
    >>> from discreet.loss import Pure
    >>> explain(Pure(epsilon=1), audience="subject").figures.one.within
    74
    """

    audience: str
    title: str
    sections: tuple[Section, ...]
    figures: Figures = field(repr=False)
    content: dict[str, Any] = field(repr=False)
    pictures: tuple[Picture, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """Show it as lines of text."""
        lines = [self.title, "=" * len(self.title), "", *self._blocks()]
        for section in self.sections:
            lines += ["", section.heading]
            for line in section.lines:
                lines += textwrap.wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        return "\n".join(lines)

    def _blocks(self) -> Iterator[str]:
        """Draw both worlds as blocks, one for 2 of 100 answers; the full ones suggest it."""
        odds, question = self.figures.one, self.content["figures"]["question"]
        worlds = ("without", "with") if question == "membership" else ("first", "second")
        for world, bound, count in (
            (worlds[0], "at least", odds.without),
            (worlds[1], "at most", odds.within),
        ):
            full = count // 2 if bound == "at least" else (count + 1) // 2
            yield f"  {world:<9}{'█' * full}{'·' * (50 - full)} {bound} {count} of 100"

    def to_html(self) -> str:
        """Return it as HTML, with pictures; it has no scripts and loads nothing."""
        parts = [f"<h2>{escape(self.title)}</h2>", *(each.svg() for each in self.pictures)]
        for section in self.sections:
            lines = "".join(f"<p>{escape(line)}</p>" for line in section.lines)
            parts.append(f"<h3>{escape(section.heading)}</h3>{lines}")
        return f'<div class="discreet-explanation">{"".join(parts)}</div>'

    def to_blocks(self) -> str:
        """Return all pictures as text, for a terminal."""
        return "\n\n".join(map(str, self.pictures))

    def to_page(self) -> str:
        """Return it as a whole page of HTML."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>"
            f"<body>{self.to_html()}</body></html>\n"
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything that it says as plain values, numbers unrounded."""
        return {
            "format": FORMAT,
            "audience": self.audience,
            "title": self.title,
            "sections": [
                {"heading": section.heading, "lines": list(section.lines)}
                for section in self.sections
            ],
            **self.content,
        }

    def _repr_html_(self) -> str:
        return self.to_html()
