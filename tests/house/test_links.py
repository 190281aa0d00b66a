"""Links between pages lead to files and headings that are there."""

import re

import pytest

from tests.house.pages import ROOT, pages

PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *pages()]

_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def prose(page):
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """Return the names under which headings can be linked, as GitHub and Sphinx make them."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for file, anchor in _LINK.findall(prose(page)):
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{file}#{anchor}"
