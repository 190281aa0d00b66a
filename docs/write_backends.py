"""Write ``docs/backends.md`` from the matrix of engines: ``python docs/write_backends.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from discreet.engines.backends import DONE, ENGINES, MATRIX, SECTIONS

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# What each engine can do

A question is answered where its rows are: files and frames by DuckDB on this machine, data frames
of Spark by Spark, classic or Connect, and tables on a PostgreSQL server by reading them from there.
Engines get the same bounded question and give the same integers, bit for bit; what differs is
listed here. This page is made from the matrix that the tests check
(`python docs/write_backends.py`): everything that is *done* is asked of that engine by one shared
suite, and everything else is refused before anything is charged, with the reason below.

- **done**: the suite asks it there, and gets the numbers of all others.
- **notyet**: something that the engine is built on has to change first.
- **notimpl**: it could be built, and is not.
- **never**: it would break a promise, or means nothing there.

The *reference* computes row by row, in plain Python, to check the others; no session opens it.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    notes: dict[str, int] = {}
    for section, features in SECTIONS.items():
        parts.append(f"## {section}\n\n| | {' | '.join(ENGINES)} |\n|---|{'---|' * len(ENGINES)}")
        parts += [f"| {feature} | {' | '.join(row(feature, notes))} |" for feature in features]
        parts.append("")
    parts.append("## Reasons\n")
    parts += [f"{number}. {text}" for text, number in notes.items()]
    return "\n".join(parts) + "\n"


def row(feature: str, notes: dict[str, int]) -> Iterator[str]:
    """Yield the cells of one feature, with the number of the reason where there is one."""
    for engine in ENGINES:
        cell = MATRIX[feature][engine]
        if cell.mark is DONE:
            yield "done"
        else:
            number = notes.setdefault(cell.reason, len(notes) + 1)
            yield f"{cell.mark.value} ({number})"


if __name__ == "__main__":
    (ROOT / "docs/backends.md").write_text(page(), encoding="utf-8")
