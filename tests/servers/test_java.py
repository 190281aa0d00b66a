"""Java for Spark: how it is found or installed, and what is said where it cannot be."""

from pathlib import Path

import pytest

from tests.servers.hidden import script
from tests.servers.java import NoJava, found, install, installation, java_home


def java_in(folder, version="17.0.1"):
    """Put a program into a folder that says which version it is, as Java does: as an error."""
    script(folder / "bin" / "java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")
    return folder


def test_a_hidden_java_is_not_found(debian, path):
    assert found(debian, path) is None


def test_old_and_broken_ones_are_passed_over(debian, path):
    java_in(debian / "java-11", "11.0.2")
    java_in(debian / "java-8", "1.8.0_292")
    script(debian / "java-12" / "bin" / "java", "exit 1")
    script(debian / "java-13" / "bin" / "java", "echo nonsense")
    assert found(debian, path) is None
    assert found(debian, path, str(debian / "nothing")) is None
    assert found(debian, path, str(java_in(debian / "java-17"))) == debian / "java-17"


def test_the_named_one_comes_before_the_path_and_the_path_before_debian(debian, path, tmp_path):
    java_in(debian / "java-17")
    assert found(debian, path) == debian / "java-17"
    elsewhere = java_in(tmp_path / "elsewhere", "21")
    (Path(path) / "java").symlink_to(elsewhere / "bin" / "java")
    assert found(debian, path) == elsewhere
    named = java_in(tmp_path / "named", "25")
    assert found(debian, path, str(named)) == named


def test_what_would_be_installed(path):
    assert installation(0, path) == []
    script(Path(path) / "apt-get")
    begin = ["env", "DEBIAN_FRONTEND=noninteractive", f"{path}/apt-get"]
    commands = [
        [*begin, "update"],
        [*begin, "install", "-y", "--no-install-recommends", "default-jre-headless"],
    ]
    assert installation(0, path) == commands
    assert installation(1000, path) == []
    script(Path(path) / "sudo")
    assert installation(1000, path) == [[f"{path}/sudo", "-n", *command] for command in commands]


@pytest.mark.parametrize("user", [0, 1000])
def test_a_missing_java_is_installed(debian, path, user, tmp_path):
    """With an ``apt-get`` that copies a prepared program."""
    prepared, told = java_in(tmp_path / "prepared"), Path(path) / "told"
    script(Path(path) / "sudo", '[ "$1" = -n ] && shift', 'exec "$@"')
    script(
        Path(path) / "apt-get",
        f'echo "$DEBIAN_FRONTEND: $@" >>{told}',
        f'if [ "$1" = install ]; then mkdir -p {debian}; cp -r {prepared} {debian}/java-17; fi',
    )
    assert install(debian, path, user=user) == debian / "java-17"
    assert told.read_text().splitlines() == [
        "noninteractive: update",
        "noninteractive: install -y --no-install-recommends default-jre-headless",
    ]
    assert install(debian, path, user=user) == debian / "java-17"
    assert len(told.read_text().splitlines()) == 2


def test_what_cannot_be_installed_is_explained(debian, path):
    with pytest.raises(NoJava, match="only root can install the package default-jre-headless"):
        install(debian, path)
    script(Path(path) / "apt-get", 'echo "no such package" >&2; exit 100')
    with pytest.raises(NoJava, match="default-jre-headless failed:\nno such package"):
        install(debian, path, user=0)


def test_this_machine_has_one():
    assert (java_home() / "bin" / "java").exists()
