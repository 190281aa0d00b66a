"""Try a mutant: patch a copy of the sources, and run the tests that must see it.

The sources themselves are never touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from mutants.mutant import ROOT, SOURCE, Mutant

_LONGEST: Final = 3600
_AT_ONCE: Final = 30


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a mutant.

    Attributes:
        mutant: what was tried.
        seconds: the processor time of each test that caught it.
        missed: tests that were named and did not fail by an assertion, and what they did.
    """

    mutant: Mutant
    seconds: dict[str, float]
    missed: dict[str, str]

    @property
    def caught(self) -> bool:
        """Whether every named test failed, and there is one."""
        return bool(self.seconds) and not self.missed

    @property
    def shortest(self) -> str:
        """The test that needed the least work."""
        return min(self.seconds, key=self.seconds.__getitem__)

    def __str__(self) -> str:
        """Say it on one line."""
        if self.caught:
            return f"caught in {self.seconds[self.shortest]:.2f} s by {self.shortest}"
        told = "; ".join(f"{test}: {what}" for test, what in self.missed.items())
        return f"SURVIVED ({told})"


@contextmanager
def copied() -> Iterator[Path]:
    """Make a copy of the sources with what is compiled of them, and throw it away."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(SOURCE, Path(folder) / "src"))


def tried(mutant: Mutant) -> Verdict:
    """Patch a copy, and see what the named tests say."""
    text = mutant.patched()
    with copied() as source:
        (source / mutant.file).write_text(text, encoding="utf-8")
        found = run_tests(source, mutant.caught_by)
    seconds: dict[str, float] = {}
    missed: dict[str, str] = {}
    for test in mutant.caught_by:
        told = found.get(test)
        if told is None:
            missed[test] = f"not run: {found.get('', '')}"
        elif told["asserted"]:
            seconds[test] = told["seconds"]
        else:
            how = f"{told['failed']}: {told['text']}" if told["failed"] else "passed"
            missed[test] = how if told["run"] or told["failed"] else "skipped"
    return Verdict(mutant=mutant, seconds=seconds, missed=missed)


def failing_unpatched(tests: Sequence[str]) -> list[str]:
    """Return which tests do not pass as it is: what fails anyway catches nothing."""
    found: dict[str, Any] = {}
    with copied() as source:
        for start in range(0, len(tests), _AT_ONCE):  # so that each has time on a busy machine
            found |= run_tests(source, tests[start : start + _AT_ONCE])
    return [
        test
        for test in tests
        if test not in found or found[test]["failed"] or not found[test]["run"]
    ]


def run_tests(source: Path, tests: Sequence[str]) -> dict[str, Any]:
    """Run tests on a copy of the sources; what kept them from running is under an empty name."""
    report = source.parent / "report.json"
    words = ["-m", "pytest", "-p", "mutants.witness", "--hypothesis-profile=mutants"]
    options = ["-p", "no:cacheprovider", "-q", "--no-header", "-n", "0", "-m", "", "--tb=short"]
    settings = {
        **os.environ,
        "PYTHONPATH": str(source),
        "MUTANTS_SOURCE": str(source),
        "MUTANTS_REPORT": str(report),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    try:
        done = subprocess.run(
            [sys.executable, *words, *options, *tests],
            cwd=ROOT,
            env=settings,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"": f"still running after {_LONGEST} s"}
    if done.returncode not in {0, 1} or not report.exists():
        return {"": (done.stdout + done.stderr)[-2000:]}
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    return found
