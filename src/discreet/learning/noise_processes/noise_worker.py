"""A process that draws noise into its part of shared arrays, whenever it is asked to.

Trust: kernel.

Run by :mod:`discreet.learning.noise_processes.noise_ahead` with the file of the arrays, how many
blocks there are, of how many arrays of which length, the places of its part in each array, and the
variance of the law.  It sees no data.  Its bits are its own: a new process, keyed by the operating
system.

A request names a block and its own number; the answer repeats both.  Numbers go up by one.  A
process that is asked for any other ends before it touches a block: an array may be in use there.
Where nobody is left to tell, it ends, too, and says nothing.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from fractions import Fraction
from typing import BinaryIO

import numpy as np

from discreet.noise import SYSTEM, DiscreteGaussian


def serve(words: list[str], asked: BinaryIO, told: BinaryIO) -> None:
    """Draw a part of each array of a block for each line that is read, until there are no more."""
    file, blocks, arrays, length, low, high = (int(word) for word in words[:6])
    law = DiscreteGaussian(variance=Fraction(words[6]))
    shared = np.frombuffer(mmap.mmap(file, 8 * blocks * arrays * length), np.int64)
    part = shared.reshape(blocks, arrays, length)[:, :, low:high]
    for served, line in enumerate(iter(asked.readline, b""), start=1):
        place, number = (int(word) for word in line.split())
        if number != served:
            return
        block = part[place]
        block[:] = 0
        block[:] = law.sample(block.size, SYSTEM).reshape(block.shape)
        told.write(b"drawn %d %d\n" % (place, number))


if __name__ == "__main__":
    with open(1, "wb", buffering=0) as told, suppress(BrokenPipeError):
        serve(sys.argv[1:], sys.stdin.buffer, told)
