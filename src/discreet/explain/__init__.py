"""Explain: what a loss means to a person, a board and an auditor; budgets from odds; labels.

Trust: public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.explain.budget_from_odds import budget_for
    from discreet.explain.explaining import explain
    from discreet.explain.explanation import Explanation, Section
    from discreet.explain.guesses import Guesses
    from discreet.explain.label.label import Label, label_of
    from discreet.explain.label.verification import verify_label

__all__ = [
    "Explanation",
    "Guesses",
    "Label",
    "Section",
    "budget_for",
    "explain",
    "label_of",
    "verify_label",
]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "budget_from_odds": ("budget_for",),
            "explaining": ("explain",),
            "explanation": ("Explanation", "Section"),
            "guesses": ("Guesses",),
            "label.label": ("Label", "label_of"),
            "label.verification": ("verify_label",),
        },
    )
