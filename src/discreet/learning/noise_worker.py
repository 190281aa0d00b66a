"""A process that draws noise into a part of a shared array, whenever it is asked to.

Trust: kernel.

Run by :mod:`discreet.learning.noise_ahead` with the array's file and size, the places of its part,
and the variance of the law.  It sees no data.  Its bits are its own: a new process, keyed by the
operating system.
"""

from __future__ import annotations

import mmap
import sys
from fractions import Fraction
from typing import BinaryIO

import numpy as np

from discreet.noise import SYSTEM, DiscreteGaussian


def serve(words: list[str], asked: BinaryIO, told: BinaryIO) -> None:
    """Draw one part for each line that is read, until there are no more."""
    file, size, low, high = (int(word) for word in words[:4])
    law = DiscreteGaussian(variance=Fraction(words[4]))
    part = np.frombuffer(mmap.mmap(file, size), np.int64)[low:high]
    while asked.readline():
        part[:] = law.sample(high - low, SYSTEM)
        told.write(b"drawn\n")
        told.flush()


if __name__ == "__main__":
    serve(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer)
