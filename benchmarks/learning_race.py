"""The race of one model, in a process of its own: ``python -m benchmarks.learning_race NAME``.

``benchmarks/learning.py`` starts it once for each model, and reads its one line of JSON.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import asdict

from benchmarks.measure import run_race
from benchmarks.peers.environment import Peers
from benchmarks.rows.learning import MODES, race_of


def main(name: str, rounds: str = "5", peers: str = "1") -> None:
    """Race one model, with each mode of Opacus in another process."""
    with ExitStack() as stack:
        modes = MODES if int(peers) else ()
        started = {mode: stack.enter_context(Peers("learning_opacus")) for mode in modes}
        print(json.dumps(asdict(run_race(race_of(name, started), int(rounds)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
