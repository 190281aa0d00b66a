"""Answers that a cluster writes while tasks fail and are killed: the same files."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from tests.engines.spark.troubled import BINS, CANARY, KEY, TROUBLES
from tests.servers.spark import ROOT, StandaloneCluster


@pytest.mark.slow
@pytest.mark.theorem("keyed-bins")
def test_trouble_changes_no_file_and_no_log_knows_a_total(tmp_path):
    with StandaloneCluster() as cluster:
        done = subprocess.run(
            [sys.executable, "-m", "tests.engines.spark.troubled", cluster.address, str(tmp_path)],
            capture_output=True,
            check=False,
            cwd=ROOT,
            text=True,
            timeout=500,
        )
        logs = done.stderr + cluster.logs()
    assert done.returncode == 0, done.stderr[-3000:]
    parsed = json.loads(done.stdout)
    assert len(parsed["none"]) == BINS
    assert set(parsed) == set(TROUBLES)
    assert [trouble for trouble in TROUBLES if parsed[trouble] != parsed["none"]] == []
    for trouble, files in parsed.items():
        kept = {name for name, _, _ in files}
        assert kept == {path.name for path in (tmp_path / trouble).glob("[!.]*")}
    events = "".join(
        path.read_text() for path in (tmp_path / "events").rglob("*") if path.is_file()
    )
    assert "a task could not compute its part of an answer" in logs
    assert '"Event":"SparkListenerTaskEnd"' in events
    assert '"Event":"SparkListenerExecutorRemoved"' in events
    assert finished_beside_another(events)
    for text in (logs, events):
        assert str(CANARY) not in text
        assert KEY.hex() not in text
        assert repr(KEY)[2:-1] not in text
    values = pq.read_table(tmp_path / "none").column("n").to_pylist()
    assert 918273645000 < max(values) < 918273647000  # it is in there, with noise


def finished_beside_another(events):
    """Say whether a task was done that Spark began because another one was slow."""
    told = [json.loads(line) for line in events.splitlines() if "SparkListenerTaskEnd" in line]
    return any(
        event["Task Info"]["Speculative"] and event["Task End Reason"]["Reason"] == "Success"
        for event in told
    )
