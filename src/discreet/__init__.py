"""discreet: answers questions about people without giving any of them away.

Trust: public.

>>> import discreet as dp
>>> dp.noise.DiscreteLaplace(scale=2).sample(10).shape
(10,)
>>> dp.loss.Pure(epsilon=1).epsilon(delta=0)
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet import errors, exact, noise, units
from discreet.doors import late_names
from discreet.errors import DiscreetError
from discreet.units import person, row

if TYPE_CHECKING:  # loaded when first used, because SciPy and DuckDB take their time
    from discreet import (
        accounting,
        attacks,
        continual,
        explain,
        learning,
        ledger,
        local,
        loss,
        mechanisms,
        query,
        service,
        synthetic,
        theorems,
    )
    from discreet.accounting import Budget
    from discreet.plan import estimate, estimate_limits, limits, share_cut
    from discreet.service import connect
    from discreet.session import (
        check,
        open,  # noqa: A004  called discreet.open
    )
    from discreet.synthetic import plan_synthesis, synthesize

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "DiscreetError",
    "__version__",
    "accounting",
    "attacks",
    "check",
    "connect",
    "continual",
    "errors",
    "estimate",
    "estimate_limits",
    "exact",
    "explain",
    "learning",
    "ledger",
    "limits",
    "local",
    "loss",
    "mechanisms",
    "noise",
    "open",
    "person",
    "plan_synthesis",
    "query",
    "row",
    "service",
    "share_cut",
    "synthesize",
    "synthetic",
    "theorems",
    "units",
]

if not TYPE_CHECKING:  # to which every name would be one of this package
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "accounting": ("Budget",),
            "plan": ("estimate", "estimate_limits", "limits", "share_cut"),
            "service": ("connect",),
            "session": ("check", "open"),
            "synthetic": ("plan_synthesis", "synthesize"),
        },
        rooms=(
            "accounting",
            "attacks",
            "continual",
            "explain",
            "learning",
            "ledger",
            "local",
            "loss",
            "mechanisms",
            "query",
            "service",
            "synthetic",
            "theorems",
        ),
    )
