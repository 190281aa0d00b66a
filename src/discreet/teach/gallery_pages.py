"""The pages of the gallery, as they lie in the package or beside a checkout.

Trust: public.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from discreet.errors import UnknownName

_INSTALLED: Final = Path(__file__).parent / "gallery"
_CHECKOUT: Final = Path(__file__).parents[3] / "docs" / "gallery"
SCRIPT: Final = Path(__file__).parent / "browser" / "discreet-teach.js"
MOVING: Final = (
    "two-worlds",
    "sparse-run",
    "binary-tree",
    "three-models",
    "attack-noise",
    "budget-game",
)
_CONTENTS: Final = re.compile(r"^```\{toctree\}\n(?::[^\n]*\n)*([^`]*)^```", re.MULTILINE)


def folder() -> Path:
    """Return where the pages are: in the package, or in the checkout that it was installed from.

    >>> (folder() / "index.md").is_file()
    True
    """
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def titles() -> dict[str, str]:
    """Return the titles of all pages, in the order of the course.

    >>> titles()["ten-rows"]
    'Ten rows'
    """
    contents = _CONTENTS.search((folder() / "index.md").read_text(encoding="utf-8"))
    names = contents[1].split() if contents else []
    return {name: text(name).partition("\n")[0].removeprefix("# ") for name in names}


def text(name: str) -> str:
    """Return the source of a page.

    >>> text("ten-rows").startswith("# Ten rows")
    True
    """
    path = folder() / f"{name}.md"
    if not re.fullmatch(r"[a-z0-9-]+", name) or not path.is_file():
        raise UnknownName(
            what="there is no such page.",
            why="pages of the gallery are known by short names.",
            do="call `discreet learn` to list them.",
        )
    return path.read_text(encoding="utf-8")


def moving_page() -> str:
    """Return one page with all pictures that move; it needs no network.

    >>> moving_page().count('<figure class="moving"')
    6
    """
    figures = "\n".join(
        f'<figure class="moving" data-picture="{name}"></figure>' for name in MOVING
    )
    script = SCRIPT.read_text(encoding="utf-8").replace("</", "<\\/")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Pictures that move</title>'
        "<style>body{font-family:sans-serif;max-width:45em;margin:auto;padding:1em}</style></head>"
        f"<body><h1>Pictures that move</h1>\n{figures}\n<script>{script}</script></body></html>\n"
    )
