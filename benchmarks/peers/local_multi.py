"""Frequency oracles of multi-freq-ldpy; runs inside their environment, see ``environment.py``.

Requests and answers are those of ``local_pure.py``. Clients are compiled before the clock starts.
The library sets negative estimates to zero; for ``errors`` its reports are counted here, and the
unbiased estimates of its own chances are taken.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client


def randomize(oracle: str, people: list[int], values: int, epsilon: float) -> list[Any]:
    """Return one report for each person."""
    clients = {"direct": GRR_Client, "unary": UE_Client, "subset": SS_Client}
    client = clients[oracle]
    return [client(code, values, epsilon) for code in people]


def aggregate(oracle: str, reports: list[Any], values: int, epsilon: float) -> np.ndarray:
    """Return the library's estimates."""
    if oracle == "unary":
        return UE_Aggregator_MI(reports, epsilon)
    server = GRR_Aggregator_MI if oracle == "direct" else SS_Aggregator_MI
    return server(reports, values, epsilon)


def unbiased(oracle: str, reports: list[Any], values: int, epsilon: float) -> np.ndarray:
    """Return estimates that are not cut off at zero."""
    e = np.exp(epsilon)
    if oracle == "unary":
        counts, p, q = sum(reports), 0.5, 1 / (e + 1)
    else:
        size = 1 if oracle == "direct" else int(max(1, np.rint(values / (e + 1))))
        counts = np.bincount(np.concatenate([np.atleast_1d(r) for r in reports]), minlength=values)
        p = size * e / (size * e + values - size)
        q = (p * (size - 1) + (1 - p) * size) / (values - 1)
    return (counts / len(reports) - q) / (p - q)


def answer(request: dict[str, Any]) -> dict[str, float]:
    """Do what a request asks for, once."""
    oracle, epsilon, values = request["oracle"], float(request["epsilon"]), request["values"]
    people = request["people"]
    randomize(oracle, people[:2], values, epsilon)  # compiles the client
    if request["side"] == "errors":
        truth = np.bincount(people, minlength=values) / len(people)
        errors = []
        for _ in range(request["runs"]):
            reports = randomize(oracle, people, values, epsilon)
            found = unbiased(oracle, reports, values, epsilon)
            errors.append(len(people) * float(np.mean((found - truth) ** 2)))
        return {"value": float(np.mean(errors))}
    start = time.process_time()
    reports = randomize(oracle, people, values, epsilon)
    made = time.process_time()
    aggregate(oracle, reports, values, epsilon)
    spent = {"client": made - start, "server": time.process_time() - made}
    return {"seconds": spent[request["side"]] / len(people)}


def main() -> None:
    """Answer until the input ends."""
    installed = {name: version(name) for name in ("multi-freq-ldpy", "numba", "numpy")}
    print(json.dumps({"versions": installed}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
