"""Attacks and audits: what can be learned from answers, and whether promises are kept.

Trust: public.

>>> from discreet.attacks import estimate_epsilon
>>> from discreet.mechanisms import Laplace
>>> print(estimate_epsilon(Laplace(scale=1), (0, 1), 1000, claim=1).violates)
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # loaded when first used: SciPy and DuckDB take their time
    from discreet.attacks import claims, membership
    from discreet.attacks.enumeration import ExactLaw, ReplayEntropy, exact_law
    from discreet.attacks.estimate import estimate_epsilon
    from discreet.attacks.exact import Enumerated, exact_epsilon
    from discreet.attacks.guessed_bits import guessed
    from discreet.attacks.measured import Measured
    from discreet.attacks.neighbors import removals, shifts, without_units
    from discreet.attacks.questions import AskedQuestion, AuditedQuestion
    from discreet.attacks.search import Generator, neighbors_for
    from discreet.attacks.stopped_audit import refute
    from discreet.attacks.subjects import Batches, Calls, Command, Raised, Runs


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
