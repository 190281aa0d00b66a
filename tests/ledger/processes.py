"""Child processes that run a function of a test."""

import contextlib
import os
import warnings


def forked(work, *arguments):
    """Run something in a child process; return its number. Its status is 1 if it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of later Pythons, about threads
        child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work(*arguments)
            os._exit(0)
        os._exit(1)
    return child
