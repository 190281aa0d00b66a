"""The proof index: which code rests on which theorem, and which tests carry its key.

Trust: public.  ``docs/write_proof_index.py`` makes the file from source and tests, which are not
installed; a test compares the two.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, final

from discreet.theorems import Theorem, theorems

INDEX: Final = Path(__file__).with_name("proof_index.json")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A theorem, the modules that rest on it, and the tests that carry its key."""

    theorem: Theorem
    modules: tuple[str, ...]
    tests: tuple[str, ...]


@cache
def proof_index() -> tuple[Proof, ...]:
    """Return all theorems, those of mechanisms first.

    >>> laplace = next(each for each in proof_index() if each.theorem.key == "clopper-pearson")
    >>> "discreet.attacks.proportions" in laplace.modules, len(laplace.tests) > 0
    (True, True)
    """
    stored = json.loads(INDEX.read_text(encoding="utf-8"))
    proofs = [
        Proof(
            theorem=theorem,
            modules=tuple(stored.get(key, {}).get("modules", ())),
            tests=tuple(stored.get(key, {}).get("tests", ())),
        )
        for key, theorem in theorems().items()
    ]
    return tuple(sorted(proofs, key=_place))


def _place(proof: Proof) -> tuple[bool, bool, tuple[str, ...], str]:
    rooms = {module.split(".")[1] for module in proof.modules}
    return "mechanisms" not in rooms, not proof.modules, proof.modules, proof.theorem.key
