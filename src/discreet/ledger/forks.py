"""What a forked process inherits and must not touch.

Trust: kernel.
"""

from __future__ import annotations

import ctypes

__all__ = ["leave_alone"]


def leave_alone(thing: object) -> None:
    """Keep something until the process ends, and do not even close it then.

    A child process inherits connections that are its parent's: closing them there would write to
    files, or end sessions, that the parent is using.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
