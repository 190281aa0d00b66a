"""What the tests of the house look at: the repository's files, pages and modules."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
GALLERY = ROOT / "docs" / "gallery"
GALLERY_PAGES = sorted(path for path in GALLERY.glob("*.md") if path.name != "index.md")
COMPOSITION_GUIDES = [
    ROOT / "docs" / "guide" / f"{name}.md"
    for name in ("composition", "samples", "reading-a-price", "neighbors", "filters")
]

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PRINTED = re.compile(r"\n\n^```text\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def text_files() -> list[Path]:
    """Return the files that belong to the repository: committed ones and new ones alike."""
    return [path for path in _own_files() if path.is_file() and b"\0" not in path.read_bytes()]


def _own_files() -> list[Path]:
    question = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(question, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive, or no git
        return [path for path in ROOT.rglob("*") if not _ignored(path.relative_to(ROOT))]
    return [ROOT / name for name in listed.decode().split("\0") if name]


def _ignored(path: Path) -> bool:
    top = path.parts[0]
    hidden = top.startswith(".") and top not in {".ci", ".gitignore", ".pre-commit-config.yaml"}
    return hidden or top in {"dist", "out"} or "__pycache__" in path.parts


def pages() -> list[Path]:
    """Return the pages whose code must run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each Python block of a page, padded to its line, and a name for tracebacks."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        padding = "\n" * text.count("\n", 0, found.start(1))
        yield padding + found.group(1), str(page.relative_to(ROOT))


def printed(page: Path) -> list[str]:
    """Return what a page says that each of its blocks prints, right below the block.

    >>> all(len(printed(page)) == len(list(blocks(page))) for page in COMPOSITION_GUIDES)
    True
    """
    text = page.read_text(encoding="utf-8")
    below = [_PRINTED.match(text, found.end()) for found in _BLOCK.finditer(text)]
    return ["" if found is None else found[1] for found in below]


def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    named = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def rooms() -> set[str]:
    """Return the rooms that are built: the folders and files right below the package."""
    return {name.split(".")[1] for name in modules() if "." in name}
