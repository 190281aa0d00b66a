"""The gallery: pictures are what the project draws, pages show them, and print what they say."""

import re
import subprocess
import sys

import pytest

from tests.house.pages import GALLERY, blocks
from tests.house.pages import GALLERY_PAGES as PAGES

PICTURES = sorted(path.name for path in (GALLERY / "pictures").iterdir())

_SHOWN = re.compile(r"^!\[([^\]]+)\]\(pictures/([^)]+)\)$", re.MULTILINE)
_CODE = re.compile(r"^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def shown(page):
    return [picture for _, picture in _SHOWN.findall(page.read_text(encoding="utf-8"))]


def test_the_pictures_are_those_that_are_drawn_byte_for_byte(tmp_path, subtests):
    """All in one test: were they shared out, all would be drawn in every process."""
    subprocess.run([sys.executable, GALLERY / "draw.py", tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == PICTURES
    for name in PICTURES:
        with subtests.test(name):
            assert (tmp_path / name).read_bytes() == (GALLERY / "pictures" / name).read_bytes()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_runs_nothing_and_loads_nothing(name):
    text = (GALLERY / "pictures" / name).read_text(encoding="utf-8")
    assert not re.search(r"<script|<image|<use|href|url\(|@import|@font-face", text)
    assert "<title>" in text


def test_every_page_is_in_the_table_of_contents():
    text = (GALLERY / "index.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^```\{toctree\}\n(?::[^\n]*\n)*([^`]*)^```", text, re.MULTILINE)
    assert sorted(listed.split()) == [page.stem for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_shows_a_picture(page):
    assert shown(page)
    assert set(shown(page)) <= set(PICTURES)


def test_every_picture_is_shown_once():
    assert sorted(name for page in PAGES for name in shown(page)) == PICTURES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs_by_itself_and_prints_what_the_page_says(page, capsys):
    text = page.read_text(encoding="utf-8")
    found = list(_CODE.finditer(text))
    assert found
    assert len(found) == len(list(blocks(page)))  # no block is left out
    for block in found:
        padding = "\n" * text.count("\n", 0, block.start(1))  # tracebacks name the right line
        program = compile(padding + block[1], str(page), "exec")
        exec(program, {"__name__": page.stem})  # noqa: S102
        assert capsys.readouterr().out == (block[2] or "")


def test_every_block_about_sparse_vectors_shows_what_it_prints():
    found = _CODE.findall((GALLERY / "sparse-vector.md").read_text(encoding="utf-8"))
    assert [bool(printed) for _, printed in found] == [True] * 7
