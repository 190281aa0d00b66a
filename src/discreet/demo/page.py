"""The page of the demo: everything that the tour says, with pictures, in one file.

Trust: public.  It needs no script, no font and no other file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, final

__all__ = ["Stop", "write_page"]

_STYLE: Final = """
body { font: 16px/1.5 sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: rgba(128, 128, 128, 0.12); padding: 0.8rem; overflow-x: auto; font-size: 13px; }
.note { color: #c24e00; }
@media (prefers-color-scheme: dark) { body { background: #1b1d20; color: #ededed; } }
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One stop of the tour: a heading, a few words, what is done, what comes out, pictures."""

    title: str
    words: str
    code: str = ""
    result: str = ""
    pictures: tuple[str, ...] = ()


def write_page(path: Path, stops: Sequence[Stop]) -> None:
    """Write the page; folders that are missing are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_page(stops), encoding="utf-8")


def _page(stops: Sequence[Stop]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f"<title>discreet: the demo</title><style>{_STYLE}</style></head>\n"
        "<body><h1>discreet: a tour on made-up data</h1>\n"
        "<p>Dots are answers, lines are their 95 % intervals, and the ticks across them are true "
        "numbers, which only made-up data lets us see.</p>\n"
        f"{''.join(map(_section, stops))}</body></html>\n"
    )


def _section(stop: Stop) -> str:
    parts = [f"<h2>{escape(stop.title)}</h2><p>{escape(stop.words)}</p>"]
    parts += [f"<pre>{escape(text)}</pre>" for text in (stop.code, stop.result) if text]
    parts += [f"<p>{picture}</p>" for picture in stop.pictures]
    return f"<section>{''.join(parts)}</section>\n"
