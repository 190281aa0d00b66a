"""Write the proof index of the audit page: ``python docs/write_proof_index.py``.

A module rests on a theorem whose key it names in double backquotes in a docstring or a comment; a
test carries a key by ``pytest.mark.theorem``, on itself, on its class or on its file.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from discreet.theorems import theorems
from discreet.web.evidence.proof_index import INDEX

ROOT = Path(__file__).resolve().parent.parent
_NAMED = re.compile(r"``([a-z0-9-]+)``")
_MARKS = ("pytest.mark", "mark")


def index() -> str:
    """Return the index as JSON."""
    found: dict[str, dict[str, list[str]]] = {
        key: {"modules": [], "tests": []} for key in sorted(theorems())
    }
    for module, keys in _modules():
        for key in keys:
            found[key]["modules"].append(module)
    for test, keys in _tests():
        for key in keys:
            found[key]["tests"].append(test)
    return json.dumps(found, indent=1) + "\n"


def _modules() -> Iterator[tuple[str, list[str]]]:
    source = ROOT / "src"
    for path in sorted((source / "discreet").rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        named = set(_NAMED.findall(path.read_text(encoding="utf-8")))
        yield ".".join(parts), sorted(named & theorems().keys())


def _tests() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if ".theorem(" in text:
            tree = ast.parse(text)
            yield from _marked(tree.body, path.relative_to(ROOT).as_posix(), _of_file(tree))


def _marked(body: list[ast.stmt], place: str, outer: set[str]) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            keys = outer | {key for each in node.decorator_list for key in _keys(each)}
            name = f"{place}::{node.name}"
            if isinstance(node, ast.ClassDef):
                yield from _marked(node.body, name, keys)
            elif node.name.startswith("test") and keys:
                yield name, sorted(keys & theorems().keys())


def _of_file(tree: ast.Module) -> set[str]:
    marks = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return {key for mark in marks for key in _keys(mark)}


def _keys(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="theorem"), args=args):
                if ast.unparse(value) in _MARKS:
                    yield from (str(each.value) for each in args if isinstance(each, ast.Constant))
            case _:
                pass


if __name__ == "__main__":
    INDEX.write_text(index(), encoding="utf-8")
