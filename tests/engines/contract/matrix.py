"""Which features an engine has, as the matrix says; ``matrix.toml`` is also a page of the docs."""

import tomllib
from pathlib import Path
from typing import NamedTuple

_WRITTEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ENGINES = tuple(_WRITTEN["engines"])
DONE = "done"


class Cell(NamedTuple):
    """One feature on one engine; what is not done has a reason, which its refusal gives."""

    mark: str = DONE
    reason: str = ""


MATRIX = {
    feature: {
        engine: Cell(*_WRITTEN["reasons"][lacks[engine]]) if engine in lacks else Cell()
        for engine in ENGINES
    }
    for section in _WRITTEN["sections"].values()
    for feature, lacks in section.items()
}


def answered_by(engine, cases):
    """Return the cases all of whose features an engine has."""
    return [
        asked
        for asked in cases
        if all(MATRIX[feature][engine].mark is DONE for feature in asked.features)
    ]
