"""Write ``docs/reference/`` from the code itself: ``python docs/write_reference.py``."""

from __future__ import annotations

import importlib
import inspect
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
those that answer take `--json`, and then print one line of ASCII that programs can read.
"""
EXIT_CODES = """
## Exit codes

| code | meaning |
|---|---|
"""
PYTHON = """# The Python API

Made from the docstrings by `python docs/write_reference.py`: what can be imported, and a sentence
about each name. `help(name)` says more, with an example.
"""
ROOMS = {
    "discreet": "The counter: open a table, plan, ask, read the ledger.",
    "discreet.loss": "Privacy losses as values: how much two neighboring tables can be told apart.",
    "discreet.accounting": "Many releases together: trees, budgets, filters.",
    "discreet.mechanisms": "Mechanisms with exact laws, for use without a table.",
    "discreet.continual": "Counts that are released again and again.",
    "discreet.local": "The local model: reports that are private before they leave a device.",
    "discreet.synthetic": "Synthetic tables: methods, workloads, constraints and evidence.",
    "discreet.models": "Models of tables as scikit-learn has them, posteriors, scores and tuning.",
    "discreet.torch": "DP-SGD for PyTorch models: plans, training, stopping, adoption.",
    "discreet.extend": "What a workshop of your own needs to be paid for.",
    "discreet.attacks": "Attacks and audits: what an answer gives away, measured.",
    "discreet.noise": "Exact discrete noise from a secure source.",
}
CLASSES = {
    "discreet.session.Session": "What `open` returns.",
    "discreet.plan.plan.Plan": "What `Session.plan` returns.",
    "discreet.release.Release": "What `Session.ask` returns.",
    "discreet.synthetic.SynthesisPlan": "What `plan_synthesis` returns.",
    "discreet.synthetic.SyntheticRelease": "What `synthesize` returns.",
    "discreet.ledger.Ledger": "The record of what was charged and answered.",
}


def command_line() -> str:
    """Return the page about commands, options and exit codes."""
    return "".join([COMMAND_LINE, *_commands([]), EXIT_CODES, *_codes()])


def _commands(path: list[str]) -> Iterator[str]:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": WIDTH}, prog_name="discreet")
    text = "\n".join(line.rstrip() for line in shown.output.splitlines())
    yield f"\n## {' '.join(['discreet', *path])}\n\n```text\n{text.strip()}\n```\n"
    listed = re.search(r"^Commands:\n((?:  .*\n?)+)", text, re.MULTILINE)
    for name in re.findall(r"^  ([a-z-]+)", listed.group(1) if listed else "", re.MULTILINE):
        yield from _commands([*path, name])


def _codes() -> Iterator[str]:
    """Yield a row for each code of the docstring that commands follow."""
    listed = re.findall(
        r"^ {4}(\d)   (.*?)(?=^ {4}\d|^\S|^$)", exit_codes.__doc__ or "", re.MULTILINE | re.DOTALL
    )
    for code, meaning in listed:
        yield f"| {code} | {' '.join(meaning.split())} |\n"


def python() -> str:
    """Return the page about the names that can be imported."""
    rooms = (part for room in ROOMS for part in _room(room))
    return "".join([PYTHON, *(part for path in CLASSES for part in _class(path)), *rooms])


def _class(path: str) -> Iterator[str]:
    module, _, name = path.rpartition(".")
    described = getattr(importlib.import_module(module), name)
    yield f"\n## {name}\n\n{CLASSES[path]} {_sentence(described)}\n\n| name | |\n|---|---|\n"
    for member, value in inspect.getmembers(described):
        if not member.startswith("_") and (text := _sentence(value)):
            called = "()" if inspect.isroutine(value) else ""
            yield f"| `{member}{called}` | {text} |\n"


def _room(room: str) -> Iterator[str]:
    module = importlib.import_module(room)
    yield f"\n## {room}\n\n{ROOMS[room]}\n\n| name | |\n|---|---|\n"
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        yield f"| `{name}` | {_sentence(value)} |\n"


def _sentence(value: object) -> str:
    """Return the first sentence of a docstring of its own."""
    own = value if hasattr(value, "__name__") or isinstance(value, property) else type(value)
    if getattr(own, "__module__", None) == "builtins":
        return "A constant."
    text = " ".join((inspect.getdoc(own) or "").partition("\n\n")[0].split())
    return text.replace("``", "`").replace("|", "\\|")


PAGES = {"command-line": command_line, "python": python}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (ROOT / f"docs/reference/{name}.md").write_text(page(), encoding="utf-8")
