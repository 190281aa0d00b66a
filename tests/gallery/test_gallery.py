"""The gallery: pictures are what the project draws, pages show them, and print what they say."""

import re
import subprocess
import sys

import pytest

from tests.gallery.bare import bare_run, needing
from tests.house.pages import GALLERY, ROOT, blocks, printed
from tests.house.pages import GALLERY_PAGES as PAGES

PICTURES = sorted(path.name for path in (GALLERY / "pictures").iterdir())

_SHOWN = re.compile(r"^!\[([^\]]+)\]\(pictures/([^)]+)\)$", re.MULTILINE)


def told_blocks(page):
    """Return the blocks of a page, each with what the page says that it prints."""
    found = [code for code, _ in blocks(page)]
    assert found
    return list(zip(found, printed(page), strict=True))


def shown(page):
    return [picture for _, picture in _SHOWN.findall(page.read_text(encoding="utf-8"))]


def test_the_pictures_are_those_that_are_drawn_byte_for_byte(tmp_path, subtests):
    """All in one test: were they shared out, all would be drawn in every process."""
    subprocess.run([sys.executable, ROOT / "course" / "drawings" / "draw.py", tmp_path], check=True)
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


def test_every_block_runs_by_itself_without_extras_and_prints_what_the_page_says(subtests):
    """But those that say which extra they need.  All in one process, which is what takes time."""
    told = [(page.stem, code, words) for page in PAGES for code, words in told_blocks(page)]
    failed, said = bare_run([(page, code) for page, code, _ in told])
    announced = {code for _, code, _ in needing()}
    for page in {page for page, *_ in told}:
        with subtests.test(page):
            for number, (name, code, words) in enumerate(told):
                if name == page and code.strip("\n") not in announced:
                    assert failed[number] is None
                    assert said[number] == words
    assert sum(words is not None for words in failed) == len(announced)


@pytest.mark.parametrize(
    ("page", "code"), [pytest.param(*each[:2], id=each[0]) for each in needing()]
)
def test_a_block_that_needs_an_extra_runs_with_it_and_prints_what_the_page_says(page, code, capsys):
    told = told_blocks(GALLERY / f"{page}.md")
    (words,) = (words for block, words in told if block.strip("\n") == code)
    exec(compile(code, page, "exec"), {"__name__": page})  # noqa: S102
    assert capsys.readouterr().out == words


def test_every_block_about_sparse_vectors_shows_what_it_prints():
    assert [bool(words) for words in printed(GALLERY / "sparse-vector.md")] == [True] * 7
