"""What a plan would answer if no noise were added, and no group hidden."""

import numpy as np

from discreet.aggregates.noisy_totals import Noisy, NoisyTotal, Run, joined_totals
from discreet.plan.pricing.group_sensitivity import UNITS
from discreet.release.release import Release


def exact_rows(plan, raw):
    """Return the rows of an answer from totals without noise, as dictionaries."""
    assert not plan.choices
    totals = {}
    for noise in plan.noises:
        strategy = noise.distances.strategy
        if strategy is None:
            values = raw.units if noise.measure == UNITS else raw.totals[noise.measure]
            totals[noise.measure] = NoisyTotal((Run(values=values, mechanism=noise.mechanism),))
        else:
            sums = strategy.read(raw, np.arange(raw.units.size))
            totals |= joined_totals(strategy, noise.mechanism, sums)
    chosen_by = plan.chosen_by
    if plan.selection is not None and chosen_by not in totals:
        counts = raw.units if chosen_by == UNITS else raw.totals[chosen_by]
        noise = getattr(plan.selection, "noise", None)
        if noise is not None:
            totals[chosen_by] = NoisyTotal((Run(values=counts, mechanism=noise),))
    noisy = Noisy(size=raw.units.size, keys=raw.keys, totals=totals, chosen=())
    assert np.all(raw.units >= 0)
    return Release.of(plan, (noisy,)).rows()
