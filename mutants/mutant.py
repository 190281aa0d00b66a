"""A small mistake in a kernel file, and the tests that must see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src"


class StalePatchError(Exception):
    """The text that a mutant replaces is not there exactly once: the mutant needs an update."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A patch that breaks privacy.

    Attributes:
        name: what goes wrong, in a few words.
        file: the file that is patched, from the folder of sources.
        old: text that the file contains exactly once.
        new: what takes its place.
        why: how it breaks privacy.
        caught_by: tests that fail because of it, by file and function.
        fast: whether it is tried with the default tests, too.
    """

    name: str
    file: str
    old: str
    new: str
    why: str
    caught_by: tuple[str, ...]
    fast: bool = False

    @property
    def room(self) -> str:
        """The room whose code is patched."""
        return self.file.split("/")[1].removesuffix(".py")

    def patched(self, source: Path = SOURCE) -> str:
        """Return the text of the file with the mistake in it."""
        text = (source / self.file).read_text("utf-8")
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            message = f"{self.name}: {self.file} has the text to be replaced {found} times"
            raise StalePatchError(message)
        return text.replace(self.old, self.new)
