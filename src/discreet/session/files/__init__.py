"""Answers as files: written out of sight, sealed, recorded, and then published.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import open_door

if TYPE_CHECKING:  # loaded when an answer is written, which is rare
    from discreet.session.files.write_answer import check_writable, write


__all__, __getattr__, __dir__ = open_door(__name__, __file__)
