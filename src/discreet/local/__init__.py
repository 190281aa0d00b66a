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
    from discreet.local.choice import Choice, choose
    from discreet.local.domain import Domain
    from discreet.local.randomizers.direct import Direct
    from discreet.local.randomizers.hadamard import Hadamard
    from discreet.local.randomizers.hashing import Hashing
    from discreet.local.randomizers.oracle import FrequencyOracle
    from discreet.local.randomizers.randomizer import Randomizer
    from discreet.local.randomizers.registry import randomizer_of
    from discreet.local.randomizers.subset import Subset
    from discreet.local.randomizers.unary import Unary

__all__ = [
    "Choice",
    "Direct",
    "Domain",
    "Estimates",
    "FrequencyOracle",
    "Hadamard",
    "Hashing",
    "Randomizer",
    "ShareRow",
    "ShareTable",
    "Subset",
    "Unary",
    "choose",
    "randomizer_of",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "analysis.estimates": ("Estimates", "ShareRow", "ShareTable"),
            "choice": ("Choice", "choose"),
            "domain": ("Domain",),
            "randomizers.direct": ("Direct",),
            "randomizers.hadamard": ("Hadamard",),
            "randomizers.hashing": ("Hashing",),
            "randomizers.oracle": ("FrequencyOracle",),
            "randomizers.randomizer": ("Randomizer",),
            "randomizers.registry": ("randomizer_of",),
            "randomizers.subset": ("Subset",),
            "randomizers.unary": ("Unary",),
        },
    )
