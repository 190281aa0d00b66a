"""Cards for files that were copied on purpose, so that they pass for the originals."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from discreet.ledger.stores.file_identity import WitnessCard, birth_time

_SLOT = 512


def carried(path: Path) -> Path:
    """Let cards that were copied along speak of the copy; torn ones stay as they are."""
    place = path.with_name(f"{path.name}-turn")
    if not place.exists() or not path.exists():
        return path
    data = place.read_bytes()
    slots = []
    for slot in (data[:_SLOT], data[_SLOT:]):
        card = WitnessCard.read(slot)
        if card is not None:
            inode, birth = path.stat().st_ino, birth_time(path)
            written = dataclasses.replace(card, inode=inode, birth=birth).written()
            slots.append(written + slot[len(written) :])
        else:
            slots.append(slot)
    place.write_bytes(b"".join(slots))
    return path


def adopted(path: Path) -> Path:
    """Give a lone copy a card that expects nothing of it."""
    card = WitnessCard(path.stat().st_ino)
    path.with_name(f"{path.name}-turn").write_bytes(card.written())
    return path
