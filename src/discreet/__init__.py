"""discreet: answers questions about people without giving any of them away.

Trust: public.

>>> import discreet as dp
>>> dp.noise.DiscreteLaplace(scale=2).sample(10).shape
(10,)
>>> dp.loss.Pure(epsilon=1).epsilon(delta=0)
1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet import errors, exact, noise, units
from discreet.doors import open_door
from discreet.errors import DiscreetError
from discreet.units import person, row

if TYPE_CHECKING:  # loaded when first used, because SciPy and DuckDB take their time
    from discreet import (
        accounting,
        attacks,
        continual,
        explain,
        extend,
        ledger,
        local,
        loss,
        mechanisms,
        models,
        query,
        service,
        synthetic,
        theorems,
        torch,
    )
    from discreet.accounting import Budget
    from discreet.plan import estimate, estimate_limits, limits, share_cut
    from discreet.service import connect
    from discreet.session import (
        check,
        open,  # noqa: A004  called discreet.open
        propose,
    )
    from discreet.synthetic import plan_synthesis, synthesize

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = open_door(
    __name__,
    __file__,
    also=(
        *("DiscreetError", "__version__", "errors", "exact", "load_ipython_extension"),
        *("noise", "person", "row", "units"),
    ),
)


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%discreet`` to a notebook: ``%load_ext discreet`` calls this.

    >>> from IPython.core.interactiveshell import InteractiveShell
    >>> shell = InteractiveShell()
    >>> load_ipython_extension(shell)
    >>> "discreet" in shell.magics_manager.magics["cell"]
    True
    """
    from discreet.magic import add_magics  # noqa: PLC0415  which needs IPython

    add_magics(shell)
