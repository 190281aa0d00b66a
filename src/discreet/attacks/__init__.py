"""Attacks and audits: what can be learned from answers, and whether promises are kept.

Trust: public.

>>> from discreet.attacks import estimate_epsilon
>>> from discreet.mechanisms import Laplace
>>> print(estimate_epsilon(Laplace(scale=1), (0, 1), 1000, claim=1).violates)
False
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # loaded when first used: SciPy and DuckDB take their time
    from discreet.attacks import claims
    from discreet.attacks.commands import Command
    from discreet.attacks.estimate import estimate_epsilon
    from discreet.attacks.exact import Enumerated, exact_epsilon
    from discreet.attacks.guesses import guessed
    from discreet.attacks.measured import Measured
    from discreet.attacks.neighbors import removals, shifts, without_units
    from discreet.attacks.questions import Asked, Question
    from discreet.attacks.subjects import Batches, Calls, Raised, Runs

__all__ = [
    "Asked",
    "Batches",
    "Calls",
    "Command",
    "Enumerated",
    "Measured",
    "Question",
    "Raised",
    "Runs",
    "claims",
    "estimate_epsilon",
    "exact_epsilon",
    "guessed",
    "removals",
    "shifts",
    "without_units",
]

_MODULES: Final = frozenset({"claims"})
_NAMES: Final = {
    "Asked": "questions",
    "Batches": "subjects",
    "Calls": "subjects",
    "Command": "commands",
    "Enumerated": "exact",
    "Measured": "measured",
    "Question": "questions",
    "Raised": "subjects",
    "Runs": "subjects",
    "estimate_epsilon": "estimate",
    "exact_epsilon": "exact",
    "guessed": "guesses",
    "removals": "neighbors",
    "shifts": "neighbors",
    "without_units": "neighbors",
}


def __getattr__(name: str) -> Any:
    """Load a module the first time that it, or a name from it, is asked for."""
    if name in _MODULES:
        return importlib.import_module(f"discreet.attacks.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"discreet.attacks.{_NAMES[name]}"), name)
    message = f"module 'discreet.attacks' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
