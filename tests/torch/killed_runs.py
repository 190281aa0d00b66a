"""Runs that are killed beside every write, each in a process of its own: a script of its own.

It forks, and so must not have computed anything itself.  It makes one folder for each kill, and
says in JSON how the processes have ended.
A killed process writes nothing more: it leaves by ``os._exit``, and no handler runs.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import torch
from torch import nn

import discreet as dp
from discreet.accounting import Budget, decode
from discreet.ledger import Ledger
from discreet.torch import Training, progress
from discreet.torch.loop import TrainingRun
from discreet.torch.noisy_sum import BatchSums
from discreet.torch.progress import Checkpoint

KILLED = 9
WRITES = [  # in the order of a run: charge, start, checkpoint, rename, mark, release
    (Ledger, "charge"),
    (Ledger, "start"),
    (Ledger, "describe"),
    (Ledger, "release"),
    (Checkpoint, "_write_aside"),
    (Path, "replace"),
    (progress, "_sync_folder"),
]
STEPS = 5


class Crash:
    """Ends the process before or after its n-th write; counts them, if there is none such."""

    def __init__(self, nth):
        self.nth, self.seen = nth, []

    def plant(self):
        for owner, name in WRITES:
            setattr(owner, name, self._watched(name, getattr(owner, name)))

    def _watched(self, name, original):
        def write(*args, **kwargs):
            self.seen.append(name)
            here = len(self.seen)
            if 2 * here - 1 == self.nth:
                os._exit(KILLED)
            result = original(*args, **kwargs)
            if 2 * here == self.nth:
                os._exit(KILLED)
            return result

        return write


def training(ledger, folder):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(1))
    return Training(
        model,
        objective=nn.functional.cross_entropy,
        data=(x, (x[:, 0] > 0).long()),
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        ledger=ledger,
        unit=dp.row(),
        population=60,
        batch=20,
        steps=STEPS,
        sigma=3,
        delta="1e-5",
        every=2,
        folder=folder / "run",
        processes=0,
    )


def attempt(folder, nth):
    """Train in a process of its own that may be killed; return how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        log = (folder / "drawn").open("a")

        def keep(word, content):
            log.write(f"{word} {hashlib.sha256(content).hexdigest()}\n")
            log.flush()

        step, total = TrainingRun._release, BatchSums.total

        def stepped(self, summed, noise):
            keep("noise", noise.numpy().tobytes())
            return step(self, summed, noise)

        def added(self, rows, **given):
            keep("batch", rows.tobytes())
            return total(self, rows, **given)

        TrainingRun._release, BatchSums.total = stepped, added
        with opened(folder) as ledger:
            run, crash = training(ledger, folder), Crash(nth)
            crash.plant()
            report = run.fit(bar=False)
            found = {"writes": crash.seen, "taken": report.taken}
            (folder / "found").write_text(json.dumps(found))
        status = 0
    finally:
        os._exit(status)


def opened(folder):
    return Ledger.open(folder / "a.ledger", unit=dp.row(), budget=Budget(epsilon=50, delta="1e-3"))


def warm_up(folder):
    """Load what every process needs, and price the run, once for all of them."""
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    here = folder / "warm"
    here.mkdir(parents=True)
    attempt(here, 0)
    with opened(here) as ledger:
        (paid,) = [entry for entry in ledger.entries() if entry["kind"] == "charge"]
    tree = decode(paid["tree"])
    (here / "prices").mkdir()
    with opened(here / "prices") as ledger:
        ledger.charge(tree, key="run", delta="1e-5")


def main(folder, nths, *, twice):
    """Kill runs at their n-th event, perhaps once more when they are resumed; then let them end.

    Event 2i - 1 comes before the i-th write, and event 2i after it; 0 is none.
    """
    ended = {}
    warm_up(folder)
    for nth in nths:
        here = folder / str(nth)
        here.mkdir(parents=True)
        kills = [0] if nth == 0 else [nth, 1 + 7 * nth % 10, 0, 0] if twice else [nth, 0]
        ended[nth] = [attempt(here, kill) for kill in kills]
    sys.stdout.write(json.dumps(ended))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), twice=sys.argv[3] == "twice")
