"""traceq.profile in threads, in children and in the processes of a distributed training."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import lazy_import
import pytest
from small_training import SHORT, list_rows, make_iteration, only_trace, read_document, steps_in

import traceq
from traceq.capture import files
from traceq.capture.profile import profile

torch = lazy_import.module("torch")


@pytest.fixture(scope="module")
def train():
    return make_iteration(torch)


SCRIPT = """
import os, sys, threading, torch
from traceq import annotate
from traceq.capture.profile import profile

run = profile("traces", skip=1, warmup=1, steps=3).__enter__()
for number in range(int(sys.argv[1])):
    with run.step():
        torch.ones(8).add(1)
        if sys.argv[2] == "thread":
            def work():
                with annotate.phase("elsewhere"):
                    torch.ones(8).mul(2)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        if sys.argv[2] == "fork" and number == 3:
            child = os.fork()
            if child == 0:
                run.__exit__(None, None, None)
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def run_script(tmp_path, *arguments):
    paths = [str(Path(traceq.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("traceq: ")]
    return done.returncode, lines, tmp_path / "traces"


@pytest.mark.slow
def test_a_child_process_leaves_the_session_to_its_parent(tmp_path):
    status, lines, traces = run_script(tmp_path, "9", "fork")
    assert (status, len(lines)) == (0, 1)
    assert steps_in(only_trace(traces)) == ["traceq.step#2", "traceq.step#3", "traceq.step#4"]


@pytest.mark.slow
def test_a_block_that_is_never_left_ends_with_the_process(tmp_path):
    status, lines, traces = run_script(tmp_path, "4", "thread")
    assert status == 0
    assert lines[0].startswith("traceq: the loop ended early, with 2 of 3 steps recorded")
    assert steps_in(only_trace(traces)) == ["traceq.step#2", "traceq.step#3"]
    query = "select count(distinct thread_id) from cpu_slice where name = 'traceq.phase#elsewhere'"
    assert list_rows(only_trace(traces), query) == [(2,)], "each of them is made by a thread of its own"


def run_worker(rank, directory):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed = torch.distributed
    store, patience = f"file://{directory}/store", timedelta(seconds=60)
    distributed.init_process_group("gloo", store, rank=rank, world_size=2, timeout=patience)
    with profile(Path(directory) / "traces", skip=1, warmup=1, steps=2) as run:
        for _ in range(5):
            with run.step():
                distributed.all_reduce(torch.ones(4))
    distributed.barrier()
    # PyTorch (2.13) aborts every tenth process that used its profiler and gloo, where it exits normally.
    os._exit(0)


@pytest.mark.slow
def test_each_rank_writes_its_file(tmp_path):
    if not torch.distributed.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    torch.multiprocessing.spawn(run_worker, (str(tmp_path),), nprocs=2)
    paths = sorted((tmp_path / "traces").glob("*.gz"))
    assert [path.name for path in paths] == [f"trace.rank{rank}.pt.trace.json.gz" for rank in (0, 1)]
    for rank, path in enumerate(paths):
        assert read_document(path)["distributedInfo"]["world_size"] == 2
        assert "rank" not in read_document(path)["traceq"]
        assert list_rows(path, "select rank, world_size from trace") == [(rank, 2)]


def test_a_launched_process_without_a_process_group_has_its_rank_from_the_launcher(
    tmp_path, train, monkeypatch, capsys
):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with profile(tmp_path, **SHORT) as run:
        for _ in range(5):
            with run.step():
                train()
    path = only_trace(tmp_path)
    assert path.name == "trace.rank3.pt.trace.json.gz"
    assert {key: read_document(path)["traceq"][key] for key in ("rank", "world_size")} == {"rank": 3, "world_size": 4}
    assert capsys.readouterr().err == "", "one rank of many says where its trace is, the others only what went wrong"


@pytest.mark.parametrize("text", ["", "x", "-1", "²"])
def test_a_rank_that_is_no_number_is_none(monkeypatch, text):
    monkeypatch.setenv("RANK", text)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert (files.rank(), files.read_launcher_ranks()) == (0, {})
