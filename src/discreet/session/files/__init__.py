"""Answers as files: written out of sight, sealed, recorded, and then published.

Trust: kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.doors import late_names

if TYPE_CHECKING:  # loaded when an answer is written, which is rare
    from discreet.session.files.write_answer import check_writable, write

__all__ = ["check_writable", "write"]

if not TYPE_CHECKING:  # to which every name would be one of this room
    __getattr__, __dir__ = late_names(__name__, {"write_answer": ("check_writable", "write")})
