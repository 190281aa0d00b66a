"""Frequency oracles of pure-ldp; runs inside their environment, started by ``environment.py``.

Each line of standard input is a request: an oracle, a side, and its parameters. The answer is the
CPU time of one report, on the client or on the server, its estimates of all values included; or,
for ``errors``, the mean squared error of the estimated shares times the number of reports. Reports
for a server are made before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer


def sides(oracle: str, epsilon: float, values: int) -> tuple[Any, Any]:
    """Return client and server of an oracle, for values from 0 on."""

    def same(value: int) -> int:
        return value

    if oracle == "direct":
        return DEClient(epsilon, values, same), DEServer(epsilon, values, same)
    if oracle == "unary":
        client = UEClient(epsilon, values, use_oue=True, index_mapper=same)
        return client, UEServer(epsilon, values, use_oue=True, index_mapper=same)
    server = HadamardResponseServer(epsilon, values, same)
    return HadamardResponseClient(epsilon, values, server.get_hash_funcs(), same), server


def shares(server: Any, reports: list[Any], values: int) -> np.ndarray:
    """Aggregate, and estimate the share of every value."""
    server.reset()
    for report in reports:
        server.aggregate(report)
    counts = [server.estimate(value, suppress_warnings=True) for value in range(values)]
    return np.array(counts) / len(reports)


def answer(request: dict[str, Any]) -> dict[str, float]:
    """Do what a request asks for, once."""
    client, server = sides(request["oracle"], request["epsilon"], request["values"])
    people = request["people"]
    if request["side"] == "errors":
        truth = np.bincount(people, minlength=request["values"]) / len(people)
        errors = []
        for _ in range(request["runs"]):
            found = shares(server, [client.privatise(code) for code in people], request["values"])
            errors.append(len(people) * float(np.mean((found - truth) ** 2)))
        return {"value": float(np.mean(errors))}
    start = time.process_time()
    reports = [client.privatise(code) for code in people]
    made = time.process_time()
    shares(server, reports, request["values"])
    spent = {"client": made - start, "server": time.process_time() - made}
    spent["both"] = sum(spent.values())
    return {"seconds": spent[request["side"]] / len(people)}


def main() -> None:
    """Answer until the input ends."""
    installed = {name: version(name) for name in ("pure-ldp", "numpy")}
    print(json.dumps({"versions": installed}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
