"""Layers side by side on a GPU: copies of one run beside the products of another.

Trust: kernel.

Work on one layer knows nothing of another's, but for inputs that two of them share: what is made of
an input (:meth:`discreet.learning.deep.layers.room.Room.pairs`) is used again on the stream that it
was made on.  Every stream begins after all that came before, and nothing goes on before all of them
have ended.  Whatever a stream is given is kept until then: memory that is given back goes to the
stream that it was made on, and PyTorch lends out one stream under several names, so that this may
be one of these.  So memory that one of them reads is not written to meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, final

import torch
from torch import Tensor

_STREAMS: Final = 4


@final
class Streams:
    """Streams of a device, which take inputs in turn; on a CPU there are none.

    >>> streams = Streams(torch.device("cpu"))
    >>> one, other = torch.zeros(2), torch.zeros(2)
    >>> with streams.beside():
    ...     [streams.place(each) for each in (one, other, one)]
    [0, 1, 0]
    """

    def __init__(self, device: torch.device) -> None:
        """Make the streams."""
        count = _STREAMS if device.type == "cuda" else 0
        self._streams = [torch.cuda.Stream(device) for _ in range(count)]
        self._places: dict[int, int] = {}
        self._held: list[Tensor] = []

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """Begin streams with what comes now, and wait for all of them at the end."""
        self._places, self._held = {}, []
        if self._streams:
            main = torch.cuda.current_stream(self._streams[0].device)
            for stream in self._streams:
                stream.wait_stream(main)
        yield
        for stream in self._streams:
            main.wait_stream(stream)
        self._places, self._held = {}, []

    def place(self, given: Tensor) -> int:
        """Return the turn of an input: that of its place in memory."""
        key = given.data_ptr()
        if key not in self._places:
            self._places[key] = len(self._places)
        return self._places[key]

    @contextlib.contextmanager
    def on(self, given: Tensor, *others: Tensor) -> Iterator[None]:
        """Work on the stream of an input; all that is given here is kept until the end."""
        turn = self.place(given)
        if not self._streams:
            yield
            return
        self._held += [given, *others]
        with torch.cuda.stream(self._streams[turn % len(self._streams)]):
            yield
