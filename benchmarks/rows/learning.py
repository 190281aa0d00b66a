"""Steps of private training beside plain ones and Opacus's, and the noise that a price needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

import torch
from dp_accounting import dp_event, mechanism_calibration
from dp_accounting.pld import pld_privacy_accountant
from torch import nn

from benchmarks.measure import Contender, Race, import_seconds, started, timed
from benchmarks.peers.environment import Peers
from benchmarks.rows.learning_models import MODELS
from benchmarks.rows.learning_steps import Ours, plain_step
from benchmarks.rows.peak_memory import blocks_given_back, growth
from discreet.noise import DiscreteGaussian
from discreet.torch.training_plan import noise_multiplier
from discreet.units import row

MODES: Final = ("hooks", "functorch", "ew", "ghost")
BATCHES: Final = {
    "MLP": 1024,
    "linear": 4096,
    "CNN": 256,
    "transformer": 32,
    "LoRA": 32,
    "WRN-16-4": 16,
}
MICRO: Final = {"transformer": 8, "LoRA": 8, "WRN-16-4": 4}
"""Units that are computed at once, where that is not the whole batch."""
STEPS: Final = "step"
DELTA: Final = 1e-5
SIGMAS: Final = ((50_000, 4096, 875, 1), (60_000, 512, 4688, 3))
"""Population, batch, steps and epsilon of runs at delta 1e-5."""
DRAWS: Final = 1_000_000


def race_of(name: str, peers: Mapping[str, Peers]) -> Race:
    """Return the race of one model; each mode of Opacus has a process of its own."""
    made = {sums: ours(name, sums) for sums in ("double", "single")}
    calls = 5 if name == "MLP" else 1

    def work(step: Callable[[], object]) -> Contender:
        return timed(step, units=1, calls=calls)

    contenders: dict[str, Contender] = {
        "plain": work(plain(name)),
        "discreet": work(made["double"].step),
        "sums alone": work(made["double"].sum),
        "single": work(made["single"].sum),
    }
    for mode, process in peers.items():
        contenders[mode] = process.contender(**_asked(name, mode), steps=calls)
    return Race(kind=STEPS, name=name, contenders=contenders, unit="ms", size=BATCHES[name])


def ours(name: str, sums: str = "double") -> Ours:
    """Return private steps of a model."""
    make, inputs, targets = _case(name)
    micro = MICRO.get(name, BATCHES[name])
    return Ours(make, inputs, targets, micro=micro, processes=0, sums=sums)


def plain(name: str) -> Callable[[], None]:
    """Return a plain step of a model."""
    return plain_step(*_case(name))


def _case(name: str) -> tuple[Callable[[], nn.Module], Any, Any]:
    torch.set_num_threads(1)
    make, rows = MODELS[name]
    torch.manual_seed(0)
    return make, *rows(BATCHES[name])


def _asked(name: str, mode: str) -> dict[str, object]:
    return {"case": name, "mode": mode, "batch": BATCHES[name]}


def memory_row(name: str, *, peers: bool) -> dict[str, float]:
    """Return by how many bytes steps of each contender raise the memory of a process of its own."""
    found = {}
    with blocks_given_back():
        for who in ("plain", "discreet"):
            program = f"from benchmarks.rows.learning import grown; print(grown({name!r}, {who!r}))"
            found[who] = started(program)()
        if peers:
            with Peers("learning_opacus") as process:
                found["hooks"] = float(process.ask(**_asked(name, "hooks"), memory=True)["bytes"])
    return found


def grown(name: str, who: str) -> float:
    """Return by how many bytes steps of one contender raise the memory of this process."""
    make, inputs, targets = _case(name)
    plain_step(make, inputs[:1], targets[:1])()  # what libraries keep is there before, for all
    if who == "plain":
        return growth(plain_step(make, inputs, targets))
    made = ours(name)
    made.noise.take()  # likewise for the library that draws
    made.renew()
    return growth(made.step)


def import_race() -> Race:
    """Return the race of imports."""
    modules = {"discreet": "discreet", "rooms": "discreet.models, discreet.torch"}
    contenders = {name: import_seconds(module) for name, module in modules.items()}
    return Race(kind="import", name="import", contenders=contenders, unit="ms")


def loads_torch() -> bool:
    """Say whether the rooms of models and training load a library that is not needed for it."""
    found = "int(bool({'torch', 'sklearn'} & set(sys.modules)))"
    return bool(started(f"import sys, discreet.models, discreet.torch; print({found})")())


def draw_seconds() -> float:
    """Return CPU seconds of one exact draw, the best of five."""
    law = DiscreteGaussian(variance=1 << 50)
    draw = timed(lambda: law.sample(DRAWS), units=DRAWS)
    return min(draw() for _ in range(5))


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
