"""dp_accounting and prv-accountant; runs inside their environment, started by ``environment.py``.

Each line of standard input is a request: the name of some work and its parameters. The answer is
the CPU time of doing it once, in seconds, and what came out: an epsilon, or a sigma. It is null
where the library declines.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import warnings
from importlib.metadata import version

import dp_accounting
import numpy as np
import prv_accountant
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

INTERVAL = 1e-4
"""Of dp_accounting's distributions, which connect the dots and are pessimistic by default."""
ERROR = 0.1
"""That the PRV accountant may make in epsilon."""

Distribution = privacy_loss_distribution.PrivacyLossDistribution
Events = list[tuple[str, float, int]]
"""(kind, parameter, count): sigma of a Gaussian, scale of a Laplace, epsilon of a response."""


def google(*, events: Events, rate: float, delta: float) -> float:
    """Compose privacy loss distributions and ask for epsilon."""
    return float(composed(events, rate).get_epsilon_for_delta(delta))


def composed(events: Events, rate: float) -> Distribution:
    """Compose privacy loss distributions, each with itself first."""
    parts = (distribution(kind, value, rate).self_compose(n) for kind, value, n in events)
    return functools.reduce(Distribution.compose, parts)


def distribution(kind: str, parameter: float, rate: float = 1.0) -> Distribution:
    """Make the distribution of one mechanism."""
    fine = {"value_discretization_interval": INTERVAL}
    if kind == "gaussian":
        return privacy_loss_distribution.from_gaussian_mechanism(
            parameter, sampling_prob=rate, **fine
        )
    if kind == "laplace":
        return privacy_loss_distribution.from_laplace_mechanism(parameter, **fine)
    noise = 2 / (1 + np.exp(parameter))  # the chance to answer with a fair coin
    return privacy_loss_distribution.from_randomized_response(noise, 2, **fine)


@functools.cache
def running(account: str) -> Distribution:
    """Return an account that was built before the clock starts."""
    events, rate = json.loads(account)
    return composed(events, rate)


def google_add(*, account: str, scale: float) -> None:
    """Add one Laplace mechanism to a running account."""
    running(account).compose(distribution("laplace", scale))


def google_add_and_ask(*, account: str, scale: float, delta: float) -> float:
    """Add one Laplace mechanism to a running account and ask for epsilon."""
    total = running(account).compose(distribution("laplace", scale))
    return float(total.get_epsilon_for_delta(delta))


def google_calibrate(*, rate: float, steps: int, epsilon: float, delta: float) -> float:
    """Find the noise multiplier of DP-SGD, to the tolerance that the library chooses."""
    return float(
        dp_accounting.calibrate_dp_mechanism(
            lambda: PLDAccountant(value_discretization_interval=INTERVAL),
            lambda sigma: dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma)),
                steps,
            ),
            epsilon,
            delta,
        )
    )


def prv(*, events: Events, rate: float, delta: float) -> float:
    """Compose by the PRV accountant and return the upper end of its interval."""
    ((kind, parameter, count),) = events
    if kind == "laplace":
        law = prv_accountant.LaplaceMechanism(1 / parameter)
    elif kind == "response":
        law = prv_accountant.PureDPMechanism(parameter)
    elif rate == 1:
        law = prv_accountant.GaussianMechanism(parameter)
    else:
        law = prv_accountant.PoissonSubsampledGaussianMechanism(
            noise_multiplier=parameter, sampling_probability=rate
        )
    accountant = prv_accountant.PRVAccountant(
        prvs=law, max_self_compositions=count, eps_error=ERROR, delta_error=delta / 1e3
    )
    return float(accountant.compute_epsilon(delta, num_self_compositions=count)[2])


WORK = {
    "dp_accounting epsilon": google,
    "dp_accounting add": google_add,
    "dp_accounting add and ask": google_add_and_ask,
    "dp_accounting calibrate": google_calibrate,
    "prv epsilon": prv,
}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")  # they warn of overflow in passing
    names = ("dp-accounting", "prv-accountant")
    print(json.dumps({"versions": {name: version(name) for name in names}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        work = WORK[request.pop("work")]
        if "account" in request:
            running(request["account"])
        start = time.process_time()
        try:
            value = work(**request)
        except (ValueError, RuntimeError) as failure:
            print(f"{failure}", file=sys.stderr)
            value = None
        spent = time.process_time() - start
        print(json.dumps({"seconds": spent, "value": value}), flush=True)


if __name__ == "__main__":
    main()
