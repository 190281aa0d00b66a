"""discreet: answers questions about people without giving any of them away.

Trust: public.

>>> import discreet as dp
>>> dp.noise.DiscreteLaplace(scale=2).sample(10).shape
(10,)
>>> dp.loss.Pure(epsilon=1).epsilon(delta=0)
1.0
"""

from __future__ import annotations

import gc
import importlib
from typing import TYPE_CHECKING, Any, Final

from discreet import errors, exact, noise, units
from discreet.units import person, row

if TYPE_CHECKING:  # loaded when first used, because SciPy and DuckDB take their time
    from discreet import (
        accounting,
        attacks,
        continual,
        ledger,
        loss,
        mechanisms,
        query,
        theorems,
    )
    from discreet.accounting import Budget
    from discreet.plan import estimate
    from discreet.session import (
        check,
        open,  # noqa: A004  called discreet.open
    )

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "__version__",
    "accounting",
    "attacks",
    "check",
    "continual",
    "errors",
    "estimate",
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

_LATE: Final = frozenset(
    {"accounting", "attacks", "continual", "ledger", "loss", "mechanisms", "query", "theorems"}
)
_NAMES: Final = {
    "Budget": "accounting",
    "check": "session",
    "estimate": "plan",
    "open": "session",
}


def __getattr__(name: str) -> Any:
    """Load a room the first time that it, or a name from it, is asked for."""
    if name in _LATE:
        return _loaded(name)
    if name in _NAMES:
        return _loaded(_NAMES[name], name)
    message = f"module 'discreet' has no attribute {name!r}"
    raise AttributeError(message)


def _loaded(room: str, name: str | None = None) -> Any:
    """Load a room, or a name of it, while no garbage is collected.

    Nearly all that is made then is there to stay.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        found = importlib.import_module(f"discreet.{room}")
        return found if name is None else getattr(found, name)
    finally:
        if collecting:
            gc.enable()


def __dir__() -> list[str]:
    """List what can be asked for, loaded or not."""
    return sorted(__all__)
