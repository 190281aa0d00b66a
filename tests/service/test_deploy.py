"""The systemd unit and the container file: read by what reads them, and true of this package.

Debian's ``systemd-analyze`` checks the unit.  No container is built here: the file is parsed, and
what it copies and starts is compared with the project.
"""

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from typer.testing import CliRunner

from discreet.cli.app import app

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy" / "discreet.service").read_text()
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text()
INSTRUCTIONS = frozenset(
    {
        "FROM",
        "RUN",
        "COPY",
        "USER",
        "WORKDIR",
        "EXPOSE",
        "STOPSIGNAL",
        "ENTRYPOINT",
        "CMD",
    }
)


def unit():
    """Return the sections of the unit."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT)
    return parser


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    """With the paths of this machine in place of those that an operator adapts."""
    program = shutil.which("systemd-analyze")
    assert program, "systemd-analyze is missing: apt-get install systemd"
    here = Path(sys.executable).with_name("discreet")
    (tmp_path / "discreet.service").write_text(
        UNIT.replace("/srv/discreet/venv/bin/discreet", str(here))
        .replace("/srv/discreet", str(tmp_path))
        .replace("User=discreet", "User=root")
        .replace("Group=discreet", "Group=root")
    )
    command = [program, "verify", "--man=no", str(tmp_path / "discreet.service")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    about_ours = [line for line in found.stderr.splitlines() if "discreet" in line]
    assert not about_ours
    (tmp_path / "discreet.service").write_text(UNIT.replace("KillMode=mixed", "KillMode=never"))
    wrong = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "kill mode" in wrong.stderr  # the check sees what it should


def test_the_unit_waits_for_a_graceful_stop():
    service = unit()["Service"]
    assert service["KillMode"] == "mixed"  # the signal goes to the server, which stops its workers
    assert int(service["TimeoutStopSec"]) > 2 * 20 + 5  # calls end, then questions, then workers
    assert "KillSignal" not in service
    for name in ("ExecStartPre", "ExecStart"):
        _, *words = service[name].split()
        assert words[:2] == ["serve", "site.toml"]
        for option in words[2:]:
            assert option in CliRunner().invoke(app, ["serve", "--help"]).stdout


def test_the_container_file_copies_what_is_there_and_starts_the_command():
    lines = [line for line in CONTAINER.splitlines() if line and not line.startswith("#")]
    parsed = [line.partition(" ")[::2] for line in lines]
    assert {word for word, _ in parsed} <= INSTRUCTIONS
    assert parsed[0][0] == "FROM"
    for word, rest in parsed:
        if word == "COPY":
            assert all((ROOT / source).exists() for source in rest.split()[:-1])
    said = dict(parsed)
    assert said["ENTRYPOINT"] == '["discreet", "serve"]'
    assert said["USER"] != "root"
    assert said["STOPSIGNAL"] == "SIGTERM"
    assert said["CMD"] == '["/site/site.toml"]'  # wherever the container is started
    assert "VOLUME" not in said  # which would be a new one, without ledgers, each time
    mounts = re.findall(r"-v ./site:(\S+?)(?::Z)? .*?(--user\S*)", CONTAINER.replace("\n", " "))
    assert mounts == [("/site", "--userns=keep-id:uid=10001,gid=10001"), ("/site", "--user")]
    assert "--uid 10001 " in CONTAINER
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, wheel = described["project"], described["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "service" in project["optional-dependencies"]
    version = re.search(r"python:3\.(\d+)", said["FROM"])
    oldest = re.search(r"3\.(\d+)", project["requires-python"])
    assert int(version[1]) >= int(oldest[1])
    copied = {each for word, rest in parsed if word == "COPY" for each in rest.split()[:-1]}
    needed = {project["readme"], *project["license-files"]}
    needed |= {Path(each).parts[0] for each in wheel["packages"]}
    assert needed <= copied  # what the build of the package reads
