"""Noise of OpenDP and diffprivlib; runs inside their environment, started by ``environment.py``.

Each line of standard input is a request: a library, the name of some work, its parameters. The
answer is the CPU time of doing it once, in seconds per draw, per bit or per candidate. Mechanisms
are built before the clock starts, except where building is part of answering.  The answer to
``diffprivlib quantile lists`` also has the quantiles.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import diffprivlib.mechanisms as ibm
import diffprivlib.tools as ibm_tools
import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")

Work = Callable[[], object]
LAPLACE, GAUSSIAN = "laplace", "gaussian"


def opendp_vector(law: str, *, scale: float, count: int) -> Work:
    """Add noise to an array of integers."""
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == LAPLACE:
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    values = np.zeros(count, np.int64)
    return lambda: mechanism(values)


def opendp_scalar(law: str, *, scale: float, count: int) -> Work:
    """Add noise to one integer at a time."""
    domain = dp.atom_domain(T="i64")
    if law == LAPLACE:
        mechanism = dp.m.make_laplace(domain, dp.absolute_distance(T="i64"), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.absolute_distance(T="f64"), scale=scale)
    return lambda: [mechanism(0) for _ in range(count)]


def opendp_response(*, epsilon: float, count: int) -> Work:
    """Flip each bit of a vector with chance 1 / (1 + exp(epsilon)) = f / 2."""
    mechanism = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=2 / (1 + np.exp(epsilon))
    )
    bits = np.packbits(np.zeros(count, np.bool_)).tobytes()
    return lambda: mechanism(bits)


def opendp_selection(*, rate: float, count: int) -> Work:
    """Select by noisy maximum with Gumbel noise."""
    mechanism = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64"),
        dp.zero_concentrated_divergence(),
        scale=1 / rate,
    )
    values = scores(count)
    return lambda: mechanism(values)


def ibm_draws(law: str, *, scale: float, count: int) -> Work:
    """Add noise to one integer at a time, which is the only way there is."""
    if law == LAPLACE:
        mechanism = ibm.Geometric(epsilon=1 / scale)
    else:
        mechanism = ibm.GaussianDiscrete(epsilon=1, delta=0.5)
        mechanism._scale = scale  # noqa: SLF001  the search for it stops at modest scales
    return lambda: [mechanism.randomise(0) for _ in range(count)]


def ibm_response(*, epsilon: float, count: int) -> Work:
    """Answer one bit at a time."""
    mechanism = ibm.Binary(epsilon=epsilon, value0="0", value1="1")
    return lambda: [mechanism.randomise("0") for _ in range(count)]


def ibm_selection(*, rate: float, count: int) -> Work:
    """Select one candidate; the scores enter when the mechanism is built."""
    kind = ibm.Exponential
    values = scores(count).tolist()
    return lambda: kind(epsilon=2 * rate, sensitivity=1, utility=values).randomise()


def ibm_quantile_lists(*, tables: list[list[int]], levels: list[float], count: int) -> Work:
    """Take all levels of each table of numbers below ``count``, at epsilon 1."""
    arrays = [np.array(table, float) for table in tables]
    return lambda: [
        list(map(float, ibm_tools.quantile(array, levels, epsilon=1.0, bounds=(0, count - 1))))
        for array in arrays
    ]


def scores(count: int) -> np.ndarray:
    """Return the scores that ``rows/noise.py`` uses."""
    return np.random.default_rng(1).integers(0, 1000, count)


WORK: dict[str, Callable[..., Work]] = {
    "opendp laplace": functools.partial(opendp_vector, LAPLACE),
    "opendp gaussian": functools.partial(opendp_vector, GAUSSIAN),
    "opendp one laplace": functools.partial(opendp_scalar, LAPLACE),
    "opendp one gaussian": functools.partial(opendp_scalar, GAUSSIAN),
    "opendp response": opendp_response,
    "opendp weights": opendp_selection,
    "diffprivlib laplace": functools.partial(ibm_draws, LAPLACE),
    "diffprivlib gaussian": functools.partial(ibm_draws, GAUSSIAN),
    "diffprivlib response": ibm_response,
    "diffprivlib weights": ibm_selection,
    "diffprivlib quantile lists": ibm_quantile_lists,
}


@functools.lru_cache(maxsize=4)
def prepared(request: str) -> tuple[Work, int]:
    """Build what a request asks for, once for all rounds of a race."""
    parameters = json.loads(request)
    return WORK[parameters.pop("work")](**parameters), parameters["count"]


def main() -> None:
    """Answer until the input ends."""
    installed = {name: version(name) for name in ("opendp", "diffprivlib", "numpy")}
    print(json.dumps({"versions": installed}), flush=True)
    for line in sys.stdin:
        work, count = prepared(line)
        start = time.process_time()
        found = work()
        spent = time.process_time() - start
        value = {"value": found} if isinstance(found, list) else {}
        print(json.dumps({"seconds": spent / count, **value}), flush=True)


if __name__ == "__main__":
    main()
