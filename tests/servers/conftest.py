"""A machine on which nothing is installed yet."""

import pytest


@pytest.fixture
def debian(tmp_path):
    """An empty place where Debian would put what it installs."""
    return tmp_path / "debian"


@pytest.fixture
def path(tmp_path):
    """A path with nothing on it."""
    (tmp_path / "bin").mkdir()
    return str(tmp_path / "bin")
