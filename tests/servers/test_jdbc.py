"""SQL clients: how they are found or installed, and what is said where they cannot be."""

from pathlib import Path

import pytest

from tests.servers.hidden import script
from tests.servers.jdbc import NoClient, driver, installed, psql


@pytest.mark.parametrize("user", [0, 1000])
def test_a_missing_client_is_installed(path, user, tmp_path):
    """With an ``apt-get`` that makes a file."""
    client, told = tmp_path / "client", Path(path) / "told"
    script(Path(path) / "sudo", '[ "$1" = -n ] && shift', 'exec "$@"')
    script(Path(path) / "apt-get", f'echo "$@" >>{told}', f"touch {client}")

    def found():
        return client if client.exists() else None

    assert installed(found, "some-client", user=user, path=path) == client
    assert told.read_text().splitlines()[1] == "install -y --no-install-recommends some-client"


def test_what_cannot_be_installed_is_explained(path):
    with pytest.raises(NoClient, match="only root can install the package some-client"):
        installed(lambda: None, "some-client", user=1000, path=path)
    script(Path(path) / "apt-get", 'echo "no such package" >&2; exit 100')
    with pytest.raises(NoClient, match="cannot be installed:\nno such package"):
        installed(lambda: None, "some-client", user=0, path=path)


def test_this_machine_has_both():
    assert driver().exists()
    assert psql().exists()
