"""Other libraries, in an environment of their own and a process of their own.

The environment is made once, from a requirement file with hashes, and again when the file or the
interpreter changes. The process answers one JSON line for each JSON line it is sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.measure import ROOT, Contender

HOME = ROOT / ".venv.bench"


class PeersUnavailable(Exception):
    """The environment could not be made, or the process in it does not answer."""


def make_environment(requirements: Path) -> Path:
    """Return the interpreter of an environment that holds exactly these requirements."""
    python = HOME / "bin" / "python"
    stamp = HOME / "made-from"
    wanted = hashlib.sha256(
        f"{HOME}\n{sys.version}\n{requirements.read_text(encoding='utf-8')}".encode()
    ).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making {HOME.name} from {requirements.relative_to(ROOT)} ...", file=sys.stderr)
    try:
        shutil.rmtree(HOME, ignore_errors=True)
        venv.create(HOME, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        raise PeersUnavailable(str(failure)) from failure
    _install(python, requirements)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _install(python: Path, requirements: Path) -> None:
    """Use uv where there is one, and otherwise the pip that came with Python."""
    base = getattr(sys, "_base_executable", sys.executable)
    installers = [[base, "-m", "pip", "--python", str(python), "install", "-qq"]]
    if uv := shutil.which("uv"):
        installers.insert(0, [uv, "pip", "install", "-q", "--python", str(python)])
    said = ""
    for installer in installers:
        command = [*installer, "--require-hashes", "-r", str(requirements)]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode == 0:
            return
        said = done.stderr.strip().rpartition("\n")[2]
    raise PeersUnavailable(f"the packages could not be installed: {said}")


class Peers:
    """A process that runs a script of this folder in the environment."""

    def __init__(self, script: str, requirements: Path) -> None:
        """Start the process and wait for its first line, which says what is installed."""
        python = make_environment(requirements)
        command = [str(python), "-I", str(Path(__file__).parent / script)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.versions: dict[str, str] = self._answer()["versions"]

    def contender(self, **request: object) -> Contender:
        """Make a contender of a request that is answered with CPU seconds per unit of work."""

        def contender() -> float:
            return float(self._ask(request)["seconds"])

        return contender

    def _ask(self, request: dict[str, object]) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError):  # it ended: reading its answer will say so
            print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._process.kill()
            self._process.wait()
            raise PeersUnavailable(f"the process in {HOME.name} ended; its error is above")
        return dict(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()  # closes its input, which ends it
