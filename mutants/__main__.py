"""Try mutants, and say which of them survive.

    ./run mutants                    all of them, one after another
    ./run mutants --only WORDS       those whose name or file has these words
    ./run mutants --list             names and files

It ends with 1 where a mutant survives or no longer applies, or where a test that should catch one
fails without it.
"""

from __future__ import annotations

import argparse

from mutants.catalogue import MUTANTS
from mutants.mutant import StalePatchError
from mutants.trial import Verdict, failing_unpatched, tried


def main() -> int:
    """Try them, and return the exit code."""
    parser = argparse.ArgumentParser(prog="./run mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="WORDS", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--unpatched", action="store_true", help="run the tests as it is, alone")
    options = parser.parse_args()
    chosen = [each for each in MUTANTS if options.only in f"{each.name} {each.file}"]
    if options.list:
        for each in chosen:
            print(f"{each.file}: {each.name}")
        return 0
    wrong = _stale(chosen)
    tests = sorted({test for each in chosen for test in each.caught_by})
    wrong += [f"fails as it is: {test}" for test in failing_unpatched(tests)]
    verdicts = [] if wrong or options.unpatched else _tried(chosen)
    wrong += [f"{each.mutant.name}: {each}" for each in verdicts if not each.caught]
    print(f"{len(verdicts)} mutants tried, {len(wrong)} problems", *wrong, sep="\n  ")
    return int(bool(wrong))


def _stale(chosen: list) -> list[str]:
    found = []
    for each in chosen:
        try:
            each.patched()
        except StalePatchError as error:
            found.append(str(error))
    return found


def _tried(chosen: list) -> list[Verdict]:
    verdicts = []
    for number, each in enumerate(chosen, start=1):
        verdict = tried(each)
        print(f"{number:3} of {len(chosen)}  {each.room}: {each.name}: {verdict}", flush=True)
        verdicts.append(verdict)
    return verdicts


if __name__ == "__main__":
    raise SystemExit(main())
