"""Every content that a folder may have after a loss of power, given what was done to it.

Definition.  After the operations 1, ..., i a disk may hold any subset of them that contains those
which a finished sync covers; a write that no sync covers may also be there in part, by sectors or
up to some byte.  Names are operations on the folder, and need a sync of the folder.
All states cannot be looked at; these are, for each i:

    all       everything up to i
    synced    nothing but what a sync covers
    torn      everything, but of operation i, if it is a write, just a beginning
    some      what a sync covers, and a random choice of the rest, torn at random
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from chaos.trace import Cut, Gone, Mark, Name, Operation, Sync, Write

Files = dict[str, bytes]
"""The content of each file by its path."""

KINDS: Final = ("all", "synced", "torn", "some")
SECTOR: Final = 512


@dataclass(frozen=True, slots=True)
class State:
    """What may lie on the disk when power is lost after operation ``at``."""

    at: int
    kind: str
    files: Files
    told: tuple[str, ...]

    @property
    def digest(self) -> bytes:
        """Equal for states between which nobody can tell a difference."""
        whole = hashlib.sha256(str(len(self.told)).encode())
        for path, data in sorted(self.files.items()):
            whole.update(f"\n{path}\n{len(data)}\n".encode() + data)
        return whole.digest()


def states(operations: Sequence[Operation], *, seed: int, some: int) -> Iterator[State]:
    """Yield the states after each operation, with ``some`` random ones; no two are the same."""
    chosen = random.Random(seed)  # noqa: S311  (a choice of tests)
    seen: set[bytes] = set()
    for state in _all_states(operations, chosen, some):
        if state.digest not in seen:
            seen.add(state.digest)
            yield state


def _all_states(
    operations: Sequence[Operation], chosen: random.Random, some: int
) -> Iterator[State]:
    whole, safe = Disk(), Disk()
    loose: dict[int, Operation] = {}
    told: tuple[str, ...] = ()
    for at, last in enumerate(operations):
        before = whole.copy() if isinstance(last, Write) else whole
        whole.do(last)
        match last:
            case Mark(text=text):
                told = (*told, text)
            case Sync(covers=covers):
                for number in covers:
                    safe.do(loose.pop(number))
            case _:
                loose[at] = last
        yield State(at, "synced", safe.files(), told)
        yield State(at, "all", whole.files(), told)
        if isinstance(last, Write) and len(last.data) > 1:
            before.do(replace(last, data=last.data[: chosen.randrange(1, len(last.data))]))
            yield State(at, "torn", before.files(), told)
        for _ in range(some):
            disk, share = safe.copy(), chosen.choice((0.1, 0.5, 0.9))
            for operation in loose.values():
                for part in _parts(operation, share, chosen):
                    disk.do(part)
            yield State(at, "some", disk.files(), told)


@dataclass(slots=True)
class Disk:
    """What files hold, and which names they have."""

    names: dict[str, int] = field(default_factory=dict)
    held: dict[int, bytearray] = field(default_factory=dict)

    def copy(self) -> Disk:
        """Return another disk that holds the same."""
        return Disk(dict(self.names), {file: data.copy() for file, data in self.held.items()})

    def files(self) -> Files:
        """Return what a folder with these files holds."""
        return {path: bytes(self.held.get(file, b"")) for path, file in self.names.items()}

    def do(self, operation: Operation) -> None:
        """Carry out an operation."""
        match operation:
            case Write(file=file, offset=offset, data=data):
                held = self.held.setdefault(file, bytearray())
                held.extend(bytes(max(0, offset - len(held))))
                held[offset : offset + len(data)] = data
            case Cut(file=file, size=size):
                held = self.held.setdefault(file, bytearray())
                held.extend(bytes(max(0, size - len(held))))
                del held[size:]
            case Name(path=path, file=file, old=old):
                self.names[path] = file
                if old is not None:
                    self.names.pop(old, None)
            case Gone(path=path):
                self.names.pop(path, None)
            case Sync() | Mark():
                pass


def _parts(operation: Operation, share: float, chosen: random.Random) -> list[Operation]:
    """Return what is left of an operation that no sync covers: nothing, all, or some of it."""
    if chosen.random() > share:
        return []
    if isinstance(operation, Write) and chosen.random() < 0.2:
        return list(_sectors(operation, chosen))
    return [operation]


def _sectors(write: Write, chosen: random.Random) -> Iterator[Write]:
    """Yield some of the sectors of a write."""
    start = 0
    while start < len(write.data):
        end = start + SECTOR - (write.offset + start) % SECTOR
        if chosen.random() < 0.5:
            yield Write(write.file, write.offset + start, write.data[start:end])
        start = end
