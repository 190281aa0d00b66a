"""Attacks and audits: what can be learned from answers, and whether promises are kept.

Trust: public.

>>> from discreet.attacks import estimate_epsilon
>>> from discreet.mechanisms import Laplace
>>> print(estimate_epsilon(Laplace(scale=1), (0, 1), 1000, claim=1).violates)
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when first used: SciPy and DuckDB take their time
    from discreet.attacks import claims, membership
    from discreet.attacks.estimate import estimate_epsilon
    from discreet.attacks.exact import Enumerated, exact_epsilon
    from discreet.attacks.guessed_bits import guessed
    from discreet.attacks.measured import Measured
    from discreet.attacks.neighbors import removals, shifts, without_units
    from discreet.attacks.questions import AskedQuestion, AuditedQuestion
    from discreet.attacks.search import Generator, neighbors_for
    from discreet.attacks.stopped_audit import refute
    from discreet.attacks.subjects import Batches, Calls, Command, Raised, Runs

__all__ = [
    "AskedQuestion",
    "AuditedQuestion",
    "Batches",
    "Calls",
    "Command",
    "Enumerated",
    "Generator",
    "Measured",
    "Raised",
    "Runs",
    "claims",
    "estimate_epsilon",
    "exact_epsilon",
    "guessed",
    "membership",
    "neighbors_for",
    "refute",
    "removals",
    "shifts",
    "without_units",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "estimate": ("estimate_epsilon",),
            "exact": ("Enumerated", "exact_epsilon"),
            "guessed_bits": ("guessed",),
            "measured": ("Measured",),
            "neighbors": ("removals", "shifts", "without_units"),
            "questions": ("AskedQuestion", "AuditedQuestion"),
            "stopped_audit": ("refute",),
            "search": ("Generator", "neighbors_for"),
            "subjects": ("Batches", "Calls", "Command", "Raised", "Runs"),
        },
        rooms=("claims", "membership"),
    )
