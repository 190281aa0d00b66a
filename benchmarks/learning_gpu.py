"""Private steps on a GPU beside plain ones and Opacus's: ``python benchmarks/learning_gpu.py``.

Needs torch with CUDA and what ``discreet`` needs for noise (NumPy, SciPy, cryptography); Opacus is
timed where it can be imported.  Times are medians by CUDA events over paired rounds, in which the
contenders take turns.  docs/benchmarks/learning.md says how to read the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks/rows"), str(ROOT / "src")]

import numpy as np  # noqa: E402  after the path
import torch  # noqa: E402
from learning_models import CASES, GPU_BATCHES, Case  # noqa: E402
from learning_steps import OBJECTIVE, Step, plain, private  # noqa: E402

from discreet.learning.deep.factors import RecordedFactors  # noqa: E402
from discreet.learning.deep.objectives import SummedObjective  # noqa: E402


def opacus(case: Case, device: str, mode: str) -> Step | None:
    """Return a step of Opacus in one of its modes, or None where that cannot be had."""
    try:
        from opacus import PrivacyEngine
    except ImportError:
        return None
    from torch.utils.data import DataLoader, TensorDataset

    inputs, targets = case.data(device)
    model = case.made(device)
    more = {"criterion": torch.nn.CrossEntropyLoss()} if "ghost" in mode else {}
    try:
        made = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=DataLoader(TensorDataset(inputs, targets), batch_size=case.batch),
            noise_multiplier=2.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
            grad_sample_mode=mode,
            **more,
        )
    except Exception as problem:  # noqa: BLE001  whatever it does not support
        print(f"{case.name}, {mode}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return None
    wrapped, optimizer = made[0], made[1]
    criterion = made[2] if "ghost" in mode else OBJECTIVE

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        criterion(wrapped(inputs), targets).backward()
        optimizer.step()

    return step


def timed(step: Step) -> float:
    """Return the milliseconds of one step."""
    if not torch.cuda.is_available():
        begun = time.perf_counter()
        step()
        return (time.perf_counter() - begun) * 1e3
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    step()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))


def raced(case: Case, device: str, rounds: int) -> dict[str, Any]:
    """Let all contenders take turns; return medians and median ratios to the plain step."""
    contenders: dict[str, Step | None] = {
        "plain": plain(case, device),
        "discreet, no noise": private(case, device, noise=False),
        "discreet": private(case, device, noise=True),
        **{
            f"opacus {mode}": opacus(case, device, mode)
            for mode in ("hooks", "functorch", "ew", "ghost")
        },
    }
    times: dict[str, list[float]] = {}
    peaks: dict[str, float] = {}
    for name, step in contenders.items():
        if step is None:
            continue
        try:
            if torch.cuda.is_available():
                torch.cuda.reset_peak_memory_stats()
            for _ in range(3):
                step()
            times[name] = []
            if torch.cuda.is_available():
                peaks[name] = torch.cuda.max_memory_allocated() / 2**20
        except Exception as problem:  # noqa: BLE001  what runs out of memory is told
            print(
                f"{case.name}, {name}: {type(problem).__name__}: {str(problem)[:200]}",
                file=sys.stderr,
            )
    for _ in range(rounds):
        for name in times:
            times[name].append(timed(contenders[name]))  # type: ignore[arg-type]
    base = times["plain"]
    return {
        "case": case.name,
        "batch": case.batch,
        "milliseconds": {name: statistics.median(each) for name, each in times.items()},
        "ratio": {
            name: statistics.median(a / b for a, b in zip(each, base, strict=True))
            for name, each in times.items()
        },
        "peak MiB": peaks,
    }


def drift(case: Case, device: str) -> float:
    """Return how far the factors of one row move when all others change, as a share of them."""
    model, (inputs, targets) = case.made(device), case.data(device)
    recorder = RecordedFactors(model, SummedObjective(OBJECTIVE, "mean"))
    other = inputs.flip(0) if case.tokens else inputs * 3 + 1
    other[0] = inputs[0]
    worst = 0.0
    for (_, _, a, g), (_, _, b, h) in zip(
        recorder.record(inputs, targets), recorder.record(other, targets), strict=True
    ):
        for one, two in ((a[0], b[0]), (g[0], h[0])):
            size = one.double().norm()
            if size > 0:
                worst = max(worst, float((one.double() - two.double()).norm() / size))
    return worst


def main() -> None:
    """Time every case and print a table, and JSON where asked."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--rounds", type=int, default=30)
    reader.add_argument("--json", type=Path)
    reader.add_argument("--only", default="")
    options = reader.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.deterministic = True
    found = []
    for tf32 in (False, True) if device == "cuda" else (False,):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        for case in CASES:
            if options.only and options.only not in case.name:
                continue
            batch = GPU_BATCHES[case.name] if device == "cuda" else case.batch
            sized = Case(
                name=case.name,
                model=case.model,
                shape=case.shape,
                classes=case.classes,
                batch=batch,
                tokens=case.tokens,
            )
            row = raced(sized, device, options.rounds)
            row |= {"tf32": tf32, "drift": drift(sized, device)}
            found.append(row)
            print(json.dumps(row), flush=True)
            if device == "cuda":
                torch.cuda.empty_cache()
    described = {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
    }
    print(json.dumps(described))
    if options.json:
        options.json.write_text(json.dumps({"machine": described, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
