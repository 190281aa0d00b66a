# ruff: noqa: E402  the paths come first
"""Accuracy of privately trained networks on MNIST: ``python benchmarks/learning_digits.py FOLDER``.

FOLDER holds the four IDX files of LeCun, Cortes and Burges.  Learning rate, batch and steps are
fixed beforehand, the same for every epsilon; each run pays from a ledger of its own.  Needs torch,
numpy, scipy and cryptography, and runs on a GPU if there is one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

import numpy as np
import torch
from rows.learning_models import tanh_cnn

import discreet as dp
from discreet.ledger import Ledger
from discreet.torch import Training

BATCH, STEPS, RATE, MOMENTUM, CLIP, DELTA = 2048, 1200, 0.25, 0.9, "0.1", "1e-5"


def read(path: Path) -> Any:
    """Return the numbers of an IDX file, packed or not."""
    packed = path.with_name(path.name + ".gz")
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    sizes = [int.from_bytes(data[4 + 4 * k : 8 + 4 * k], "big") for k in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(sizes)).reshape(sizes).copy()


def images(folder: Path, part: str, device: str) -> tuple[Any, Any]:
    """Return the images between -1 and 1, and their digits."""
    pixels = torch.from_numpy(read(folder / f"{part}-images-idx3-ubyte")).to(device)
    digits = torch.from_numpy(read(folder / f"{part}-labels-idx1-ubyte")).to(device)
    return pixels[:, None].float() / 127.5 - 1, digits.long()


def run(epsilon: str, seed: int, data: dict[str, Any], device: str) -> tuple[float, float]:
    """Train once; return the share of test digits that are right, and the seconds."""
    torch.manual_seed(seed)
    model = tanh_cnn().to(device)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(
            f"{folder}/digits.ledger",
            unit=dp.row(),
            budget=dp.Budget(epsilon=epsilon, delta="1e-3"),
        )
        training = Training(
            model,
            objective=torch.nn.functional.cross_entropy,
            data=data["train"],
            optimizer=torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM),
            ledger=ledger,
            unit=dp.row(),
            population=60_000,
            batch=BATCH,
            steps=STEPS,
            clip=CLIP,
            epsilon=epsilon,
            delta=DELTA,
            micro_batch=1024,
        )
        begun = time.perf_counter()
        training.fit(bar=False)
        seconds = time.perf_counter() - begun
    with torch.no_grad():
        inputs, digits = data["t10k"]
        right = (model(inputs).argmax(1) == digits).double().mean()
    return float(right), seconds


def main() -> None:
    """Print a line for each epsilon."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--epsilons", default="1,3,8")
    reader.add_argument("--seeds", type=int, default=3)
    given = reader.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.deterministic = True
    data = {part: images(given.folder, part, device) for part in ("train", "t10k")}
    for epsilon in given.epsilons.split(","):
        runs = [run(epsilon, seed, data, device) for seed in range(given.seeds)]
        rights, seconds = zip(*runs, strict=True)
        row = {
            "epsilon": epsilon,
            "accuracy": round(statistics.mean(rights), 4),
            "runs": [round(right, 4) for right in rights],
            "seconds": round(statistics.mean(seconds), 1),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
