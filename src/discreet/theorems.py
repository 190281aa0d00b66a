"""The theorems of the package, read from the docstrings that state them.

Trust: public.

A docstring states a theorem as "Theorem (key, source).  Statement.", with "key" followed by its
name in double backquotes; a lemma, a fact or an assumption likewise.  The statement ends with its
paragraph or with "Proof"; the source is optional.  Other docstrings cite the key, and tests carry
it in ``pytest.mark.theorem``.  If several docstrings state one key, those with a source come first,
and among these the longest statement counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

_STATED: Final = re.compile(
    r"\b(?:Theorem|Lemma|Fact|Corollary|Assumption)s?\s+\(keys?\s+"
    r"(?P<keys>``[a-z0-9-]+``(?:,?\s+(?:and\s+)?``[a-z0-9-]+``)*)"
    r"(?:[;,]\s+(?P<source>[^()]*(?:\([^()]*\)[^()]*)*))?\)[.:]?\s+"
    r"(?P<statement>.*?)"
    r"(?=(?<=[.)])\n\s*\n|\"\"\"|\s+Proof\b|\s+(?:Theorem|Lemma)s?\s+\(key|\s+Definition)",
    re.DOTALL,
)
_KEY: Final = re.compile(r"``([a-z0-9-]+)``")
_ROLE: Final = re.compile(r":[a-z]+:`[~.]*([^`]*)`")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A statement, where it comes from, and the module that states it.

    >>> theorems()["laplace-mechanism"].source
    'Ghosh, Roughgarden and Sundararajan 2012'
    """

    key: str
    statement: str
    source: str
    module: str


@cache
def theorems() -> Mapping[str, Theorem]:
    """Return all theorems of the installed package, by key."""
    package = Path(__file__).parent
    return read_theorems(package.parent, package.rglob("*.py"))


def read_theorems(root: Path, files: Iterable[Path]) -> Mapping[str, Theorem]:
    """Return the theorems stated in some files of Python, which are below a root."""
    found: dict[str, tuple[tuple[bool, int], Theorem]] = {}
    for path in sorted(files):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        for match in _STATED.finditer(path.read_text(encoding="utf-8")):
            for key in _KEY.findall(match["keys"]):
                theorem = Theorem(
                    key=key,
                    statement=_plain(match["statement"]),
                    source=_plain(match["source"] or f"proof in {module}"),
                    module=module,
                )
                weight = bool(match["source"]), len(theorem.statement)
                found[key] = max(found.get(key, (weight, theorem)), (weight, theorem), key=_weight)
    return MappingProxyType({key: found[key][1] for key in sorted(found)})


def _plain(text: str) -> str:
    return " ".join(_ROLE.sub(r"\1", text).replace("``", "").split())


def _weight(pair: tuple[tuple[bool, int], Theorem]) -> tuple[bool, int]:
    return pair[0]
