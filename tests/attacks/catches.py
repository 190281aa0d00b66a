"""Audits of broken twins, each made once in a process: its words are fixed, so it would repeat."""

from discreet_audit.twins import catch

_FOUND = {}


def catch_once(twin, *, most):
    """Return what an audit of a twin finds."""
    which = twin.name, twin.fault, most
    if which not in _FOUND:
        _FOUND[which] = catch(twin, most=most)
    return _FOUND[which]
