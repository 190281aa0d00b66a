"""The page about engines is the one that the matrix gives."""

import runpy

from tests.house.pages import ROOT


def test_the_page_about_engines_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "write_backends.py"))["page"]()
    assert (ROOT / "docs" / "backends.md").read_text(encoding="utf-8") == made
