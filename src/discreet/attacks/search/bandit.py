"""A bandit over generators of neighbors: answers are spent where the loss is.

Trust: public.  A better search makes a bound higher, never wrong (key ``held-out-event``).

Each *pull* of a generator draws a few answers about one of its pairs, and its reward is the bound
that they promise.  A generator is chosen by upper confidence bounds (Auer, Cesa-Bianchi and Fischer
2002): what its best pair promised, plus a bonus that shrinks as it is pulled.  A pull tries a new
pair of the generator, as long as there is one; once a pair has promised anything, every other pull
looks again at the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from discreet.attacks.neighbors import Pair
from discreet.attacks.search.generators import Generator

_FEWEST: Final = 40
_SHARE: Final = 2
_TINY: Final = 1e-9

Promised = Callable[[Pair, int], float]
"""From a pair, and how many answers are drawn about each side, to the bound that they promise."""


class Bandit:
    """Generators, and what their pairs have promised so far.

    >>> near, far = Generator("near", ((0, 1),)), Generator("far", ((0, 2), (0, 9)))
    >>> bandit = Bandit([near, far])
    >>> bandit.search(lambda pair, n: pair[1] - pair[0], 1000)
    996
    >>> bandit.best()
    ('far, pair 2 of 2', (0, 9))
    """

    def __init__(self, generators: Sequence[Generator]) -> None:
        """Take at least one generator."""
        self._arms = [_Arm(generator) for generator in generators]
        self.pairs = sum(len(generator.pairs) for generator in generators)

    def search(self, promised: Promised, answers: int) -> int:
        """Spend at most this number of answers a side, at least 2; return the number spent."""
        size = max(_FEWEST, answers // (_SHARE * self.pairs))
        size = max(2, min(size, answers))
        pulls = max(1, answers // size)
        for _ in range(pulls):
            self._chosen().pull(promised, size)
        return pulls * size

    def best(self) -> tuple[str, Pair]:
        """Return the pair that promised most, and its name; the first one before any search."""
        return max(self._arms, key=lambda arm: arm.reward).best()

    def _chosen(self) -> _Arm:
        fresh = [arm for arm in self._arms if not arm.pulls]
        if fresh:
            return fresh[0]
        pulls = sum(arm.pulls for arm in self._arms)
        spread = max(*(arm.reward for arm in self._arms), _TINY)
        return max(
            self._arms,
            key=lambda arm: arm.reward + spread * math.sqrt(math.log(pulls) / arm.pulls),
        )


class _Arm:
    """A generator, and what each of its pairs has promised."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._rewards: list[float] = []
        self.pulls = 0

    @property
    def reward(self) -> float:
        """What the best pair promised; later answers, which are more, count for half."""
        return max(self._rewards, default=0.0)

    def pull(self, promised: Promised, size: int) -> None:
        """Try a new pair, or look again at the best one."""
        pairs = self._generator.pairs
        place = len(self._rewards)
        if place == len(pairs) or (self.pulls % 2 and self.reward > 0):
            place = self._place()
            again = promised(pairs[place], size)
            self._rewards[place] = (self._rewards[place] + again) / 2
        else:
            self._rewards.append(promised(pairs[place], size))
        self.pulls += 1

    def best(self) -> tuple[str, Pair]:
        pairs, place = self._generator.pairs, self._place()
        more = f", pair {place + 1} of {len(pairs)}" if len(pairs) > 1 else ""
        return f"{self._generator.name}{more}", pairs[place]

    def _place(self) -> int:
        return max(range(len(self._rewards)), key=self._rewards.__getitem__, default=0)
