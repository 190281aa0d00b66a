"""Configuration of the documentation builder; run by ``./run docs``."""

import sys
from pathlib import Path

import discreet

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discreet"
author = "The discreet authors"
version = release = discreet.__version__

extensions = ["mathml", "myst_parser", "theorem_list"]
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
