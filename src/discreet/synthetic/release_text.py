"""Synthetic tables as text and HTML: a few rows, and what a reader should know beside them.

Trust: public.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from discreet.plan.plan_words import shown_price
from discreet.release.display import plain

if TYPE_CHECKING:  # for annotations alone
    from discreet.synthetic.release import SyntheticRelease

_ROWS: Final = 5


def text_of(release: SyntheticRelease) -> str:
    """Return some rows, and below them what they are and what they cost."""
    table = _first_rows(release)
    columns = [
        [plain(name), *(plain(value) for value in table.column(name).to_pylist())]
        for name in table.column_names
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:], "...", "", *about(release)])


def html_of(release: SyntheticRelease) -> str:
    """Return the same for notebooks: escaped, without scripts, and loading nothing."""
    table = _first_rows(release)
    heads = "".join(f"<th>{escape(plain(name))}</th>" for name in table.column_names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(plain(value))}</td>" for value in row.values()) + "</tr>"
        for row in table.to_pylist()
    )
    below = "".join(f"<p>{escape(line)}</p>" for line in about(release))
    return f"<div><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}</div>"


def about(release: SyntheticRelease) -> Iterator[str]:
    """Yield what a reader should know."""
    if not release.private:
        yield "Not private: test mode. Show this to nobody who may not see the data itself."
    method = release.evidence.method["name"]
    yield (
        f"Rows of people who do not exist, by {method}: {release.total:,} of them by default, "
        "a noisy number; table(rows=...) makes as many as are wanted, for free."
    )
    if release.plan.moves > 1:
        yield "Several rows of a person come out as independent rows."
    cost = "It was on record: nothing was charged." if release.replayed else ""
    yield f"Price: {shown_price(release.plan.price)}. {cost}".rstrip()
    yield (
        "What the workload does not ask for may be wrong: report() says how far off marginals "
        "may be."
    )


def _first_rows(release: SyntheticRelease) -> pa.Table:
    return release.table().slice(0, _ROWS)
