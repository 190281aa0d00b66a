"""A13: where do random bits come from, and who else has them?

Trust: public.  Garfinkel and Leclerc 2020, Randomness Concerns When Deploying Differential Privacy.

Children of one process must draw nothing that another draws; without bits from the operating system
nothing may be drawn or told; and no file of the package may reach for a generator that can be
seeded, nor ask the operating system past the one place that does.  Streams that repeat, and what
they could be made of, are named in the noise room and in the one file whose theorem needs them.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import discreet
import discreet_audit
from discreet_audit.findings import Finding

_BANNED: Final = ("random", "numpy.random", "np.random", "secrets", "os.urandom", "uuid")
_DOORS: Final = frozenset(
    {
        ("discreet/noise/entropy.py", "os.urandom"),
    }
)
_KEYED: Final = ("KeyedEntropy", "keyed_entropy", "cryptography")
_NEEDS_KEYED: Final = (
    "discreet/noise/",
    "discreet/release/answer.py",
    "discreet/synthetic/public_streams.py",  # of public randomness, never of noise
    "discreet/learning/public_randomness.py",  # likewise: splits, starts, posteriors
)
_NEEDS_CIPHERS: Final = "discreet/noise/"


def attack(*, quick: bool) -> Finding:
    """Fork, take bits away, and read all files."""
    children = 64 if quick else 1000
    outcome = _children(children)
    sources = dict(_sources())
    reached = [
        f"{path}: {name}"
        for path, source in sources.items()
        for name in reaches(source)
        if (path, name) not in _DOORS
    ]
    repeating = [
        f"{path}: {name}"
        for path, source in sources.items()
        if path.startswith("discreet/")
        for name in repeats(source)
        if not path.startswith(_NEEDS_CIPHERS if name == "cryptography" else _NEEDS_KEYED)
    ]
    wrong = [*reached, *repeating] + [
        f"{count} {name.replace('_', ' ')}"
        for name, count in outcome.items()
        if name != "children" and count
    ]
    return Finding(
        claimed="children share no noise; without random bits nothing is drawn; no generator that "
        "can be seeded is within reach of noise, and no stream that repeats but where one must",
        measured=f"{children} children, {outcome['repeated']} values twice; {len(sources)} files, "
        f"{len(reached)} reach for other randomness, {len(repeating)} for streams that repeat; "
        f"{len(wrong)} violations"
        f"{': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={
            **outcome,
            "files": len(sources),
            "reached": len(reached),
            "repeating": len(repeating),
        },
        not_covered="a virtual machine that is copied while it runs: copies draw the same until "
        "they take new bits; the quality of the operating system's bits",
    )


def _sources() -> Iterator[tuple[str, str]]:
    """Yield all files of the package and of its audit, by their paths from its parent folder."""
    for package in (discreet, discreet_audit):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(folder.parent).as_posix(), path.read_text("utf-8")


def reaches(source: str) -> list[str]:
    """Return which forbidden sources of randomness a program names.

    >>> reaches("import random as r, numpy as np; x = np.random.default_rng(3)")
    ['random', 'np.random']
    """
    return [name for name in _names(ast.parse(source)) if name in _BANNED]


def repeats(source: str) -> list[str]:
    """Return which streams that repeat a program names, or what they are made of.

    >>> repeats("from discreet.noise import KeyedEntropy, SYSTEM")
    ['KeyedEntropy']
    """
    parts = (part for name in _names(ast.parse(source)) for part in name.split("."))
    return sorted({part for part in parts if part in _KEYED})


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), names=aliases):
                yield module
                yield from (f"{module}.{alias.name}" for alias in aliases)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                yield f"{owner}.{name}"


def _children(count: int) -> dict[str, Any]:
    words = [sys.executable, "-m", "discreet_audit.implementation.children", str(count)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome
