"""Chromium for the workbench: how it is found or installed, and what is said where it cannot be."""

from pathlib import Path

import pytest

from tests.servers.chromium import NoChromium, chromium, found, install, installation
from tests.servers.hidden import script


def browser(program, version="150.0.7000.1"):
    script(program, f"echo 'Chromium {version} built on Debian'")
    return program


def test_a_hidden_browser_is_not_found(path):
    assert found(path) is None


@pytest.mark.parametrize("line", ["echo 'Chromium 90.0.1.2'", "exit 1", "echo nonsense"])
def test_old_and_broken_ones_are_passed_over(path, line):
    script(Path(path) / "chromium", line)
    assert found(path) is None


def test_the_named_one_comes_before_the_path(path, tmp_path):
    own = browser(Path(path) / "google-chrome")
    assert found(path) == own
    named = browser(tmp_path / "elsewhere" / "chrome")
    assert found(path, str(named)) == named


@pytest.mark.parametrize("user", [0, 1000])
def test_a_missing_browser_is_installed(path, user, tmp_path):
    """With an ``apt-get`` that copies a prepared program."""
    prepared, told = browser(tmp_path / "prepared"), Path(path) / "told"
    script(Path(path) / "sudo", '[ "$1" = -n ] && shift', 'exec "$@"')
    script(
        Path(path) / "apt-get",
        f'echo "$DEBIAN_FRONTEND: $@" >>{told}',
        f'if [ "$1" = install ]; then cp {prepared} {path}/chromium; fi',
    )
    assert install(path, user=user) == Path(path) / "chromium"
    assert told.read_text().splitlines() == [
        "noninteractive: update",
        "noninteractive: install -y --no-install-recommends chromium",
    ]
    assert install(path, user=user) == Path(path) / "chromium"
    assert len(told.read_text().splitlines()) == 2


def test_what_cannot_be_installed_is_explained(path):
    assert installation(1000, path) == []
    with pytest.raises(NoChromium, match="only root can install the package chromium"):
        install(path)
    script(Path(path) / "apt-get", 'echo "no such package" >&2; exit 100')
    with pytest.raises(NoChromium, match="chromium failed:\nno such package"):
        install(path, user=0)


def test_this_machine_has_one():
    assert chromium().exists()
