"""Explain: what a loss means to a person, a board and an auditor; budgets from odds; labels.

Trust: public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used
    from discreet.explain.budget_from_odds import budget_for
    from discreet.explain.explaining import explain
    from discreet.explain.explanation import Explanation, Section
    from discreet.explain.guesses import Guesses
    from discreet.explain.label.label import Label, label_of
    from discreet.explain.label.verification import verify_label


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
