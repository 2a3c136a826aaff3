"""Workers that Slurm starts, by docs/examples/slurm_cluster.py: sbatch is a stand-in that runs the script of the job here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import lazy_import
import pytest

import traceq

lazy_import.module("dask_jobqueue")

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "slurm_cluster.py"

# Like sbatch it copies the script, which is gone when it returns, and lets it run in a session of its own.
SBATCH = """#!/bin/sh
grep -q '^#SBATCH -n 1' "$1" && grep -q '^#SBATCH --cpus-per-task=2' "$1" && grep -q '^#SBATCH --mem=' "$1" || exit 1
copy="$FAKE_SLURM/$$.sh"
cp "$1" "$copy"
setsid sh "$copy" > "$FAKE_SLURM/$$.out" 2>&1 &
echo "$!" >> "$FAKE_SLURM/jobs"
echo "Submitted batch job $!"
"""

SCANCEL = """#!/bin/sh
kill -TERM -- "-$1"
"""


@pytest.fixture
def slurm(tmp_path):
    """The environment in which sbatch and scancel are ours, and the folder where they keep what they are told."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    environment = {"PATH": path, "PYTHONPATH": os.pathsep.join(sys.path), "FAKE_SLURM": str(folder)}
    return folder, {**os.environ, **environment}


def test_workers_of_slurm_make_the_pieces(traces, tmp_path, slurm, content):
    folder, environment = slurm
    command = [sys.executable, str(EXAMPLE), str(traces), f"{tmp_path}/there/", "2"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len((folder / "jobs").read_text().split()) == 2
    traceq.ingest(traces, f"{tmp_path}/here/")
    assert content(tmp_path / "there") == content(tmp_path / "here")
