"""Workers of a DataLoader are sampled while the training process records, however they were started."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import lazy_import
import pytest

import traceq
from traceq.capture import loader_workers, record
from traceq.formats.worker_samples import WorkerSample, samples_of

lazy_import.module("torch")

ROOT = Path(__file__).parents[2]
FETCH = "torch/utils/data/_utils/fetch.py(51): fetch"

TRAIN = """
import multiprocessing, os, sys, time, torch
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, number):
        return [decode(number) for _ in range(1)][0]

def decode(number):
    until = time.perf_counter() + 0.004
    while time.perf_counter() < until:
        pass
    return torch.ones(4) * number

if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = DataLoader(Samples(), 8, num_workers=2, multiprocessing_context=sys.argv[1])
    total = 0.0
    for batch in batches:
        total += batch.sum().item()
        model(batch).sum().backward()
        optimizer.step()
    print(total)
"""


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_the_function_that_takes_the_workers_time_is_in_the_database(tmp_path, monkeypatch, capfd, method):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "job.py").write_text(textwrap.dedent(TRAIN))
    command = (sys.executable, str(tmp_path / "job.py"), method)
    request = record.Request(command, "torch", tmp_path / "traces", steps=8, warmup=1, skip=2)
    result = record.record(request, record.plan(request))
    assert (result.exit_code, result.reasons) == (0, ())
    assert capfd.readouterr().out == f"{4.0 * sum(range(200))}\n"
    (trace,) = result.traces
    with traceq.open(trace, cache=False) as traces:
        found = traces.sql(
            "select count(distinct pid), max_by(function, samples), bool_and(state in ('fetch', 'wait', 'other'))"
            " from worker_sample"
        ).fetchall()
        states = traces.sql("select round(sum(worker_share), 6) from worker_sample group by pid").fetchall()
    assert found == [(2, "job.py(12): decode", True)]
    assert states == [(1.0,)] * 2


IN_A_WORKER = """
import multiprocessing, os, sys, time
sys.path.insert(0, {root!r})
from pathlib import Path
from traceq.capture import loader_workers
from torch.utils.data._utils import worker

def wait_for(path):
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)

def loop(status, number):
    if number:
        wait_for(status / "done")
    return 7

worker._worker_loop = loop
loop.__module__, loop.__qualname__ = worker.__name__, "_worker_loop"
status = Path({status!r})
workers = loader_workers.LoaderWorkers(status)
undo = workers.watch_workers()
context = multiprocessing.get_context("fork")
started = [context.Process(target=worker._worker_loop, args=(status, number)) for number in range(2)]
for each in started:
    each.start()
started[0].join()
workers.begin_sampling()
time.sleep(0.3)
workers.end_sampling()
print(os.getpid(), started[1].pid, flush=True)
wait_for(status / f"{{os.getpid()}}.worker-{{started[1].pid}}.json")
(status / "done").touch()
started[1].join()
undo()
print([each.exitcode for each in started], worker._worker_loop is loop)
"""


def test_a_worker_samples_from_the_begin_to_the_end_and_one_that_ended_before_writes_nothing(tmp_path):
    status = tmp_path / "status"
    status.mkdir()
    code = IN_A_WORKER.format(root=str(ROOT), status=str(status))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    pids, ends = done.stdout.splitlines()
    trainer, pid = pids.split()
    assert ends == "[0, 0] True"
    assert {path.name for path in status.iterdir()} == {"done", f"{trainer}.worker-{pid}.json"}
    written = json.loads((status / f"{trainer}.worker-{pid}.json").read_text())
    assert (written["pid"], written["worker"]) == (int(pid), None)
    assert sum(samples for samples, _ in written["stacks"]) > 2
    assert any(name.endswith(": wait_for") for name in written["functions"])


def test_samples_of_all_workers_of_a_process_lie_beside_its_trace(tmp_path):
    trace = tmp_path / "job.rank0.pt.trace.json"
    trace.write_text("{}")
    for name in ("5.worker-7", "5.worker-8", "6.worker-9"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"pid": int(name[-1])}))
    loader_workers.put_beside(trace, tmp_path, 4)
    assert not (tmp_path / "job.rank0.workers.json").exists()
    loader_workers.put_beside(trace, tmp_path, 5)
    written = json.loads((tmp_path / "job.rank0.workers.json").read_text())
    assert [each["pid"] for each in written["workers"]] == [7, 8]
    assert written["trace_bytes"] == 2


def test_workers_that_nobody_watches_are_told_nothing_and_a_directory_that_is_gone_is_no_failure(tmp_path):
    workers = loader_workers.LoaderWorkers(tmp_path)
    workers.begin_sampling()
    assert list(tmp_path.iterdir()) == []
    workers = loader_workers.LoaderWorkers(tmp_path / "gone")
    undo = workers.watch_workers()
    workers.begin_sampling()
    workers.end_sampling()
    undo()
    assert list(tmp_path.iterdir()) == []


def read(stacks, functions, own=(), **more):
    worker = {"pid": 5, "worker": 1, "functions": functions, "own": list(own), "stacks": stacks} | more
    return [(each.state, each.function, each.samples) for each in samples_of({"workers": [worker]})]


def test_the_function_of_a_fetch_is_the_innermost_of_the_program_else_that_of_a_library():
    functions = [
        "run.py(1): <module>",
        FETCH,
        "data.py(3): __getitem__",
        "PIL/Image.py(9): resize",
        "data.py(3): <listcomp>",
    ]
    assert read([[4, [0, 1, 2, 3]]], functions, own=[0, 2, 4]) == [("fetch", "data.py(3): __getitem__", 4)]
    assert read([[4, [0, 1, 2, 4]]], functions, own=[0, 2, 4]) == [("fetch", "data.py(3): __getitem__", 4)]
    assert read([[4, [0, 1, 3]]], functions, own=[0]) == [("fetch", "PIL/Image.py(9): resize", 4)]
    assert read([[4, [0, 1]]], functions, own=[0]) == [("fetch", None, 4)]


def test_a_worker_waits_where_it_asks_for_what_to_make():
    waits = "multiprocessing/connection.py(917): wait"
    assert read([[3, [0, 1]], [2, [0]]], ["torch/utils/data/_utils/worker.py(9): _worker_loop", waits]) == [
        ("wait", None, 3),
        ("other", None, 2),
    ]


@pytest.mark.parametrize(
    "stacks", [None, [[3]], [["3", [0]]], [[3, [1]]], [[3, [-1]]], [[0, [0]]], ["x"], [[3, 0]], [[True, [0]]]]
)
def test_stacks_that_cannot_be_are_left_out(stacks):
    assert read(stacks, [FETCH]) == []
    assert list(samples_of({"workers": [{"pid": "5"}, 7]})) == []
    assert list(samples_of({})) == []


def test_a_sample_has_what_its_table_has():
    (sample,) = samples_of({"workers": [{"pid": 5, "functions": [FETCH, "a"], "own": [], "stacks": [[2, [0, 1]]]}]})
    assert sample == WorkerSample(5, None, "fetch", "a", (FETCH, "a"), 2)
