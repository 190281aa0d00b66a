"""Write ``docs/backends.md`` from the matrix of engines: ``python docs/write_backends.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from discreet.engines.backends import DONE, ENGINES, MATRIX, SECTIONS

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# What each engine can do

DuckDB answers questions about files and frames, on this machine. Spark, classic or Connect, runs
the same statement as Spark SQL, and a PostgreSQL server runs it where its tables are. All engines
get the same request, bound what each person contributes in the same statement, and return the same
integers; only which groups a person keeps, if there are too many, is drawn in an order of each
engine's own. Here is what differs.
This page is generated from the matrix that the tests check (`python docs/write_backends.py`). One
shared suite asks each engine for everything marked *done*, and everything else is refused before
anything is charged, for the reason given below.

- **done**: the suite asks for it, and gets the same numbers as from all other engines.
- **notyet**: something that the engine is built on has to change first.
- **notimpl**: it could be built, but is not.
- **never**: it would break a promise, or has no meaning there.

The *reference* computes row by row, in plain Python. It is part of the tests and checks the others.
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
