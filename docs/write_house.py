"""Write ``docs/development/house.md``, the figures of the house: ``python docs/write_house.py``."""

from __future__ import annotations

import ast
import gc
import os
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PAGE = ROOT / "docs/development/house.md"
LIMITS = {
    "files": 965,
    "lines": 160_000,
    "files in the largest folder": 20,
    "longest chain of imports": 20,
    "hidden imports": 21,
    "class names that clash": 0,
    "file names used four times": 0,
    "files that one question runs through": 165,
    "frames that one question is deep": 30,
}
"""No figure may exceed its limit.  Lower a limit when its figure falls; only files and lines grow,
and only with what a user gets for them."""

HEAD = """# The house in figures

Made by `python docs/write_house.py`; `tests/house/test_house.py` keeps the page true, and each
figure below its limit. [A walk](walk.md) follows one question through the rooms.
"""
SECONDS = ROOT / "docs/development/test-seconds.txt"
README = ROOT / "README.md"
FIRST = "## The first five minutes"
ASKED = "answer = clinic.ask(question, epsilon=0.5)"


@dataclass(frozen=True)
class Module:
    """One file of a package."""

    name: str
    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        """What it says."""
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def lines(self) -> int:
        """How long it is."""
        return len(self.path.read_text(encoding="utf-8").splitlines())

    @property
    def room(self) -> str:
        """The folder below the package, or the package for its own files."""
        parts = self.path.relative_to(SOURCE).parts
        return parts[1] if len(parts) > 2 else parts[0]

    def classes(self) -> Iterator[str]:
        """Yield the names of its classes that are not private."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name

    @cached_property
    def imports(self) -> list[tuple[ast.ImportFrom, bool]]:
        """Every import of our own, and whether it is hidden in a function."""
        found = []
        pending: list[tuple[ast.AST, bool]] = [(self.tree, False)]
        while pending:
            node, hidden = pending.pop()
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
                found.append((node, hidden))
            if isinstance(node, ast.expr):  # which holds no import
                continue
            inside = hidden or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            pending.extend((child, inside) for child in ast.iter_child_nodes(node))
        return found


@dataclass(frozen=True)
class House:
    """All modules of a package."""

    modules: Mapping[str, Module]

    @classmethod
    @cache
    def of(cls, package: str) -> House:
        """Read a package."""
        found = {}
        for path in sorted((SOURCE / package).rglob("*.py")):
            parts = list(path.relative_to(SOURCE).with_suffix("").parts)
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path)
        return cls(found)

    @cached_property
    def imported(self) -> dict[str, set[str]]:
        """What every module loads when it is loaded."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, module in self.modules.items():
            for node, hidden in module.imports:
                if not hidden:
                    found[name] |= set(self._named(node)) - {name}
        return found

    def _named(self, node: ast.ImportFrom) -> Iterator[str]:
        base = node.module or ""
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in self.modules else base

    def chain(self) -> list[str]:
        """Return the longest chain of modules of which each loads the next."""
        known: dict[str, list[str]] = {}

        def longest(name: str) -> list[str]:
            if name not in known:
                known[name] = [name]  # a cycle would end here
                rest = [longest(each) for each in sorted(self.imported.get(name, ()))]
                known[name] = [name, *max(rest, key=len, default=[])]
            return known[name]

        return max((longest(name) for name in self.modules), key=len)

    def hidden(self) -> list[str]:
        """Return every import of our own inside a function."""
        return [
            f"{module.name}: {node.module}"
            for module in self.modules.values()
            for node, hidden in module.imports
            if hidden
        ]

    def clashes(self) -> list[str]:
        """Return class names that occur in two rooms of which one imports the other, or in one."""
        places = defaultdict(list)
        for module in self.modules.values():
            for name in module.classes():
                places[name].append(module.room)
        rooms = defaultdict(set)
        for name, others in self.imported.items():
            rooms[self.modules[name].room] |= {
                self.modules[each].room for each in others if each in self.modules
            }
        return sorted(
            name
            for name, found in places.items()
            if any(
                one == two or two in rooms[one] or one in rooms[two]
                for at, one in enumerate(found)
                for two in found[at + 1 :]
            )
        )

    def folders(self) -> Counter[str]:
        """Count the files of every folder, without its door."""
        return Counter(
            str(module.path.parent.relative_to(SOURCE))
            for module in self.modules.values()
            if module.path.name != "__init__.py"
        )

    def stems(self) -> list[str]:
        """Return the file names that occur four times."""
        counts = Counter(module.path.stem for module in self.modules.values())
        return sorted(stem for stem, count in counts.items() if count >= 4 and stem[0] != "_")


def touched() -> tuple[int, int]:
    """Ask the README's question; return how many files it runs through, and how deep it calls.

    Nothing was planned before.  Loading a file does not count, and a function that calls itself
    counts once.
    """
    part = README.read_text(encoding="utf-8").split(FIRST)[1]
    program = "".join(
        re.findall(r"^```python\n(.*?)^```", part.split("\n## ")[0], re.DOTALL | re.MULTILINE)
    )
    before, after = re.sub(r"^print\(.*", "", program, flags=re.MULTILINE).split(ASKED)
    files: set[str] = set()
    deepest = 0
    inside = str(SOURCE)

    stacks = threading.local()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal deepest
        code = frame.f_code
        if event not in {"call", "return"} or not code.co_filename.startswith(inside):
            return
        stack: Counter[CodeType] = stacks.__dict__.setdefault("codes", Counter())
        loading: Counter[str] = stacks.__dict__.setdefault("loading", Counter())
        if code.co_name == "<module>":  # a file that is being loaded
            loading["files"] += 1 if event == "call" else -1
        elif event == "return":
            stack[code] -= 1
            if not stack[code]:
                del stack[code]
        else:
            stack[code] += 1
            if not loading["files"]:
                files.add(code.co_filename)
                deepest = max(deepest, len(stack))

    names: dict[str, object] = {}
    place = Path.cwd()
    try:
        exec(before, names)  # noqa: S102 (the text of our README)
        threading.setprofile(look)
        sys.setprofile(look)
        try:
            exec(ASKED, names)  # noqa: S102
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        exec(after, names)  # noqa: S102
    finally:
        os.chdir(place)
    return len(files), deepest


def figures() -> dict[str, int]:
    """Return all figures that have limits."""
    house = House.of("discreet")
    files, frames = touched()
    return {
        "files": len(house.modules),
        "lines": sum(module.lines for module in house.modules.values()),
        "files in the largest folder": max(house.folders().values()),
        "longest chain of imports": len(house.chain()),
        "hidden imports": len(house.hidden()),
        "class names that clash": len(house.clashes()),
        "file names used four times": len(house.stems()),
        "files that one question runs through": files,
        "frames that one question is deep": frames,
    }


def rooms(package: str) -> str:
    """Return the table of the rooms of a package."""
    found = defaultdict(list)
    for module in House.of(package).modules.values():
        found[module.room].append(module.lines)
    rows = [f"| {room} | {len(all_)} | {sum(all_):,} |" for room, all_ in sorted(found.items())]
    return "\n".join(["| room | files | lines |", "|---|---|---|", *rows])


def seconds() -> str:
    """Return the table of what tests took, room by room, when that was last written down."""
    rows = [line.split() for line in SECONDS.read_text(encoding="utf-8").splitlines()]
    table = [f"| {room} | {float(taken):.0f} |" for taken, _, room in rows if float(taken) >= 10]
    whole = sum(float(taken) for taken, *_ in rows)
    head = (
        f"`./run test --durations` prints them; {whole / 60:.0f} minutes in all, shared by two "
        "processes on two cores. Rooms below ten seconds are left out.\n"
    )
    return "\n".join([head, "| room | seconds |", "|---|---|", *table])


def page() -> str:
    """Return the page."""
    found = figures()
    house = House.of("discreet")
    middle = median(module.lines for module in house.modules.values())
    rows = [f"| {name} | {value:,} | {LIMITS[name]:,} |" for name, value in found.items()]
    if over := [name for name, value in found.items() if value > LIMITS[name]]:
        sys.exit(f"above the limit: {', '.join(over)}")
    table = "\n".join(["| figure | now | limit |", "|---|---|---|", *rows])
    chain = " → ".join(each.removeprefix("discreet.") for each in house.chain())
    return (
        f"{HEAD}\n{table}\n\nHalf of the files have at most {middle:.0f} lines. "
        f"The longest chain of imports: {chain}.\n\n## Rooms\n\n{rooms('discreet')}\n\n"
        f"## The tests\n\n{seconds()}\n"
    )


if __name__ == "__main__":
    gc.disable()  # trees of syntax are many values and no garbage
    if "--print" in sys.argv:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page(), encoding="utf-8")
