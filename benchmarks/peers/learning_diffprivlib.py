"""Logistic regression of diffprivlib; runs inside its environment, started by ``environment.py``.

A request names a folder with rows, an epsilon and a delta, which this library does not use; the
answer is the CPU seconds of the fit, and scores of the tested rows lie in the folder then.
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
from diffprivlib.models import LogisticRegression

warnings.simplefilter("ignore")


def bits(rows: Any, part: str) -> Any:
    """Return numbers from -1 to 1, and one bit for each category."""
    columns = [2 * rows[f"{part}_numbers"] - 1]
    for place, size in enumerate(rows["sizes"]):
        columns.append(np.eye(size)[rows[f"{part}_codes"][:, place]])
    return np.hstack(columns)


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Fit and score."""
    folder = Path(request["folder"])
    rows = np.load(folder / "rows.npz")
    norm = (rows["train_numbers"].shape[1] + len(rows["sizes"])) ** 0.5
    train, test = bits(rows, "train"), bits(rows, "test")
    begun = time.process_time()
    model = LogisticRegression(epsilon=request["epsilon"], data_norm=norm, max_iter=1000)
    model.fit(train, rows["train_labels"])
    seconds = time.process_time() - begun
    np.save(folder / "scores.npy", model.decision_function(test))
    return {"seconds": seconds}


def main() -> None:
    """Answer each line."""
    print(json.dumps({"versions": {"diffprivlib": version("diffprivlib")}}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
