"""Notebooks made from the pages of the gallery.

Text and code of a page become cells, in its order.  Printed results are left out: running a cell
prints them.  A cell that needs an extra follows the sentence of the page that says so.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

from discreet.errors import WrongKind
from discreet_course.gallery_pages import MOVING_FIGURE, NOTE, as_quote, folder, text, titles

_CODE: Final = re.compile(
    r"^```python\n(.*?)^```\n(?:\n^```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE
)


def notebook(page: str) -> dict[str, Any]:
    """Return a page as a notebook.

    >>> kinds = [cell["cell_type"] for cell in notebook("ten-rows")["cells"]]
    >>> kinds[:2], kinds.count("code")
    (['markdown', 'code'], 7)
    """
    source, cells, last = MOVING_FIGURE.sub("", text(page)), [], 0
    for block in _CODE.finditer(source):
        cells += [_words(source[last : block.start()]), _code(block[1])]
        last = block.end()
    cells.append(_words(source[last:]))
    kept = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells) if cell["source"]]
    return {"cells": kept, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}


_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _words(source: str) -> dict[str, Any]:
    quoted = NOTE.sub(as_quote, source).strip()
    return {"cell_type": "markdown", "metadata": {}, "source": quoted.splitlines(keepends=True)}


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source.rstrip().splitlines(keepends=True),
    }


def write_notebooks(into: Path) -> list[Path]:
    """Write a notebook of each page, and the pictures, to a new folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     write_notebooks(Path(home) / "course")[0].name
    '01-attack-first.ipynb'
    """
    try:
        into.mkdir()
        shutil.copytree(folder() / "pictures", into / "pictures")
    except OSError:
        raise WrongKind(
            what=f"the folder '{into}' cannot be made, or something is there already.",
            why="nothing that exists is overwritten.",
            do="name a new folder inside one that exists.",
        ) from None
    made = []
    for number, page in enumerate(titles(), 1):
        path = into / f"{number:02}-{page}.ipynb"
        path.write_text(json.dumps(notebook(page), ensure_ascii=False, indent=1), encoding="utf-8")
        made.append(path)
    return made
