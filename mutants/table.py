"""The table of all mutants: which test catches each with the least work."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from mutants.mutant import ROOT, Mutant
from mutants.trial import Verdict

RECORD: Final = ROOT / "mutants" / "caught.json"
PAGE: Final = ROOT / "docs" / "audit.md"
HEADING: Final = "## Mutants"
_INTRODUCTION: Final = """\
A mutant is a small mistake that is planted in a copy of a kernel file.  `./run mutants` plants each
of them, and the tests that are named for it have to fail: not because the code no longer runs, but
because what they assert is no longer so.  None of {count} survives.  Beside each stands the test
that needs the least work to catch it, with the seconds of processor time that it took.
A mutant that is caught says that this mistake would be seen, and nothing about others.

| room | mistake | caught by | seconds |
|---|---|---|---|
"""


def record(verdicts: Iterable[Verdict], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is on record once some mutants were tried."""
    made = {
        verdict.mutant.name: {
            "test": verdict.shortest,
            "seconds": round(verdict.seconds[verdict.shortest], 2),
        }
        for verdict in verdicts
        if verdict.caught
    }
    return {**known, **made}


def recorded() -> dict[str, Any]:
    """Return what is on record: for each mutant a test, and its seconds."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return found


def section(mutants: Iterable[Mutant], known: Mapping[str, Any]) -> str:
    """Return the section of the page, for mutants that are all on record."""
    rows = [
        f"| {mutant.room} | {mutant.name} | {_shown(known[mutant.name]['test'])} | "
        f"{known[mutant.name]['seconds']:.1f} |"
        for mutant in mutants
    ]
    return f"{HEADING}\n\n{_INTRODUCTION.format(count=len(rows))}" + "\n".join(rows) + "\n"


def with_section(page: str, made: str) -> str:
    """Return a page with the section at its end, in place of an earlier one."""
    return f"{page.partition(HEADING)[0].rstrip()}\n\n{made}"


def write(mutants: Iterable[Mutant], known: Mapping[str, Any], page: Path = PAGE) -> None:
    """Write the record and the page."""
    listed = list(mutants)
    kept = {mutant.name: known[mutant.name] for mutant in listed}
    RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(with_section(page.read_text("utf-8"), section(listed, kept)), encoding="utf-8")


def _shown(test: str) -> str:
    file, _, function = test.partition("::")
    return f"`{file.removeprefix('tests/')}` {function}"
