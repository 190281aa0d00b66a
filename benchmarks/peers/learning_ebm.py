"""DP-EBM of interpret; runs inside its environment, started by ``environment.py``.

A request names a folder with rows, an epsilon and a delta; the answer is the CPU seconds of the
fit, and scores of the tested rows lie in the folder then.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier

warnings.simplefilter("ignore")


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Fit and score."""
    folder = Path(request["folder"])
    rows = np.load(folder / "rows.npz")
    train, test = (
        np.hstack([rows[f"{part}_numbers"], rows[f"{part}_codes"]]) for part in ("train", "test")
    )
    numbers = rows["train_numbers"].shape[1]
    kinds = ["continuous"] * numbers + ["nominal"] * len(rows["sizes"])
    begun = time.process_time()
    model = DPExplainableBoostingClassifier(
        epsilon=request["epsilon"],
        delta=request["delta"],
        feature_types=kinds,
        privacy_bounds=dict.fromkeys(range(numbers), (0.0, 1.0)),
        n_jobs=1,
    )
    model.fit(train, rows["train_labels"])
    seconds = time.process_time() - begun
    np.save(folder / "scores.npy", model.decision_function(test))
    return {"seconds": seconds}


def main() -> None:
    """Answer each line."""
    print(json.dumps({"versions": {"interpret-core": version("interpret-core")}}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
