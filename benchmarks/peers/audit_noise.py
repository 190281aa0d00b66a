"""Mechanisms of OpenDP, diffprivlib and NumPy to be audited, in the environment ``noise``.

Each line of standard input is a request: the name of a mechanism, a data set, and how many answers
to draw.  The answer is these draws, written so that every bit of a float survives.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import diffprivlib.mechanisms as ibm
import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")

Draw = Callable[[Any, int], list[Any]]


def numpy_laplace(count: float, n: int) -> list[Any]:
    """Add Laplace noise of scale 1 in floats, as many programs do."""
    return (count + np.random.default_rng().laplace(scale=1.0, size=n)).tolist()


def numpy_geometric(count: float, n: int) -> list[Any]:
    """Add the difference of two geometric numbers, which is Laplace noise on integers."""
    draws = np.random.default_rng().geometric(1 - np.exp(-1), size=(2, n))
    return (int(count) + draws[0] - draws[1]).tolist()


def ibm_draw(kind: str, count: Any, n: int, **parameters: float) -> list[Any]:
    """Add noise one answer at a time."""
    mechanism = getattr(ibm, kind)(**parameters)
    return [mechanism.randomise(count) for _ in range(n)]


@functools.cache
def opendp_measurement(name: str) -> tuple[Any, float]:
    """Return a measurement, and what it claims to lose at distance 1."""
    whole, real = dp.atom_domain(T="i64"), dp.atom_domain(T="f64", nan=False)
    match name:
        case "laplace":
            made = dp.m.make_laplace(whole, dp.absolute_distance(T="i64"), scale=1.0)
        case "float laplace":
            made = dp.m.make_laplace(real, dp.absolute_distance(T="f64"), scale=1.0)
        case "gaussian":
            made = dp.m.make_gaussian(whole, dp.absolute_distance(T="f64"), scale=1.0)
        case _:
            vector = dp.vector_domain(whole)
            measure = dp.zero_concentrated_divergence()
            made = dp.m.make_noisy_max(vector, dp.linf_distance(T="i64"), measure, scale=1.0)
    return made, float(made.map(1.0 if name in {"float laplace", "gaussian"} else 1))


def opendp_draw(name: str, data: Any, n: int) -> list[Any]:
    """Invoke a measurement n times."""
    made, _ = opendp_measurement(name)
    value = float(data) if name == "float laplace" else data
    return [made(value) for _ in range(n)]


DRAWS: dict[str, Draw] = {
    "numpy laplace": numpy_laplace,
    "numpy geometric": numpy_geometric,
    "diffprivlib Laplace": functools.partial(ibm_draw, "Laplace", epsilon=1.0, sensitivity=1.0),
    "diffprivlib GaussianAnalytic": functools.partial(
        ibm_draw, "GaussianAnalytic", epsilon=1.0, delta=1e-5, sensitivity=1.0
    ),
    "diffprivlib Geometric": functools.partial(ibm_draw, "Geometric", epsilon=1.0),
    **{
        f"opendp {name}": functools.partial(opendp_draw, name)
        for name in ("laplace", "float laplace", "gaussian", "noisy max")
    },
}


def main() -> None:
    """Answer until the input ends."""
    installed = {name: version(name) for name in ("opendp", "diffprivlib", "numpy")}
    claims = {
        f"opendp {name}": opendp_measurement(name)[1]
        for name in ("laplace", "float laplace", "gaussian", "noisy max")
    }
    print(json.dumps({"versions": installed, "claims": claims}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        drawn = DRAWS[request["mechanism"]](request["data"], request["n"])
        print(json.dumps({"drawn": drawn}), flush=True)


if __name__ == "__main__":
    main()
