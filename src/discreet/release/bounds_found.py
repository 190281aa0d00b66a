"""From a histogram to bounds: the only place where the numbers of bins get their noise.

Trust: kernel.

Definition.  Every bin of a target gets the noise of the search.  With a chance of at least
1 - ``FALSE_ALARM``, no noise of a target is above r in size.  Bins whose noisy number is above r
*stand out*; bounds are those of the numbers from the lowest to the highest of them.  If none stands
out, bounds are the widest that there are: they cut off nothing, and noise is as wide.
Theorem (key ``bounds-found``).  With the chance 1 - ``FALSE_ALARM`` at least, every bin that stands
out holds a row of some unit; and a bin in which more than 2 r units have their row stands out.
Proof.  Both hold if no noise is above r in size.
Nothing else is computed from the histogram: what follows is post-processing (key
``post-processing``).  The number of bins, the order and all messages are the same whatever the data
holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.errors import DiscreetError, EngineFailed
from discreet.noise import SYSTEM, Entropy
from discreet.plan.noises import Noise
from discreet.plan.raw import Integers, Raw, SparseLeaves
from discreet.plan.search import FALSE_ALARM, FoundBounds, Search, Target

__all__ = ["bounds_within", "found_bounds"]


def found_bounds(search: Search, raw: Raw, *, entropy: Entropy = SYSTEM) -> tuple[FoundBounds, ...]:
    """Return bounds for everything that lacks them.

    Args:
        search: what is looked for, and with which noise.
        raw: the histograms that an engine computed for the search.
        entropy: where random bits come from.
    """
    found: tuple[FoundBounds, ...] | None = None
    failure: DiscreetError = EngineFailed(
        what="the numbers of the engine do not fit the search for bounds.",
        why="more about the reason might hold values of the data.",
        do="report this as a bug; what was charged stays charged.",
    )
    try:
        found = tuple(_found(search, raw, entropy))
    except DiscreetError as error:
        failure = type(error)(what=error.what, why=error.why, do=error.do)
    except Exception:  # noqa: BLE001, S110 (its text may quote numbers; replaced below)
        pass
    del raw
    if found is None:  # raised here, where the other error is out of sight
        raise failure
    return found


def bounds_within(target: Target, noise: Noise, noisy: Integers) -> FoundBounds:
    """Return the bounds that noisy numbers of bins show."""
    least = noise.mechanism.error(confidence=1 - FALSE_ALARM, coordinates=target.bins.count)
    above = np.flatnonzero(noisy > int(least))
    if above.size:
        low, high = target.bins.span(int(above[0]), int(above[-1]))
    else:
        low, high = target.bins.widest
    return FoundBounds(about=target.about, low=low, high=high, seen=bool(above.size))


def _found(search: Search, raw: Raw, entropy: Entropy) -> Iterator[FoundBounds]:
    for target, noise in zip(search.targets, search.noises, strict=True):
        exact = _dense(raw.leaves[target.measure], target.bins.count)
        noisy: Integers = noise.mechanism.run(exact, entropy=entropy)
        yield bounds_within(target, noise, noisy)


def _dense(sparse: SparseLeaves, count: int) -> Integers:
    """Return the number of units in each bin, of the one group that there is."""
    _, leaf, rows = sparse
    found = np.zeros(count, np.int64)
    np.add.at(found, leaf, rows)
    return found
