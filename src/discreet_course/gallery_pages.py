"""The pages of the gallery, from the package or from a checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from discreet.errors import UnknownName

_INSTALLED: Final = Path(__file__).parent / "gallery"
_CHECKOUT: Final = Path(__file__).parents[2] / "docs" / "gallery"
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


NOTE: Final = re.compile(r"^```\{admonition\} (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MOVING_FIGURE: Final = re.compile(
    r'^<figure class="moving".*?</figure>\n', re.DOTALL | re.MULTILINE
)
_CODE: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_MATH: Final = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+(?:\n[^$\n]+)?)\$", re.DOTALL)
_SIGNS: Final = {
    "varepsilon": "ε",
    "epsilon": "ε",
    "delta": "δ",
    "Delta": "Δ",
    "sigma": "σ",
    "eta": "η",
    "beta": "β",
    "rho": "ρ",
    "mu": "μ",
    "Phi": "Φ",
    "ell": "ℓ",
    "le": "≤",
    "ge": "≥",
    "ne": "≠",
    "in": "∈",
    "sum": "Σ",
    "cdot": "·",
    "dots": "…",
    "approx": "≈",
    "pm": "±",
    "quad": "  ",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "infty": "∞",
    "big": "",
    "Pr": "Pr",
}
_FRACTION: Final = re.compile(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}|\\t?frac(\d)(\d)")
_GROUP: Final = re.compile(r"\\(?:text|mathrm|mathbb|operatorname)\{([^{}]*)\}")


def plain_math(formula: str) -> str:
    r"""Return a formula of LaTeX in signs that a terminal can show.

    >>> plain_math(r"\Pr[M(D)\in S] \le e^{\varepsilon}\,\Pr[M(D')\in S] + \delta")
    "Pr[M(D)∈ S] ≤ e^ε Pr[M(D')∈ S] + δ"
    """
    shown = _GROUP.sub(r"\1", formula)
    shown = re.sub(r"\\([a-zA-Z]+)", lambda found: _sign(found[1]), shown)
    shown = re.sub(r"\\[,;:! ]", " ", shown).replace(r"\{", "{").replace(r"\}", "}")
    for _ in range(3):  # inner groups first
        shown = _FRACTION.sub(
            lambda found: (
                f"({found[1]})/({found[2]})" if found[3] is None else f"{found[3]}/{found[4]}"
            ),
            shown,
        )
        shown = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", shown)
        shown = re.sub(r"\\binom\{([^{}]*)\}\{([^{}]*)\}", r"(\1 choose \2)", shown)
        shown = re.sub(r"\\tilde\{?([a-z])\}?", "\\1\u0303", shown)
        shown = re.sub(r"([\^_])\{([^{} ]*)\}", r"\1\2", shown)
        shown = re.sub(r"([\^_])\{([^{}]*)\}", r"\1(\2)", shown)
    return shown.replace(r"\sqrt", "√").replace("\\", "").strip()


def _sign(name: str) -> str:
    """Return the sign of a command; those with arguments stay for the next step."""
    if name in {"frac", "tfrac", "sqrt", "binom", "tilde"}:
        return f"\\{name}"
    return _SIGNS.get(name, name)


def terminal_text(name: str) -> str:
    """Return a page without what only a browser shows: formulas in signs, notes as quotes."""
    bare = NOTE.sub(as_quote, MOVING_FIGURE.sub("", text(name)))
    parts = _CODE.split(bare)
    words = [
        part if part.startswith("```") else _MATH.sub(lambda m: plain_math(m[1] or m[2]), part)
        for part in parts
    ]
    return "".join(words)


def as_quote(note: re.Match[str]) -> str:
    """Return a note as a quote with its title in bold."""
    lines = [f"**{note[1]}**", "", *note[2].splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


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
