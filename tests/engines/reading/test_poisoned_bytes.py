"""A poisoned byte of a file is refused when the file is opened, or makes no question fail."""

import subprocess
import sys
import time

import pytest

from tests.engines.reading.poisoned_bytes import FORMATS


def opened(kind, seed, files):
    """Return how many of some poisoned files were opened, and no question about them failed."""
    command = [sys.executable, "-m", "tests.engines.reading.poisoned_bytes", kind]
    told = subprocess.run(
        [*command, str(seed), str(files)], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-2000:]
    return int(told.stdout)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_poisoned_byte_is_refused_or_harmless(kind):
    assert opened(kind, 1, 12) < 12


@pytest.mark.slow
def test_thousands_of_poisoned_bytes():
    began, files = time.monotonic(), 0
    for kind in FORMATS:
        for seed in range(10):
            opened(kind, 100 + seed, 200)
            files += 200
    print(f"{files:,} files in {time.monotonic() - began:.0f} s")  # noqa: T201
