"""Runs that guard a secret: they cannot be copied, stored, forked, altered or entered twice.

Trust: kernel.

A run holds noise that was drawn and paid for once.  Two continuations of one run would use it
twice, so a run refuses to be pickled, copied, or continued in a forked process; nothing of it can
be set or deleted; and one answer is given at a time, also among threads and signal handlers.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NoReturn, TypeVar

from discreet.errors import EntropyBusy, EntropyCopied, EntropyForked, WrongKind
from discreet.noise import Entropy
from discreet.noise.entropy import process_stamp

Answer = TypeVar("Answer")
Reason = dict[str, str]


class GuardedRun(ABC):
    """One interactive run."""

    __slots__ = ("_busy", "_entropy", "_lock", "_stamp")

    _busy: bool
    _entropy: Entropy
    _lock: threading.RLock
    _stamp: int

    _FORKED: ClassVar[Reason]
    _COPIED: ClassVar[Reason]
    _BUSY: ClassVar[Reason]
    _ALTERED: ClassVar[Reason]
    """Why a run refuses, and what to do: ``what``, ``why`` and ``do`` of an error."""

    def __init__(self, entropy: Entropy) -> None:
        """Bind the run to this process."""
        self._keep(_entropy=entropy, _stamp=process_stamp(), _lock=threading.RLock(), _busy=False)

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse where no further answer was paid for."""

    def _keep(self, **state: object) -> None:
        """Set attributes, past ``__setattr__``, which refuses."""
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def _check_process(self) -> None:
        if self._stamp != process_stamp():
            raise EntropyForked(**self._FORKED)

    def _alone(self, answer: Callable[[int], Answer], number: int) -> Answer:
        """Answer while no other thread does; a signal handler of this thread is refused."""
        with self._lock:
            if self._busy:
                raise EntropyBusy(**self._BUSY)
            self._check_open()
            self._keep(_busy=True)
            try:
                return answer(number)
            finally:
                self._keep(_busy=False)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to alter a run."""
        raise WrongKind(**self._ALTERED | {"what": f"{name} of {self._ALTERED['what']}"})

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse to alter a run."""
        self.__setattr__(name, None)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or stored."""
        raise EntropyCopied(**self._COPIED)
