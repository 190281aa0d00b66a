"""Write ``docs/backends.md`` from the matrix of engines: ``python docs/write_backends.py``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from discreet.engines.warehouses import WAREHOUSES

ROOT = Path(__file__).resolve().parent.parent
MATRIX = tomllib.loads((ROOT / "tests/engines/contract/matrix.toml").read_text(encoding="utf-8"))
ENGINES, REASONS = MATRIX["engines"], MATRIX["reasons"]
HEAD = """# What each engine can do

DuckDB answers questions about local files and frames. Spark, classic or Connect, runs the same
statement as Spark SQL, and a PostgreSQL server runs it next to its tables. All engines get the same
request, bound each person's contribution in the same statement, and return the same integers. One
thing is random per engine: the groups that a person keeps if they have too many.

This page lists the differences. It is generated from the matrix that the tests check
(`python docs/write_backends.py`). One shared test suite runs everything marked *done* on each
engine; everything else is refused before anything is charged, for the reason given below.

- **done**: the suite tests it, with the same numbers as on all other engines.
- **notyet**: the engine, or a library that it uses, must change first.
- **notimpl**: possible, but not implemented.
- **never**: it would break a promise, or does not apply to this engine.

The *reference* computes row by row, in plain Python. It is part of the tests and checks the others.
"""
PRINTED = """## Warehouses

`discreet.engines.warehouses` has a dialect for each of these, as a start for an engine
([write an engine](guide/write-an-engine.md)). The tests print its statements and parse them back;
nothing runs them, so it is untested that they return the same integers.

| | statements | results |
|---|---|---|"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    notes: dict[str, int] = {}
    for section, features in MATRIX["sections"].items():
        parts.append(f"## {section}\n\n| | {' | '.join(ENGINES)} |\n|---|{'---|' * len(ENGINES)}")
        parts += [
            f"| {each} | {' | '.join(row(lacks, notes))} |" for each, lacks in features.items()
        ]
        parts.append("")
    parts.append(PRINTED)
    parts += [f"| {each.title} | printed and parsed back | not run by us |" for each in WAREHOUSES]
    parts.append("\n## Reasons\n")
    parts += [f"{number}. {text}" for text, number in notes.items()]
    return "\n".join(parts) + "\n"


def row(lacks: Mapping[str, str], notes: dict[str, int]) -> Iterator[str]:
    """Yield the cells of one feature, each with the number of its reason, if any."""
    for engine in ENGINES:
        if engine not in lacks:
            yield "done"
        else:
            mark, reason = REASONS[lacks[engine]]
            yield f"{mark} ({notes.setdefault(reason, len(notes) + 1)})"


if __name__ == "__main__":
    (ROOT / "docs/backends.md").write_text(page(), encoding="utf-8")
