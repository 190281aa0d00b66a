"""Configuration of the documentation builder; run by ``./run docs``."""

import re
import sys
from pathlib import Path
from typing import Any

import discreet

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discreet"
author = "The discreet authors"
version = release = discreet.__version__

extensions = ["mathml", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "theorem_list"]
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
exclude_patterns = ["_ext"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

html_static_path = ["../src/discreet_course/browser"]  # the pictures that move
html_js_files = ["discreet-teach.js"]
html_theme = "furo"
html_title = "discreet"
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"  # rendered here: pages load nothing from other hosts


def _escape_bars(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Keep |x| in docstrings from being read as a substitution."""
    for at, line in enumerate(lines):
        parts = re.split(r"(``.*?``)", line)
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[at] = "".join(parts)


def setup(app: Any) -> None:
    """Connect the hook."""
    app.connect("autodoc-process-docstring", _escape_bars)
