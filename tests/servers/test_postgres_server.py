"""The server that other tests use: how it is found or installed, and that it never stays behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.house.pages import ROOT
from tests.servers.hidden import script
from tests.servers.postgres import NEEDED, NoServer, PostgresServer, found, installation, programs


def server_in(folder, missing=()):
    for name in NEEDED:
        if name not in missing:
            script(folder / name)
    return folder


def test_a_hidden_server_is_not_found(debian, path):
    assert found(debian, path) is None


def test_the_latest_complete_server_is_found(debian, path):
    server_in(debian / "9.6" / "bin")
    server_in(debian / "15" / "bin")
    server_in(debian / "16" / "bin", missing=["initdb"])
    server_in(debian / "old" / "bin")
    assert found(debian, path) == debian / "15" / "bin"


def test_the_path_comes_first(debian, path):
    server_in(debian / "15" / "bin")
    assert found(debian, str(server_in(Path(path)))) == Path(path)


def test_pg_config_is_asked(debian, path, tmp_path):
    folder = server_in(tmp_path / "elsewhere")
    script(Path(path) / "pg_config", f"[ $1 = --bindir ] && echo {folder}")
    assert found(debian, path) == folder


def test_what_would_be_installed(path):
    assert installation(0, path) == []
    script(Path(path) / "apt-get")
    begin = ["env", "DEBIAN_FRONTEND=noninteractive", f"{path}/apt-get"]
    commands = [
        [*begin, "update"],
        [*begin, "install", "-y", "--no-install-recommends", "postgresql"],
    ]
    assert installation(0, path) == commands
    assert installation(1000, path) == []
    script(Path(path) / "sudo")
    assert installation(1000, path) == [[f"{path}/sudo", "-n", *command] for command in commands]


@pytest.mark.parametrize("user", [0, 1000])
def test_a_missing_server_is_installed(debian, path, user):
    """With an ``apt-get`` that writes down what it is told, and makes the programs."""
    folder, told = debian / "15" / "bin", Path(path) / "told"
    programs_made = [f"cp {path}/sudo {folder}/{name}" for name in NEEDED]
    script(Path(path) / "sudo", '[ "$1" = -n ] && shift', 'exec "$@"')
    script(
        Path(path) / "apt-get",
        f'echo "$DEBIAN_FRONTEND: $@" >>{told}',
        f'if [ "$1" = install ]; then mkdir -p {folder}; {"; ".join(programs_made)}; fi',
    )
    assert programs(debian, path, user) == folder
    assert told.read_text().splitlines() == [
        "noninteractive: update",
        "noninteractive: install -y --no-install-recommends postgresql",
    ]
    assert programs(debian, path, user) == folder
    assert len(told.read_text().splitlines()) == 2


def test_what_cannot_be_installed_is_explained(debian, path):
    with pytest.raises(NoServer, match="only root can install the package postgresql"):
        programs(debian, path)
    script(Path(path) / "apt-get", 'echo "no such package" >&2; exit 100')
    with pytest.raises(NoServer, match="postgresql failed:\nno such package"):
        programs(debian, path, 0)


def test_a_server_that_does_not_start_says_why_and_leaves_nothing(monkeypatch):
    made, make = [], tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **how: made.append(make(**how)) or made[-1])
    with pytest.raises(NoServer, match="nonsense"):
        PostgresServer(settings=["nonsense=1"])
    assert len(made) == 1
    assert not Path(made[0]).exists()


@pytest.mark.parametrize(("on_disk", "room"), [(True, 0), (False, 1 << 62)])
def test_files_lie_on_disk_if_they_must(monkeypatch, on_disk, room):
    monkeypatch.setattr("tests.servers.postgres.ROOM", room)
    monkeypatch.setattr(PostgresServer, "_make", lambda self: None)
    monkeypatch.setattr(PostgresServer, "start", lambda self: None)
    with PostgresServer(on_disk=on_disk) as server:
        assert server.folder.parent == Path(tempfile.gettempdir())
    assert not server.folder.exists()


ABANDONED = """
import time
from tests.servers.hidden import script
from tests.servers.postgres import PostgresServer
server = PostgresServer()
print(server.folder, (server.folder / "data" / "postmaster.pid").read_text().split()[0], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_its_tests(end):
    command = [sys.executable, "-c", ABANDONED]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        folder, process = tests.stdout.readline().split()
        assert Path(folder).exists()
        tests.send_signal(end)
    deadline = time.monotonic() + 20
    while (Path(folder).exists() or alive(int(process))) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(folder).exists()
    assert not alive(int(process))


def alive(process):
    """Say whether a process runs; one that nobody has buried yet does not."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except PermissionError:
        return True
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
