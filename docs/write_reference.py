"""Write the reference of the command line from the commands: ``python docs/write_reference.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from discreet.cli import exit_codes
from discreet.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
WIDTH = "96"
COMMAND_LINE = """# The command line

Made from the commands themselves by `python docs/write_reference.py`. Every command takes `--help`;
with `--json`, answers are one line of ASCII for programs.
"""
EXIT_CODES = """
## Exit codes

| code | meaning |
|---|---|
"""


def command_line() -> str:
    """Return the page about commands, options and exit codes."""
    return "".join([COMMAND_LINE, *_commands([]), EXIT_CODES, *_codes()])


def _commands(path: list[str]) -> Iterator[str]:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": WIDTH}, prog_name="discreet")
    lines = (line.rstrip() for line in shown.output.splitlines() if " --help  " not in line)
    text = "\n".join(lines).replace("Options:\n\n", "")
    listed = re.search(r"^Commands:\n((?:  .*\n?)+)", text, re.MULTILINE)
    own = text[: listed.start()] if listed else text  # each command has a section of its own
    yield f"\n## {' '.join(['discreet', *path])}\n\n```text\n{own.strip()}\n```\n"
    for name in re.findall(r"^  ([a-z-]+)", listed.group(1) if listed else "", re.MULTILINE):
        yield from _commands([*path, name])


def _codes() -> Iterator[str]:
    """Yield a row for each code of the docstring that commands follow."""
    listed = re.findall(
        r"^ {4}(\d)   (.*?)(?=^ {4}\d|^\S|^$)", exit_codes.__doc__ or "", re.MULTILINE | re.DOTALL
    )
    for code, meaning in listed:
        yield f"| {code} | {' '.join(meaning.split())} |\n"


if __name__ == "__main__":
    page = ROOT / "docs/reference/command-line.md"
    page.write_text(command_line(), encoding="utf-8")
