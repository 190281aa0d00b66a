"""The first hour of a newcomer: twelve tables, ten questions each at epsilon 0.1.

    ./run bench first_hour [TABLE ...]

Each table goes through ``discreet init`` twice, in a folder of its own: with default settings, and
with the proposals that an owner accepts (``--owner --yes --accept-proposals``).  Then ten questions
are asked on the command line.  An answer is judged against the truth
(:mod:`benchmarks.rows.first_hour_tables`); *warned* is a question that was not asked and cost
nothing, whose message names an epsilon at which the answer could be read, or says that none would
do; *refused* one that was refused for another reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import ROOT
from benchmarks.peers.environment import PeersUnavailable
from benchmarks.rows.first_hour_tables import TABLES, NewTable, judged, truth_of, write_tables

KINDS: Final = ("useful", "weak", "blind", "empty", "wrong", "warned", "refused")
SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": (),
    "accepted": ("--owner", "--accept-proposals"),
}
_EACH: Final = "0.1"


def main() -> int:
    """Ask everything, print a table, and return 1 if a bar is missed."""
    wanted = set(sys.argv[1:])
    tables = [table for table in TABLES if not wanted or table.name in wanted]
    counts: dict[tuple[str, bool], Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            paths = write_tables(Path(folder))
        except PeersUnavailable as missing:
            print(f"not measured: {missing}")
            return 1
        for setting, options in SETTINGS.items():
            for table in tables:
                place = Path(folder, f"{setting}_{table.name}")
                place.mkdir()
                for question, kind, words in first_hour(place, paths[table.name], table, options):
                    counts.setdefault((setting, table.large), Counter())[kind] += 1
                    if setting == "accepted":
                        print(f"{table.name:9} {kind:8} {question}  {words}", flush=True)
    print("\n| settings | people | asked | " + " | ".join(KINDS) + " |")
    print("|---|---|---|" + "---|" * len(KINDS))
    for (setting, large), found in counts.items():
        size = "above 5,000" if large else "fewer"
        cells = " | ".join(str(found[kind]) for kind in KINDS)
        print(f"| {setting} | {size} | {found.total()} | {cells} |")
    return 0 if wanted else _below(counts)


def first_hour(
    place: Path, path: Path, table: NewTable, options: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    """Set a table up, ask its questions, and yield each with what came of it."""
    unit = ("--unit", table.unit or "row")
    done = discreet(place, "init", str(path), "--table", table.name, *unit, "--yes", *options)
    if done.returncode:
        raise RuntimeError(f"init {table.name}: {done.stderr}")
    for question in table.questions:
        done = discreet(place, "ask", question, "--epsilon", _EACH, "--json")
        said = json.loads(done.stdout)
        if done.returncode:
            kind = "warned" if said.get("code") == "E507" else "refused"
            yield question, kind, f"{said.get('what', '')} {said.get('do', '')}"
            continue
        truth = truth_of(path, question)
        yield question, judged(question, truth, rows_of(said)), ""


def rows_of(said: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of an answer as the command line writes it."""
    return list(said["rows"])


def discreet(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        command, cwd=place, capture_output=True, check=False, text=True, env=environment
    )


def _below(counts: Mapping[tuple[str, bool], Counter[str]]) -> int:
    """Say which bars are missed by tables with accepted proposals."""
    large, small = counts["accepted", True], counts["accepted", False]
    bars = {
        "useful on large tables (45)": large["useful"] >= 45,
        "useful or warned on small ones (30)": small["useful"] + small["warned"] >= 30,
        **{
            f"no {kind} answer was paid for": not large[kind] + small[kind]
            for kind in ("empty", "blind", "wrong")
        },
    }
    for words, met in bars.items():
        print(f"{'met   ' if met else 'MISSED'}  {words}")
    return 0 if all(bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
