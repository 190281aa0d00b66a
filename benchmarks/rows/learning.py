"""Steps of private training beside plain ones and Opacus's, and the noise that a price needs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import torch
from dp_accounting import dp_event, mechanism_calibration
from dp_accounting.pld import pld_privacy_accountant

from benchmarks.measure import Contender, Race, timed
from benchmarks.peers.environment import Peers
from benchmarks.rows.learning_models import CASES
from benchmarks.rows.learning_steps import plain, private
from discreet.learning.calibrated import noise_multiplier
from discreet.units import row

MODES: Final = ("hooks", "functorch", "ew", "ghost")
STEPS: Final = "step"
DELTA: Final = 1e-5
SIGMAS: Final = ((50_000, 4096, 875, 1), (60_000, 512, 4688, 3))
"""Population, batch, steps and epsilon of runs at delta 1e-5."""


def races(peers: Peers | None, *, quick: bool) -> Iterator[Race]:
    """Yield one race for each model."""
    torch.set_num_threads(1)
    for case in CASES[:3] if quick else CASES:
        calls = 5 if case.name == "MLP" else 1
        contenders: dict[str, Contender] = {
            "plain": timed(plain(case), units=1, calls=calls),
            "discreet": timed(private(case), units=1, calls=calls),
            "sums alone": timed(private(case, noise=False), units=1, calls=calls),
        }
        if peers is not None:
            for mode in MODES:
                contenders[mode] = peers.contender(case=case.name, mode=mode, steps=calls)
        yield Race(kind=STEPS, name=case.name, contenders=contenders, unit="ms", size=case.batch)


def noise_rows(population: int, batch: int, steps: int, epsilon: int) -> dict[str, float]:
    """Return the noise multiplier of a run, how long it took to find, and that of dp_accounting."""
    rate = Fraction(batch, population)
    begun = time.process_time()
    sigma = noise_multiplier(rate=rate, steps=steps, epsilon=epsilon, delta=DELTA, unit=row())
    seconds = time.process_time() - begun
    found = {"steps": steps, "epsilon": epsilon, "sigma": float(sigma), "seconds": seconds}

    def event(noise: float) -> dp_event.DpEvent:
        sampled = dp_event.PoissonSampledDpEvent(float(rate), dp_event.GaussianDpEvent(noise))
        return dp_event.SelfComposedDpEvent(sampled, steps)

    bracket = mechanism_calibration.ExplicitBracketInterval(float(sigma) / 2, float(sigma) * 2)
    other = mechanism_calibration.calibrate_dp_mechanism(
        pld_privacy_accountant.PLDAccountant, event, epsilon, DELTA, bracket, tol=1e-5
    )
    return found | {"dp_accounting": float(other)}
