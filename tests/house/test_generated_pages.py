"""Generated pages are what their scripts write."""

import runpy

import pytest

from tests.house.pages import ROOT


def test_the_page_about_engines_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "write_backends.py"))["page"]()
    assert (ROOT / "docs" / "backends.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize("name", ["command-line", "python"])
def test_references_are_up_to_date(name):
    made = runpy.run_path(str(ROOT / "docs" / "write_reference.py"))["PAGES"][name]()
    assert (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8") == made
