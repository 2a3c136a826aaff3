"""A current folder in which a stranger has put modules and programs that have the names of others: none of them is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from handmade_job import rank_trace

from traceq.common.process import find_tool
from traceq.dataset import jobs

LIBRARIES = (
    "sitecustomize",
    "usercustomize",
    "traceq",
    "torch",
    "numpy",
    "duckdb",
    "pyarrow",
    "msgspec",
    "click",
    "isal",
)

# A module or program that tells that it was run.
MODULE = "import posix\nposix.close(posix.open({canary!r}, posix.O_CREAT))\n"
PROGRAM = "#!/bin/sh\n: > {canary}\n"


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A folder with two ranks, a damaged report of nsys and the planted files; and the file that one would leave."""
    folder = tmp_path_factory.mktemp("planted")
    canary = folder.with_name("canary")
    for name in {*sys.stdlib_module_names, *LIBRARIES} - set(sys.builtin_module_names):
        (folder / f"{name}.py").write_text(MODULE.format(canary=str(canary)))
    for name in ("nsys", "nvidia-smi"):
        (folder / name).write_text(PROGRAM.format(canary=canary))
        (folder / name).chmod(0o755)
    for rank in range(2):
        (folder / f"job.rank{rank}.json").write_text(rank_trace(rank, {}, 10**18, ranks=2))
    (folder / "report.nsys-rep").write_bytes(bytes(range(256)) * 8)
    return folder, canary


@pytest.fixture(scope="module")
def traceq(tmp_path_factory, planted):
    """Run the command as it is installed in the planted folder, which is in PATH as `.`; return exit code and messages."""
    command = tmp_path_factory.mktemp("bin") / "traceq"
    command.write_text("from traceq.__main__ import run\nrun()\n")
    variables = {
        "PATH": f".{os.pathsep}{os.environ['PATH']}{os.pathsep}",
        "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path)),
    }

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, str(command), *arguments],
            cwd=planted[0],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    return run


def test_commands_and_their_processes_run_nothing_of_the_current_folder(planted, traceq):
    folder, canary = planted
    both = ("job.rank0.json", "job.rank1.json")
    assert traceq("ingest", *both, "-o", "job.duckdb", "--jobs", "2")[0] == 0
    assert traceq("ingest", *both, "-o", "job/", "--jobs", "2")[0] == 0
    code, said = traceq("report", "report.nsys-rep")
    assert (code, "only nsys can read this format and it is not on PATH" in said) == (1, True), said
    code, said = traceq("record", "--backend", "nsys", "--", "true")
    assert (code, "nsys: not on PATH" in said) == (1, True), said
    assert not canary.exists()
    # the files are what would tell
    subprocess.run([sys.executable, "-c", "import multiprocessing"], cwd=folder, check=False, capture_output=True)
    assert canary.exists()
    canary.unlink()


def test_the_process_of_a_large_job_runs_nothing_of_the_current_folder(planted, tmp_path, monkeypatch):
    import traceq as package

    folder, canary = planted
    monkeypatch.setattr(jobs, "_MOST_HERE", 1)
    monkeypatch.chdir(folder)
    package.ingest([folder / "job.rank0.json", folder / "job.rank1.json"], f"{tmp_path}/job/", run="a")
    assert package.open(f"{tmp_path}/job").sql("select count(*) from trace").fetchall() == [(2,)]
    assert not canary.exists()


def test_programs_are_not_found_through_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for place in (tmp_path, tmp_path / "sub"):
        shutil.copyfile("/bin/true", place / "nsys")
        (place / "nsys").chmod(0o755)
    for path in ("", ".", "..:.", "sub", ":", "sub:/nowhere"):
        monkeypatch.setenv("PATH", path)
        assert find_tool("nsys") is None, path
    monkeypatch.setenv("PATH", f".:{tmp_path / 'sub'}")
    assert find_tool("nsys") == str(tmp_path / "sub" / "nsys")
