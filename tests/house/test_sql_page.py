"""The page about SQL is the one that the dialect gives."""

import runpy

from tests.house.pages import ROOT


def test_the_page_about_sql_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "write_sql.py"))["page"]()
    assert (ROOT / "docs" / "sql.md").read_text(encoding="utf-8") == made
