"""Answers as HTML, for notebooks: escaped, without scripts, and with nothing to load.

Trust: public.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from discreet.release.cells import Cell, cells, plain
from discreet.release.texts import ROWS, notes

if TYPE_CHECKING:  # a release shows itself by these functions, so its module imports this one
    from discreet.release.release import Release

__all__ = ["html_of"]

_WEAK: Final = ' style="color:#a05a00" title="error above a quarter of the number"'


def html_of(release: Release) -> str:
    """Return the table and the notes below it."""
    heads = "".join(f"<th>{escape(plain(column.name))}</th>" for column in release.columns)
    shown = [cells(column, ROWS) for column in release.columns]
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in zip(*shown, strict=True))
    below = "".join(f"<p>{escape(note)}</p>" for note in notes(release))
    return f"<div><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}</div>"


def _cell(cell: Cell) -> str:
    return f"<td{_WEAK if cell.weak else ''}>{escape(cell.text)}</td>"
