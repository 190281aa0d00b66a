"""Other libraries, in an environment of their own and a process of their own.

Each benchmark has its own environment, ``.venv.bench/NAME``. It is made once, from a requirement
file with hashes, and again when the file or the interpreter changes. The process in it runs
``peers/NAME.py`` and answers one JSON line for each JSON line it is sent.
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
from benchmarks.process_tree import tree_seconds

ENVIRONMENTS = ROOT / ".venv.bench"
WITH_TORCH = frozenset({"learning_opacus"})
"""Environments that get the build of PyTorch that the tests run with."""


class PeersUnavailable(Exception):
    """The environment could not be made, or the process in it does not answer."""


def make_environment(name: str, *, prefix: str = "bench-") -> Path:
    """Return the interpreter of an environment that holds exactly requirements/bench-NAME.txt."""
    home, requirements = ENVIRONMENTS / name, ROOT / "requirements" / f"{prefix}{name}.txt"
    python = home / "bin" / "python"
    stamp = home / "made-from"
    wanted = hashlib.sha256(
        f"{home}\n{sys.version}\n{requirements.read_text(encoding='utf-8')}".encode()
    ).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    places = home.relative_to(ROOT), requirements.relative_to(ROOT)
    print("making {} from {} ...".format(*places), file=sys.stderr)
    try:
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        raise PeersUnavailable(str(failure)) from failure
    _install(python, requirements)
    if name in WITH_TORCH:
        _install(python, ROOT / "requirements" / "torch.txt")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _install(python: Path, requirements: Path) -> None:
    """Use uv where there is one, and otherwise the pip that came with Python.

    The file lists all that is needed, and leaves out what a package says it needs but does not.
    """
    base = getattr(sys, "_base_executable", sys.executable)
    installers = [[base, "-m", "pip", "--python", str(python), "install", "-qq"]]
    if uv := shutil.which("uv"):
        installers.insert(0, [uv, "pip", "install", "-q", "--python", str(python)])
    said = ""
    for installer in installers:
        command = [*installer, "--require-hashes", "--no-deps", "-r", str(requirements)]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode == 0:
            return
        said = done.stderr.strip().rpartition("\n")[2]
    raise PeersUnavailable(f"the packages could not be installed: {said}")


class Peers:
    """A process that runs a script of this folder, in the environment of its name or another."""

    def __init__(self, name: str, environment: str | None = None) -> None:
        """Start the process and wait for its first line, which says what is installed."""
        self._name = environment or name
        python = make_environment(self._name)
        command = [str(python), "-I", str(Path(__file__).parent / f"{name}.py")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            self.first = self._answer()
        except BaseException:
            self._stop()
            raise
        self.versions: dict[str, str] = self.first["versions"]

    def contender(self, **request: object) -> Contender:
        """Make a contender of a request that is answered with CPU seconds per unit of work."""

        def contender() -> float:
            return float(self.ask(**request)["seconds"])

        return contender

    def ask(self, **request: object) -> dict[str, Any]:
        """Send one request and wait for all of its answer."""
        with contextlib.suppress(BrokenPipeError):  # it ended: reading its answer will say so
            print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._answer()

    def seconds(self) -> float:
        """Return the CPU time of the process so far."""
        return tree_seconds(self._process.pid)

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._stop()
            place = (ENVIRONMENTS / self._name).relative_to(ROOT)
            raise PeersUnavailable(f"the process in {place} ended; its error is above")
        return dict(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:  # it may still be at work on something that nobody waits for
            self._process.kill()
        self._process.communicate()  # closes its input, which ends it
