"""Programs run as they are under `traceq record`, in processes of their own, with PyTorch on the CPU."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import lazy_import
import pytest

from traceq.capture import record, status, watch

lazy_import.module("torch")

ROOT = Path(__file__).parents[2]

TRAIN = """
import os, signal, sys, torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)

def train(steps, at=None, do=None, optimizer=torch.optim.SGD, **loader):
    batches = DataLoader(TensorDataset(torch.ones(4 * steps, 8)), 4, **loader)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    optimizer = optimizer(model.parameters(), lr=0.1)
    for number, (batch,) in enumerate(batches):
        loss = model(batch).sum()
        loss.backward()
        if number == at:
            do()
        optimizer.step()
        optimizer.zero_grad()
"""

# Ranks are forked from one process that has imported torch, which is what takes time.
RANKS = """
torch.optim.SGD([torch.zeros(1)])
codes = []
for rank, work in enumerate(WORK):
    child = os.fork()
    if not child:
        os.environ["RANK"] = str(rank)
        work()
        # What Python does at its end takes a second.
        os._exit(0)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture
def program(tmp_path):
    """Writes a program that can use train()."""

    def write(text, after=""):
        (tmp_path / "job.py").write_text(TRAIN + textwrap.dedent(text) + after)
        return tmp_path / "job.py"

    return write


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Runs `python ARGUMENTS` under record, with a window of 3 steps after 2 and a warm-up of 1."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def run(*command, python=True, **options):
        command = (sys.executable, *map(str, command)) if python else tuple(map(str, command))
        window = {"backend": "torch", "steps": 3, "warmup": 1, "skip": 2} | options
        request = record.Request(command, directory=tmp_path / "traces", **window)
        return record.record(request, record.plan(request))

    return run


def ranks_of(result):
    return sorted(int(path.name.split(".rank")[1].split(".")[0]) for path in result.traces)


def list_events(trace):
    """What the host did in the trace in the order of time, as (name, begin, end)."""
    with gzip.open(trace) as file:
        found = [each for each in json.load(file)["traceEvents"] if each.get("cat") in ("cpu_op", "user_annotation")]
    return sorted(((e["name"], e["ts"], e["ts"] + e["dur"]) for e in found), key=lambda e: (e[1], -e[2]))


def list_marks(trace):
    return [each for each in list_events(trace) if each[0].startswith("traceq.")]


def names_in_steps(trace):
    """For each step mark, the names of the marks within it."""
    found = list_marks(trace)
    steps = [each for each in found if each[0].startswith("traceq.step#")]
    return {s[0]: [m[0] for m in found if m is not s and s[1] <= m[1] and m[2] <= s[2]] for s in steps}


def list_crossing(trace):
    """Pairs of events on the one thread of the program of which one begins within the other and ends after it."""
    found, stack = [], []
    for name, begin, end in list_events(trace):
        while stack and stack[-1][1] <= begin:
            stack.pop()
        if stack and end > stack[-1][1]:
            found.append((stack[-1][0], name))
        stack.append((name, end))
    return found


WHOLE_STEP = ["traceq.fetch#loader", "traceq.phase#forward", "traceq.phase#backward", "traceq.phase#optimizer"]


def test_steps_phases_and_fetches_are_found_in_a_program_nobody_edited(recorded, program, capfd):
    result = recorded(
        program(
            """
            from torch.nn.modules import module
            from torch.utils.data.dataloader import _BaseDataLoaderIter

            def hooks():
                profiler = torch.autograd.profiler
                found = [torch.autograd.backward, torch.optim.SGD.step, torch.optim.Optimizer._patch_step_function]
                found += [profiler._prepare_profiler, profiler._enable_profiler, _BaseDataLoaderIter.__next__]
                return sum("traceq/capture" in getattr(getattr(each, "__code__", None), "co_filename", "") for each in found)

            counted = []
            train(8, 4, lambda: counted.extend([hooks(), len(module._global_forward_hooks)]))
            print(counted, hooks(), len(module._global_forward_hooks), signal.getsignal(signal.SIGTERM))
            """
        )
    )
    assert (result.exit_code, result.reasons) == (0, ())
    assert [path.name for path in result.traces] == ["job.rank0.pt.trace.json.gz"]
    assert capfd.readouterr().out == "[6, 1] 0 0 0\n"
    assert names_in_steps(result.traces[0]) == {f"traceq.step#{n}": WHOLE_STEP for n in (3, 4, 5)}
    # where psutil is installed there is its log, too
    beside = (".monitor.jsonl", ".made_with.json")
    left = [path for path in result.traces[0].parent.iterdir() if not path.name.endswith(beside)]
    assert left == [result.traces[0]]
    assert list_crossing(result.traces[0]) == []
    kept = json.loads(gzip.decompress(result.traces[0].read_bytes()))["traceq"]["losses"]
    assert (
        [len(step) for step in kept["losses"]] == [len(step) for step in kept["batches"]] == [1] * len(kept["random"])
    )
    assert kept["losses"]


@pytest.mark.slow
def test_stacks_and_memory_are_recorded_where_they_are_wanted(recorded, program):
    job = program("train(6)\n")
    for options in ({}, {"stacks": True, "memory": True, "memory_history": True}):
        result = recorded(job, **options)
        (trace,) = result.traces
        # here no program has a GPU
        assert result.reasons == (("no memory history: the program uses no GPU through torch.cuda",) if options else ())
        with gzip.open(trace) as file:
            found = json.load(file)["traceEvents"]
        assert any(each.get("cat") == "python_function" for each in found) == bool(options)
        assert any(each.get("name") == "[memory]" for each in found) == bool(options)


@pytest.mark.slow
def test_every_end_leaves_a_trace_or_a_line(recorded, program, tmp_path):
    result = recorded(
        program(
            """
            from traceq import annotate

            def fails(): raise ValueError
            def own_profiler():
                with torch.profiler.profile() as profiler:
                    torch.ones(3).sum()
                assert "aten::sum" in [each.name for each in profiler.events()]
            def stops_marking():
                for number in range(5):
                    with annotate.step():
                        train(1)
                train(5)
            def marks_once():
                with annotate.step():
                    pass
            def forks():
                if not os.fork():
                    train(20)
                    sys.exit(9)
                assert os.waitstatus_to_exitcode(os.wait()[1]) == 9

            WORK = [
                lambda: train(8, 4, fails),
                lambda: train(8, 4, lambda: sys.exit(3)),
                lambda: train(8, 4, lambda: os.kill(os.getpid(), signal.SIGTERM)),
                lambda: train(8, 4, lambda: os._exit(7)),
                lambda: train(8, 4, own_profiler),
                lambda: train(8, 1, own_profiler),
                lambda: train(8, 4, forks),
                lambda: (train(1), sys.exit(0)),
                lambda: train(8, 4, lambda: os.mkdir(sys.argv[1])),
                lambda: None,
                stops_marking,
                lambda: (marks_once(), sys.exit(0)),
            ]
            """,
            RANKS + "assert codes == [1, 3, -15, 7, 0, 0, 0, 0, 0, 0, 0, 0]",
        ),
        tmp_path / "traces" / "job.rank8.pt.trace.json.gz",
    )
    assert result.exit_code == 0
    assert ranks_of(result) == [0, 1, 2, 4, 6, 10]
    ended = "the program ended in the window"
    short = "the program ended before the window began: lower --skip and --warmup"
    foreign = "the program uses its own PyTorch profiler, which has priority: switch it off to record everything"
    told = sorted(result.reasons, key=lambda reason: int(reason.removeprefix("rank ").split(":")[0]))
    assert told[:3] == [
        f"rank 0: {ended} (recorded 1 of 3 steps)",
        f"rank 1: {ended} (recorded 1 of 3 steps)",
        "rank 2: the program was terminated in the window (recorded 1 of 3 steps)",
    ]
    assert told[3].startswith("rank 3: process ")
    assert "ended within the window before it could write its trace" in told[3]
    assert told[4:7] == [
        f"rank 4: {foreign} (recorded 1 of 3 steps)",
        f"rank 5: {foreign} (made 1 of the 2 steps before the window)",
        f"rank 7: {short} (made 1 of the 2 steps before the window)",
    ]
    path = tmp_path / "traces" / "job.rank8.pt.trace.json.gz"
    assert told[7:] == [
        f"rank 8: {path}: cannot be written: Is a directory; choose another directory with -o",
        "rank 10: the program stopped marking its steps in the window (recorded 1 of 3 steps)",
        f"rank 11: {short} (made 0 of the 2 steps before the window)",
    ]
    for trace in sorted(result.traces):
        if ".rank10." not in trace.name:
            assert names_in_steps(trace)["traceq.step#3"] == WHOLE_STEP


@pytest.mark.slow
def test_a_window_that_could_be_longer_is_complete_with_the_steps_that_were_asked_for(recorded, program):
    """Steps of some milliseconds would be recorded up to a second; the program ends before."""
    script = program("train(12)\n")
    found = recorded(script, most_steps=50)
    assert (len(found.traces), found.reasons) == (1, ())
    short = recorded(program("train(5)\n"), most_steps=50)
    assert [reason.partition(" (")[0] for reason in short.reasons] == ["the program ended in the window"]


def test_all_kinds_of_loops_have_their_steps(recorded, program):
    result = recorded(
        program(
            """
            import warnings
            from traceq import annotate

            def marked():
                batches = annotate.loader(DataLoader(TensorDataset(torch.ones(32, 8)), 4), "train")
                model = torch.nn.Linear(8, 8)
                optimizer = annotate.optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
                for number, (batch,) in enumerate(batches):
                    with annotate.step(100 + number, samples=len(batch)):
                        with annotate.phase("forward"):
                            loss = model(batch).sum()
                        loss.backward()
                        optimizer.step()

            def partly_marked():
                model = torch.nn.Linear(8, 8)
                optimizer = annotate.optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
                for _ in range(8):
                    with annotate.phase("iteration"):
                        model(torch.ones(4, 8)).sum().backward()
                        optimizer.step()

            def two_optimizers():
                model = torch.nn.Linear(8, 8)
                optimizers = [torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.Adam(model.parameters())]
                for _ in range(8):
                    for each in optimizers:
                        model(torch.ones(4, 8)).sum().backward()
                        each.step()

            def optimizers_in_backward():
                model = torch.nn.Linear(8, 8)
                for parameter in model.parameters():
                    each = torch.optim.SGD([parameter], lr=0.1)
                    parameter.register_post_accumulate_grad_hook(lambda _, each=each: each.step())
                for _ in range(8):
                    model(torch.ones(4, 8)).sum().backward()

            def closure():
                model = torch.nn.Linear(8, 8)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                def loss():
                    value = model(torch.ones(4, 8)).sum()
                    value.backward()
                    return value
                for _ in range(8):
                    optimizer.step(loss)

            def compiled():
                graphs = []
                def backend(graph, _example):
                    graphs.append(graph)
                    return graph.forward
                warnings.simplefilter("error")
                model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
                fast = torch.compile(model, backend=backend, fullgraph=True)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for _ in range(10):
                    fast(torch.ones(4, 8)).sum().backward()
                    optimizer.step()
                assert len(graphs) == 1, graphs

            def steps_within_steps():
                model = torch.nn.Linear(8, 8)
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                for number in range(8):
                    with annotate.step(100 + number):
                        for micro_batch in range(2):
                            with annotate.step(10 * number + micro_batch):
                                model(torch.ones(4, 8)).sum().backward()
                        optimizer.step()

            def stops_marking():
                with annotate.step(7):
                    pass
                train(12)

            WORK = [
                lambda: train(8, num_workers=2),
                marked,
                partly_marked,
                two_optimizers,
                optimizers_in_backward,
                closure,
                compiled,
                stops_marking,
                steps_within_steps,
            ]
            """,
            RANKS + "assert codes == [0, 0, 0, 0, 0, 0, 0, 0, 0]",
        )
    )
    assert (result.exit_code, result.reasons) == (0, ())
    assert ranks_of(result) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    within = names_in_steps(sorted(result.traces)[8])
    assert {f"traceq.step#10{n}" for n in (3, 4, 5)} < set(within)
    assert "traceq.step#106" not in within
    forward, backward, optimizer = WHOLE_STEP[1:]
    expected = [
        WHOLE_STEP,
        ["traceq.payload#samples=4", forward, backward, optimizer],
        ["traceq.phase#iteration", forward, backward, optimizer],
        [forward, backward, optimizer, forward, backward, optimizer],
        [forward, backward],
        [optimizer, forward, backward],
        [forward, backward, optimizer],
        WHOLE_STEP,
    ]
    for trace, names in zip(sorted(result.traces)[:8], expected, strict=True):
        numbers = (103, 104, 105) if "payload" in names[0] else (3, 4, 5)
        assert sorted(marks_of := names_in_steps(trace)) == [f"traceq.step#{n}" for n in numbers], trace
        assert marks_of[f"traceq.step#{numbers[1]}"] in (names, [*names[1:], names[0]]), trace
    assert [m[0] for m in list_marks(sorted(result.traces)[1])].count("traceq.fetch#train") == 3


@pytest.mark.slow
def test_torchrun_leaves_a_trace_a_rank(recorded, program):
    script = program(
        """
        import torch.distributed as dist
        dist.init_process_group("gloo")
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(8):
            model(torch.ones(4, 8)).sum().backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            optimizer.step()
        dist.destroy_process_group()
        """
    )
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    result = recorded(*torchrun, script)
    assert (result.exit_code, result.reasons) == (0, ())
    assert [path.name for path in sorted(result.traces)] == [f"job.rank{n}.pt.trace.json.gz" for n in (0, 1)]


def test_inference_has_no_steps_and_is_told_so(recorded, tmp_path, monkeypatch, capfd):
    """Where traceq is not installed the parent's is used, without what is installed beside it."""
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.chdir(tmp_path)
    code = "import sys, torch; torch.nn.Linear(2, 2)(torch.ones(2)); print('traceq' in sys.modules, sys.argv[1] in sys.path)"
    result = recorded("-c", code, ROOT)
    assert (result.exit_code, result.traces, len(result.reasons)) == (0, (), 1)
    assert result.reasons[0].startswith("no torch optimizer made a step")
    plain = [sys.executable, "-c", "import sys; print(sys.argv[1] in sys.path)", ROOT]
    is_installed_here = subprocess.run(plain, check=True, capture_output=True, text=True).stdout
    assert capfd.readouterr().out == f"True {is_installed_here}"


@pytest.mark.parametrize(
    ("code", "until"),
    [("raise SystemExit(4)", "it imported torch"), ("import torch; raise SystemExit(4)", "an optimizer made a step")],
)
def test_a_program_that_failed_early_is_not_told_how_to_record(recorded, code, until):
    result = recorded("-c", code)
    assert (result.exit_code, result.traces) == (4, ())
    assert result.reasons == (f"the program ended with exit code 4 before {until}: its own messages say why",)


def test_a_program_without_torch_is_told_so(recorded):
    result = recorded("-c", "pass")
    assert (result.exit_code, result.traces, len(result.reasons)) == (0, (), 1)
    assert result.reasons[0].startswith("no Python process of the program imported torch")


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_cannot_be_reached_is_told(recorded, option):
    result = recorded(option, "-c", "raise SystemExit(4)")
    assert (result.exit_code, result.traces, len(result.reasons)) == (4, (), 1)
    assert result.reasons[0].startswith("no Python process of the program could be reached")


def test_the_users_own_sitecustomize_runs_and_python_is_as_without_us(recorded, tmp_path, monkeypatch, capfd):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("mine = 5")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(own), str(ROOT)]))
    recorded("-c", "import sys, sitecustomize; print(sitecustomize.mine, [p for p in sys.path if 'inject' in p])")
    assert capfd.readouterr().out == "5 []\n"


@pytest.mark.slow
def test_signals_reach_the_program_and_the_trace_survives_a_hang(program, tmp_path):
    script = program(
        f"""
        import pathlib, time
        train(8)
        pathlib.Path({str(tmp_path / "hangs")!r}).touch()
        time.sleep(60)
        """
    )
    command = [sys.executable, "-m", "traceq", "record", "--no-report", "--steps", "3", "--skip", "2", "--warmup", "1"]
    command += ["-o", str(tmp_path / "traces"), "--", sys.executable, str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as traceq:
        while not (tmp_path / "hangs").exists():
            assert traceq.poll() is None
            time.sleep(0.05)
        traceq.send_signal(signal.SIGINT)
        _, said = traceq.communicate(timeout=30)
    assert traceq.returncode == 128 + signal.SIGINT
    assert "KeyboardInterrupt" in said
    assert "1 trace," in said
    assert (tmp_path / "traces" / "job.duckdb").exists()


def test_names_are_those_of_the_script_and_never_taken_twice(tmp_path):
    def name(*command):
        return record.plan(record.Request(command, "torch", tmp_path, 5, 2, 5)).name

    assert name("torchrun", "--nproc-per-node", "2", "src/train.py", "--lr", "3") == "train"
    assert name("python", "-m", "package.train") == "package.train"
    assert name("./run me.sh") == "run_me.sh"
    assert name("job", "--password=hunter2.py", "fit.py") == "fit"
    (tmp_path / "train.duckdb").touch()
    (tmp_path / "train-2.rank0.pt.trace.json.gz").touch()
    assert name("python", "train.py") == "train-3"


def test_public_hooks_find_steps_in_a_torch_that_looks_different_inside():
    import torch

    ended = []
    made_up = SimpleNamespace(optim=SimpleNamespace(Optimizer=object))
    undo = watch.watch_optimizers(
        made_up, lambda: True, lambda optimizer, *, begun, done: ended.append((optimizer, begun, done))
    )
    optimizer = torch.optim.SGD([torch.zeros(1)])
    optimizer.step()
    undo()
    optimizer.step()
    assert ended == [(optimizer, False, True)]


def test_a_line_that_a_killed_process_left_unfinished_is_no_event(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"kind": "torch", "pid": 1, "rank": null, "time": 2.0}\n{"kind": "st')
    (tmp_path / "2.jsonl").write_text('{"kind": "python", "pid": 2, "rank": null, "time": 1.0}\n')
    assert [event.kind for event in status.read(tmp_path)] == ["python", "torch"]
