"""Synthetic tables: rows of people who do not exist, made from noisy answers alone.

Trust: kernel.

A plan says what will be measured, and at what price; the session carries it out as one program; the
ledger keeps the evidence; models, rows and reports follow from that, for free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # each is loaded when first used, because most programs need few of them
    from discreet.synthetic.bins import QuantileBins, quantile_bins
    from discreet.synthetic.constraints import determines, forbid
    from discreet.synthetic.domain import Domain
    from discreet.synthetic.evidence import Evidence, Measured, Selection
    from discreet.synthetic.methods.aim import AIM
    from discreet.synthetic.methods.dual_query import DualQuery
    from discreet.synthetic.methods.mst import MST, Independent
    from discreet.synthetic.methods.mwem import MWEM
    from discreet.synthetic.planning import plan_synthesis, synthesize
    from discreet.synthetic.program import model_of
    from discreet.synthetic.release import SyntheticRelease
    from discreet.synthetic.synthesis_plan import SynthesisPlan
    from discreet.synthetic.workload import (
        all_ranges,
        between,
        counts_of,
        marginals,
        marginals_of,
        other_than,
    )

__all__, __getattr__, __dir__ = open_door(__name__, __file__)
