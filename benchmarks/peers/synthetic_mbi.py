"""AIM with the inference of mbi 2; runs inside its environment, started by ``environment.py``.

The package has no mechanisms, so the loop of McKenna, Mullins, Sheldon and Miklau (2022) is written
out here with NumPy's noise; every fit is mbi's mirror descent, warm from the model before it, with
the library's defaults.  Requests and answers are those of ``synthetic_smartnoise.py``.
"""

from __future__ import annotations

import itertools
import json
import math
import signal
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)  # what the package recommends

import mbi  # noqa: E402  after the switch

MEGABYTES = 80
PER_CLIQUE = math.sqrt(2 / math.pi)


class TooLong(Exception):
    """The CPU time that was allowed is over."""


def stop(*_: object) -> None:
    """Break off; called by the timer."""
    raise TooLong


def fit(domain: mbi.Domain, measured: list[Any], model: Any) -> Any:
    """Return the model of all measurements."""
    return mbi.estimation.MirrorDescent().estimate(domain, measured, iters=1000, warm_start=model)


def aim(data: mbi.Dataset, *, rho: float, rounds: int, random: np.random.Generator) -> Any:
    """Return the model after all rounds."""
    domain = data.domain
    workload = list(itertools.combinations(domain.attributes, 3))
    weights: dict[tuple[str, ...], int] = {}
    for marginal in workload:
        for size in (1, 2, 3):
            for part in itertools.combinations(marginal, size):
                weights[part] = 0
    for part in weights:
        weights[part] = sum(len(set(part) & set(marginal)) for marginal in workload)
    truth = {part: np.asarray(data.project(part).datavector()) for part in weights}
    sigma, epsilon = math.sqrt(rounds / (1.8 * rho)), math.sqrt(0.8 * rho / rounds)

    def measure(part: tuple[str, ...]) -> None:
        noisy = truth[part] + random.normal(0, sigma, truth[part].size)
        measured.append(mbi.LinearMeasurement(noisy, part, stddev=sigma))

    measured: list[Any] = []
    for part in (part for part in weights if len(part) == 1):
        measure(part)
    spent = len(measured) / (2 * sigma**2)
    model, last = fit(domain, measured, None), False
    while not last:
        if rho - spent < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
            sigma, epsilon = math.sqrt(1 / (1.8 * (rho - spent))), math.sqrt(0.8 * (rho - spent))
            last = True
        spent += 0.5 / sigma**2 + epsilon**2 / 8
        chosen = select(model, weights, truth, sigma, epsilon, MEGABYTES * spent / rho, random)
        before = np.asarray(model.project(chosen).datavector())
        measure(chosen)
        model = fit(domain, measured, model)
        moved = np.abs(np.asarray(model.project(chosen).datavector()) - before).sum()
        if moved <= PER_CLIQUE * sigma * before.size:
            sigma, epsilon = sigma / 2, 2 * epsilon
    return model


def select(  # noqa: PLR0913, PLR0917  the state of a round
    model: Any,
    weights: dict[tuple[str, ...], int],
    truth: dict[tuple[str, ...], np.ndarray],
    sigma: float,
    epsilon: float,
    megabytes: float,
    random: np.random.Generator,
) -> tuple[str, ...]:
    """Choose the marginal that the model misses most."""
    have = [tuple(clique) for clique in model.cliques]
    fits = mbi.junction_tree.hypothetical_model_size
    offered = [
        part
        for part in weights
        if any(set(part) <= set(clique) for clique in have)
        or fits(model.domain, [*have, part]) <= megabytes
    ]
    scores = np.array(
        [
            weights[part]
            * (
                np.abs(truth[part] - np.asarray(model.project(part).datavector())).sum()
                - PER_CLIQUE * sigma * truth[part].size
            )
            for part in offered
        ]
    )
    gumbel = random.gumbel(size=len(offered))
    most = max(weights[part] for part in offered)
    return offered[int(np.argmax(epsilon * scores / (2 * most) + gumbel))]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Fit and sample once."""
    codes = np.load(request["path"])
    names = [f"c{i:02}" for i in range(codes.shape[1])]
    domain = mbi.Domain(names, [request["values"]] * len(names))
    data = mbi.Dataset({name: codes[:, i].astype(int) for i, name in enumerate(names)}, domain)
    random = np.random.default_rng(request["seed"])
    start = time.process_time()
    model = aim(data, rho=request["rho"], rounds=request["rounds"], random=random)
    fitted = time.process_time()
    made = model.synthetic_data(rows=len(codes)).to_dict()
    sampled = time.process_time()
    marginals = [
        np.asarray(model.project(columns).datavector())
        for columns in itertools.combinations(names, 3)
    ]
    out = Path(request["out"])
    rows = np.stack([made[name] for name in names], axis=1).astype(np.uint8)
    np.savez(out, marginals=np.array(marginals), rows=rows)
    return {"seconds": fitted - start, "rows_seconds": sampled - fitted, "path": str(out)}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop)
    print(json.dumps({"versions": {n: version(n) for n in ("mbi", "jax")}}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            signal.setitimer(signal.ITIMER_PROF, request["limit"])
            found = answer(request)
        except TooLong:
            limit = request["limit"]
            found = {"why": f"no result in {limit} s of CPU time", "limit": limit}
        except Exception as failure:  # noqa: BLE001  whatever it is, the row says it
            found = {"why": f"{type(failure).__name__}: {failure}"[:300]}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
