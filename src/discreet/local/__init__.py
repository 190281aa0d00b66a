"""The local model: each person's own device makes the report private, and nobody need be trusted.

Trust: kernel.

Clients turn one value into a few bytes; the analyst turns many reports into estimates with error
bars.  There is no session, no ledger and no budget kept by a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used, because most programs need two of them
    from discreet.local.analysis.estimates import Estimates, ShareRow, ShareTable
    from discreet.local.domain import Domain
    from discreet.local.randomizers.direct import Direct
    from discreet.local.randomizers.hadamard import Hadamard
    from discreet.local.randomizers.oracle import FrequencyOracle
    from discreet.local.randomizers.randomizer import Randomizer
    from discreet.local.randomizers.registry import randomizer_of

__all__ = [
    "Direct",
    "Domain",
    "Estimates",
    "FrequencyOracle",
    "Hadamard",
    "Randomizer",
    "ShareRow",
    "ShareTable",
    "randomizer_of",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "analysis.estimates": ("Estimates", "ShareRow", "ShareTable"),
            "domain": ("Domain",),
            "randomizers.direct": ("Direct",),
            "randomizers.hadamard": ("Hadamard",),
            "randomizers.oracle": ("FrequencyOracle",),
            "randomizers.randomizer": ("Randomizer",),
            "randomizers.registry": ("randomizer_of",),
        },
    )
