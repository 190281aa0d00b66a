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
from benchmarks.rows.learning_models import MODELS
from benchmarks.rows.learning_steps import Ours, plain_step
from discreet.learning.calibrated import noise_multiplier
from discreet.units import row

MODES: Final = ("hooks", "functorch", "ew", "ghost")
BATCHES: Final = {"MLP": 1024, "linear": 4096, "CNN": 256, "transformer": 32, "WRN-16-4": 16}
STEPS: Final = "step"
DELTA: Final = 1e-5
SIGMAS: Final = ((50_000, 4096, 875, 1), (60_000, 512, 4688, 3))
"""Population, batch, steps and epsilon of runs at delta 1e-5."""


def races(peers: Peers | None, *, quick: bool) -> Iterator[Race]:
    """Yield one race for each model."""
    torch.set_num_threads(1)
    for name in list(BATCHES)[:3] if quick else BATCHES:
        make, rows = MODELS[name]
        torch.manual_seed(0)
        inputs, targets = rows(BATCHES[name])
        ours = Ours(make, inputs, targets, micro=BATCHES[name], processes=0)
        calls = 5 if name == "MLP" else 1
        contenders: dict[str, Contender] = {
            "plain": timed(plain_step(make, inputs, targets), units=1, calls=calls),
            "discreet": timed(ours.step, units=1, calls=calls),
            "sums alone": timed(ours.sum, units=1, calls=calls),
        }
        if peers is not None:
            for mode in MODES:
                asked = {"case": name, "mode": mode, "batch": BATCHES[name], "steps": calls}
                contenders[mode] = peers.contender(**asked)
        yield Race(kind=STEPS, name=name, contenders=contenders, unit="ms", size=BATCHES[name])


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
