"""Programs that pretend to be others, in places where these would be looked for."""


def script(path, *lines):
    """Write a program of a few lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
