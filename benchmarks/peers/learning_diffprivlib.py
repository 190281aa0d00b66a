"""Models of diffprivlib; runs inside its environment, started by ``environment.py``.

A request names a folder with rows, an epsilon and a delta, which this library does not use; the
answer is the CPU seconds of a logistic regression, from arrays and from the Parquet file of the
same rows, and scores of the tested rows lie in the folder then.  A request with ``fit`` names a
model and a file of arrays or a Parquet file, and is answered with seconds.

From a file means: the columns are read, numbers clipped to declared bounds, declared categories
turned into bits and rows with anything else left out, as fast as we know how.
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
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from diffprivlib.models import (
    PCA,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
)

warnings.simplefilter("ignore")


def bits(rows: Any, part: str) -> Any:
    """Return numbers from -1 to 1, and one bit for each category."""
    columns = [2 * rows[f"{part}_numbers"] - 1]
    for place, size in enumerate(rows["sizes"]):
        columns.append(np.eye(size)[rows[f"{part}_codes"][:, place]])
    return np.hstack(columns)


def read(path: str, numbers: Any, listed: Any, label: str | None) -> tuple[Any, Any]:
    """Read a Parquet file: numbers from -1 to 1, one bit for each category, and the label."""
    wanted = [*numbers, *listed, *([] if label is None else [label])]
    rows = pq.read_table(path, columns=wanted, use_threads=False)
    width = len(numbers) + sum(map(len, listed.values()))
    x, known = np.zeros((rows.num_rows, width)), np.ones(rows.num_rows, bool)
    for place, (name, (low, high)) in enumerate(numbers.items()):
        values = np.clip(rows.column(name).to_numpy(), low, high)
        known &= ~np.isnan(values)
        x[:, place] = (values - (low + high) / 2) * (2 / (high - low))
    start, every = len(numbers), np.arange(rows.num_rows)
    for name, categories in listed.items():
        places = pc.index_in(rows.column(name), value_set=pa.array(categories))
        codes = places.fill_null(-1).to_numpy()
        known &= codes >= 0
        x[every, start + codes] = 1
        start += len(categories)
    y = None if label is None else rows.column(label).to_numpy()
    if not known.all():
        x, y = x[known], None if y is None else y[known]
    return x, y


def model(name: str, columns: int, epsilon: float) -> Any:
    """Make a model with the bounds that all get."""
    ends = np.full(columns, -1.0), np.full(columns, 1.0)
    made = {
        "LogisticRegression": lambda: LogisticRegression(
            epsilon=epsilon, data_norm=columns**0.5, max_iter=1000
        ),
        "LinearRegression": lambda: LinearRegression(
            epsilon=epsilon, bounds_X=ends, bounds_y=(-5, 5)
        ),
        "GaussianNB": lambda: GaussianNB(epsilon=epsilon, bounds=ends),
        "KMeans": lambda: KMeans(5, epsilon=epsilon, bounds=ends),
        "PCA": lambda: PCA(3, epsilon=epsilon, bounds=ends, data_norm=columns**0.5),
    }
    made["SoftmaxRegression"] = made["LogisticRegression"]
    return made[name]()


arrays: dict[str, Any] = {}


def fitted(request: dict[str, Any]) -> dict[str, Any]:
    """Fit a model of some name."""
    if "table" in request:
        begun = time.process_time()
        x, y = read(request["table"], request["numbers"], {}, request["label"])
        if request["target"] == "number":
            y = np.clip(y, -5, 5)
        model(request["fit"], x.shape[1], request["epsilon"]).fit(x, y)
        return {"seconds": time.process_time() - begun}
    place = request["arrays"]
    if place not in arrays:
        arrays.clear()
        arrays[place] = dict(np.load(place))
    given, target = arrays[place], request["target"]
    learned = None if target is None else given[target]
    begun = time.process_time()
    model(request["fit"], given["x"].shape[1], request["epsilon"]).fit(given["x"], learned)
    return {"seconds": time.process_time() - begun}


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
    begun = time.process_time()
    x, y = read(str(folder / "train.parquet"), request["numbers"], request["listed"], "label")
    LogisticRegression(epsilon=request["epsilon"], data_norm=norm, max_iter=1000).fit(x, y)
    return {"seconds": seconds, "from_table": time.process_time() - begun}


def main() -> None:
    """Answer each line."""
    installed = {name: version(name) for name in ("diffprivlib", "pyarrow")}
    print(json.dumps({"versions": installed}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        found = fitted(request) if "fit" in request else answered(request)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
