"""Code in the documentation runs, and the documentation covers what it must."""

import re

import pytest

from discreet.errors import DiscreetError
from tests.house.pages import COMPOSITION_GUIDES, GALLERY_PAGES, ROOT, blocks, pages
from tests.servers.spark import SMALL_JAVA

ERROR_PAGES = sorted((ROOT / "docs" / "errors").glob("E*.md"))
ALONE = {*GALLERY_PAGES, *COMPOSITION_GUIDES}  # whose blocks run one by one in tests/gallery


def name(page):
    return str(page.relative_to(ROOT))


def codes(kind=DiscreetError):
    """Walk the exception tree and return the code of every leaf."""
    below = kind.__subclasses__()
    if not below:
        return [kind.code]
    return [code for child in below for code in codes(child)]


@pytest.mark.parametrize("page", sorted(set(pages()) - set(ERROR_PAGES) - ALONE), ids=name)
def test_every_code_block_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JDK_JAVA_OPTIONS", SMALL_JAVA)
    namespace = {"__name__": name(page)}
    for code, file in blocks(page):
        exec(compile(code, file, "exec"), namespace)  # noqa: S102


@pytest.mark.parametrize("page", ERROR_PAGES, ids=name)
def test_the_first_block_of_an_error_page_raises_that_error_and_the_others_run(
    page, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": name(page)}
    assert page.read_text(encoding="utf-8").startswith(f"# {page.stem}: ")
    assert list(blocks(page))
    for index, (code, file) in enumerate(blocks(page)):
        program = compile(code, file, "exec")
        if index > 0:
            exec(program, namespace)  # noqa: S102
            continue
        with pytest.raises(DiscreetError) as caught:
            exec(program, namespace)  # noqa: S102
        assert caught.value.code == page.stem


def test_the_readme_has_code():
    assert len(list(blocks(ROOT / "README.md"))) >= 2


def test_every_error_code_has_one_page_and_every_page_a_code():
    found = codes()
    assert len(found) == len(set(found))
    assert all(re.fullmatch(r"E\d{3}", code or "") for code in found)
    assert sorted(found) == [page.stem for page in ERROR_PAGES]


def test_only_leaves_of_the_exception_tree_have_codes():
    def inner(kind):
        below = [each for each in kind.__subclasses__() if each.__module__ == kind.__module__]
        return [kind, *(node for child in below for node in inner(child))] if below else []

    assert [kind for kind in inner(DiscreetError) if kind.code is not None] == []
