"""discreet: answers questions about people without giving any of them away.

Trust: public.

>>> import discreet as dp
>>> dp.noise.DiscreteLaplace(scale=2).sample(10).shape
(10,)
>>> dp.loss.Pure(epsilon=1).epsilon(delta=0)
1.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from discreet import errors, exact, noise, theorems, units
from discreet.units import person, row

if TYPE_CHECKING:  # loaded when first used, because SciPy and DuckDB take their time
    from discreet import accounting, continual, ledger, loss, mechanisms, query
    from discreet.accounting import Budget
    from discreet.session import open  # noqa: A004  called discreet.open

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "__version__",
    "accounting",
    "continual",
    "errors",
    "exact",
    "ledger",
    "loss",
    "mechanisms",
    "noise",
    "open",
    "person",
    "query",
    "row",
    "theorems",
    "units",
]

_LATE: Final = frozenset({"accounting", "continual", "ledger", "loss", "mechanisms", "query"})
_NAMES: Final = {"Budget": "accounting", "open": "session"}


def __getattr__(name: str) -> Any:
    """Load a room the first time that it, or a name from it, is asked for."""
    if name in _LATE:
        return importlib.import_module(f"discreet.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"discreet.{_NAMES[name]}"), name)
    message = f"module 'discreet' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
