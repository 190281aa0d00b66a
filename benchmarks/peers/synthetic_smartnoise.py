"""MST and AIM of smartnoise-synth; runs inside its environment, started by ``environment.py``.

Each line of standard input is a request: a method, the path of an array of codes (one row a
person), and a price.  The answer is the CPU time of ``fit``, of ``sample``, and the path of what
was estimated: all three-way marginals of the model, and the rows.  Compilation is part of the
time, since every table compiles anew.  After ``limit`` CPU seconds there is no answer.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import logging
import signal
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer
from statsmodels.datasets import fair


class TooLong(Exception):
    """The CPU time that was allowed is over."""


def stop(*_: object) -> None:
    """Break off; called by the timer."""
    raise TooLong


def made(request: dict[str, Any]) -> Any:
    """Return a synthesizer."""
    price = {"epsilon": request["epsilon"], "delta": request["delta"]}
    if request["method"] == "mst":
        return MSTSynthesizer(**price)
    return AIMSynthesizer(**price, degree=3, rounds=request["rounds"], max_model_size=80)


def survey(out: Path) -> dict[str, Any]:
    """Write a public table as codes: Fair's survey on extramarital affairs (1978), 6,366 people.

    The answers that its form allowed are public; the last column is whether there was an affair.
    """
    frame = fair.load_pandas().data
    allowed = {
        "rate_marriage": (1, 2, 3, 4, 5),
        "age": (17.5, 22, 27, 32, 37, 42),
        "yrs_married": (0.5, 2.5, 6, 9, 13, 16.5, 23),
        "children": (0, 1, 2, 3, 4, 5.5),
        "religious": (1, 2, 3, 4),
        "educ": (9, 12, 14, 16, 17, 20),
        "occupation": (1, 2, 3, 4, 5, 6),
        "occupation_husb": (1, 2, 3, 4, 5, 6),
    }
    columns = [np.searchsorted(values, frame[name]) for name, values in allowed.items()]
    columns.append((frame["affairs"] > 0).to_numpy())
    sizes = [*map(len, allowed.values()), 2]
    np.savez(out, codes=np.stack(columns, axis=1).astype(np.uint8), sizes=np.array(sizes))
    return {"path": str(out)}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Fit and sample once."""
    if request["method"] == "table":
        return survey(Path(request["out"]))
    codes = np.load(request["path"])
    names = [f"c{i:02}" for i in range(codes.shape[1])]
    frame = pd.DataFrame(codes.astype(int), columns=names)
    synthesizer = made(request)
    start = time.process_time()
    synthesizer.fit(frame, categorical_columns=names)
    fitted = time.process_time()
    rows = synthesizer.sample(len(frame))
    sampled = time.process_time()
    transformer = synthesizer._transformer  # noqa: SLF001  there is no other way to its labels
    labels = [part.labels for part in transformer.transformers]
    marginals = []
    for columns in itertools.combinations(range(len(names)), 3):
        vector = np.asarray(
            synthesizer.synthesizer.project([f"col{c}" for c in columns]).datavector()
        )
        shape = [len(labels[c]) for c in columns]
        order = np.ix_(*(np.argsort([int(label) for label in labels[c]]) for c in columns))
        marginals.append(vector.reshape(shape)[order].ravel())
    out = Path(request["out"])
    np.savez(out, marginals=np.array(marginals), rows=rows.to_numpy().astype(np.uint8))
    return {"seconds": fitted - start, "rows_seconds": sampled - fitted, "path": str(out)}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGPROF, stop)
    installed = {name: version(name) for name in ("smartnoise-synth", "mbi", "jax")}
    print(json.dumps({"versions": installed}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            signal.setitimer(signal.ITIMER_PROF, request["limit"])
            with contextlib.redirect_stdout(io.StringIO()):  # it prints while it works
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
