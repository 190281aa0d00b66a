"""An audit under way: what it has found so far is on disk, so that a killed one is taken up again.

Trust: public.  What was found stays found: a row that refuted its promise is not drawn again.

A file of lines of JSON.  The first one names the audit: its length and the code that runs.  One of
another length or of other code begins anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from discreet.attacks.measured import Measured
from discreet_audit.findings import Finding
from discreet_audit.suite.rows import Line

_PACKAGES = Path(__file__).resolve().parents[2]


@final
class UnfinishedAudit:
    """What one audit has found so far.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "unfinished.jsonl"
    >>> UnfinishedAudit(path, long=False).add("A6", Finding(
    ...     code="A6", claimed="refused", measured="3 of 3", passed=True, not_covered=""), 1.5)
    >>> UnfinishedAudit(path, long=False).found["A6"][0].measured
    '3 of 3'
    """

    __slots__ = ("_path", "found")

    def __init__(self, path: Path, *, long: bool) -> None:
        """Read what an audit of the same length and the same code has left there."""
        self._path = path
        self.found: dict[str, tuple[Line | Finding, float]] = {}
        name = {"audit": "long" if long else "quick", "code": code_digest()}
        lines = _whole_lines(path)
        if not lines or lines[0] != name:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(name) + "\n", encoding="utf-8")
            return
        for line in lines[1:]:
            self.found[line["name"]] = (_result(line["result"]), line["seconds"])

    def add(self, name: str, result: Line | Finding, seconds: float) -> None:
        """Keep what was found."""
        self.found[name] = (result, seconds)
        line = {"name": name, "seconds": seconds, "result": result.to_json()}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def code_digest() -> str:
    """Tell the code of both packages apart.

    >>> len(code_digest())
    64
    """
    digest = hashlib.sha256()
    for package in ("discreet", "discreet_audit"):
        for path in sorted((_PACKAGES / package).rglob("*.py")):
            digest.update(f"{path.relative_to(_PACKAGES)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines that were written to their ends."""
    if not path.exists():
        return []
    *whole, _torn = path.read_text(encoding="utf-8").split("\n")
    try:
        return [json.loads(line) for line in whole]
    except ValueError:
        return []


def _result(document: Mapping[str, Any]) -> Line | Finding:
    if "code" in document:
        rows = tuple(map(_measured, document["rows"]))
        return Finding(**{**document, "rows": rows})
    names = ("part", "name", "broken")
    return Line(**{name: document[name] for name in names}, measured=_measured(document))


def _measured(document: Mapping[str, Any]) -> Measured:
    """Return what ``Measured.to_json`` has written."""
    given = {name: document[name] for name in Measured.__dataclass_fields__}
    for name in ("lower", "estimate", "claimed", "delta", "level"):
        given[name] = _number(given[name])
    given["hits"] = tuple(given["hits"])
    given["curve"] = tuple(
        (_number(point["delta"]), _number(point["lower"]), _number(point["claimed"]))
        for point in given["curve"]
    )
    return Measured(**given)


def _number(value: Any) -> Any:
    return None if value is None else float(value)
