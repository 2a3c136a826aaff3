"""traceq.profile: what is in the files it writes, and what it says where it writes none."""

from __future__ import annotations

import json
import re
import statistics
import time
from contextlib import suppress
from pathlib import Path

import lazy_import
import pytest
from small_training import SHORT, list_rows, make_iteration, marks_in, only_trace, read_document, steps_in

import traceq
from traceq.capture import files
from traceq.capture.profile import profile
from traceq.errors import MissingTool

torch = lazy_import.module("torch")


@pytest.fixture(scope="module")
def train():
    return make_iteration(torch)


def test_each_recorded_step_is_marked_with_its_number_and_what_is_in_it(tmp_path, train, capsys):
    with profile(tmp_path, skip=2, warmup=1, steps=2, first=100) as run:
        for batch in run.loader(range(8), "numbers"):
            with run.step(samples=batch):
                train()
    path = only_trace(tmp_path)
    assert path.name == "trace.rank0.pt.trace.json.gz"
    assert marks_in(path) == [
        "traceq.fetch#numbers",
        "traceq.step#103", "traceq.payload#samples=3", "traceq.phase#forward",
        "traceq.fetch#numbers",
        "traceq.step#104", "traceq.payload#samples=4", "traceq.phase#forward",
    ]  # fmt: skip
    assert capsys.readouterr().err == (
        f"traceq: steps recorded: 2, from step 103 on; to see where their time went: traceq report {path}\n"
    )


def test_steps_are_those_that_the_script_measured(tmp_path, train):
    measured = {}
    with profile(tmp_path, skip=1, warmup=1, steps=4) as run:
        for number in range(6):
            with run.step():
                begin = time.perf_counter_ns()
                train()
                time.sleep(0.002 * number)
                measured[f"traceq.step#{number}"] = time.perf_counter_ns() - begin
    found = dict(list_rows(only_trace(tmp_path), "select name, dur from cpu_slice where name like 'traceq.step#%'"))
    assert list(found) == [f"traceq.step#{number}" for number in range(2, 6)]
    for name, dur in found.items():
        assert dur >= measured[name]
    assert statistics.median(dur / measured[name] for name, dur in found.items()) < 2


def test_advance_marks_the_same_steps(tmp_path, train):
    with profile(tmp_path, **SHORT) as run:
        for number in range(8):
            train()
            run.advance(samples=number)
    names = marks_in(only_trace(tmp_path))
    assert [name for name in names if not name.startswith("traceq.phase")] == [
        "traceq.step#3", "traceq.payload#samples=3", "traceq.step#4", "traceq.payload#samples=4"
    ]  # fmt: skip


def test_a_mark_that_advance_leaves_open_is_recorded_as_unfinished(tmp_path, train):
    with profile(tmp_path, skip=0, warmup=1, steps=5) as run:
        for _ in range(3):
            train()
            run.advance()
    finished = {
        event["name"]: event["args"].get("finished", True)
        for event in read_document(only_trace(tmp_path))["traceEvents"]
        if event["name"].startswith("traceq.step#")
    }
    assert finished == {"traceq.step#1": True, "traceq.step#2": True, "traceq.step#3": False}


def test_the_trace_tells_its_overhead_and_no_path(tmp_path, train):
    with profile(tmp_path / "secret", skip=3, warmup=1, steps=2) as run:
        for _ in range(6):
            with run.step():
                train()
    trace = read_document(only_trace(tmp_path / "secret"))
    assert "secret" not in json.dumps(trace)
    assert trace["traceName"] == "trace.rank0.pt.trace.json.gz"
    assert trace["record_shapes"] == 1
    told = trace["traceq"]
    without, within = told["unprofiled_step_ns"], told["profiled_step_ns"]
    assert without > 0
    assert within > 0
    assert told == {
        "version": traceq.__version__,
        "unprofiled_step_ns": without,
        "profiled_step_ns": within,
        "unprofiled_cpu_ns": told["unprofiled_cpu_ns"],
        "profiled_cpu_ns": told["profiled_cpu_ns"],
        "overhead_share": pytest.approx(within / without - 1, abs=1e-4),
        "unprofiled_steps": 2,
        "profiled_steps": 2,
    }


@pytest.mark.sample(2)
@pytest.mark.parametrize("memory", [False, True])
def test_memory_is_recorded_where_it_is_asked_for(tmp_path, train, memory):
    with profile(tmp_path, **SHORT, memory=memory) as run:
        for _ in range(5):
            with run.step():
                train()
    assert bool(list_rows(only_trace(tmp_path), "select 1 from counter limit 1")) == memory


def test_stacks_are_recorded_where_they_are_asked_for(tmp_path, train):
    with profile(tmp_path, **SHORT, stacks=True) as run:
        for _ in range(5):
            with run.step():
                train()
    assert list_rows(only_trace(tmp_path), "select 1 from cpu_slice where kind = 'python' limit 1")


def test_a_loop_that_ends_early_leaves_what_was_recorded(tmp_path, train, capsys):
    with profile(tmp_path, skip=1, warmup=1, steps=5) as run:
        for _ in range(4):
            with run.step():
                train()
    path = only_trace(tmp_path)
    assert steps_in(path) == ["traceq.step#2", "traceq.step#3"]
    told = capsys.readouterr().err
    assert told.startswith("traceq: the loop ended early, with 2 of 5 steps recorded; ")
    assert told.endswith(f"traceq report {path}\n")


@pytest.mark.sample(3)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_a_loop_that_fails_leaves_what_was_recorded(tmp_path, train, capsys, error):
    def fail():
        with profile(tmp_path, skip=1, warmup=1, steps=5) as run:
            for number in range(9):
                with run.step():
                    train()
                    if number == 3:
                        raise error

    with pytest.raises(error):
        fail()
    assert steps_in(only_trace(tmp_path)) == ["traceq.step#2", "traceq.step#3"]
    assert read_document(only_trace(tmp_path))["traceq"]["profiled_steps"] == 1
    assert f"the loop ended by {error.__name__}, with 1 of 5 steps recorded" in capsys.readouterr().err


@pytest.mark.parametrize(("at", "is_there"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_step_that_fails_is_recorded_only_within_the_window(tmp_path, train, capsys, at, is_there):
    def fail():
        with profile(tmp_path, **SHORT) as run:
            for number in range(9):
                with run.step():
                    train()
                    if number == at:
                        raise MemoryError

    with pytest.raises(MemoryError):
        fail()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".gz", ".json"] * is_there
    assert ("no trace" in capsys.readouterr().err) != is_there


def test_a_failed_step_that_the_loop_survives_is_a_step(tmp_path, train):
    with profile(tmp_path, skip=1, warmup=1, steps=3) as run:
        for number in range(6):
            with suppress(MemoryError), run.step():
                train()
                if number == 3:
                    raise MemoryError
    assert steps_in(only_trace(tmp_path)) == ["traceq.step#2", "traceq.step#3", "traceq.step#4"]
    assert read_document(only_trace(tmp_path))["traceq"]["profiled_steps"] == 2


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_loop_without_a_recorded_step_says_why_there_is_no_trace(tmp_path, train, capsys, count):
    with profile(tmp_path, **SHORT) as run:
        for _ in range(count):
            with run.step():
                train()
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == (
        f"traceq: no trace: the loop ended early, after {count} steps; with skip=2 and warmup=1 the first 3 are not recorded\n"
    )


def test_without_a_directory_steps_are_marked_and_not_profiled(train, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    with profile(None) as run, torch.profiler.profile() as profiler:
        for _ in range(2):
            with run.step():
                train()
    names = [event.name for event in profiler.events()]
    assert [name for name in names if name.startswith("traceq.step")] == ["traceq.step#0", "traceq.step#1"]
    assert (list(tmp_path.iterdir()), capsys.readouterr().err) == ([], "")


def test_where_nothing_can_be_written_the_training_goes_on(tmp_path, train, capsys):
    (tmp_path / "file").touch()
    done = 0
    with profile(tmp_path / "file", **SHORT) as run:
        for _ in range(7):
            with run.step():
                train()
                done += 1
    assert done == 7
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"traceq: no trace: {tmp_path / 'file'}: cannot be written: ")


def test_a_trace_that_cannot_be_finished_leaves_no_file(tmp_path):
    def export(path):
        for each in (path, f"{path}.tmp"):
            Path(each).write_text('{"traceEvents": [', encoding="utf-8")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        files.save(export, tmp_path, "trace")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_trace_of_an_earlier_run_is_replaced_and_one_of_this_run_is_not(tmp_path, train, monkeypatch):
    for first, is_another_run in ((0, False), (50, True), (100, False)):
        if is_another_run:
            monkeypatch.setattr(files, "_written", set())
        with profile(tmp_path, **SHORT, first=first) as run:
            for _ in range(5):
                with run.step():
                    train()
    second, first = sorted(tmp_path.glob("*.gz"))
    assert (first.name, second.name) == ("trace.rank0.pt.trace.json.gz", "trace-2.rank0.pt.trace.json.gz")
    assert steps_in(first) == ["traceq.step#53", "traceq.step#54"]
    assert steps_in(second) == ["traceq.step#103", "traceq.step#104"]


def test_a_step_within_a_step_is_a_part_of_it(tmp_path, train):
    with profile(tmp_path, **SHORT) as run:
        for _ in range(5):
            with run.step():
                for micro_batch in range(2):
                    with run.step(micro_batch=micro_batch):
                        train()
                    run.advance()
    assert [name for name in marks_in(only_trace(tmp_path)) if "phase" not in name] == [
        "traceq.step#3", "traceq.payload#micro_batch=0", "traceq.payload#micro_batch=1",
        "traceq.step#4", "traceq.payload#micro_batch=0", "traceq.payload#micro_batch=1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [{"steps": 0}, {"warmup": 0}, {"skip": -1}, {"first": -1}, {"name": "a/b"}, {"name": ""}]
)
def test_arguments_that_make_no_sense_are_refused_at_once(arguments):
    with pytest.raises(ValueError, match=re.escape(f"{next(iter(arguments))}=")):
        profile("traces", **arguments)


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingTool, match="pip install torch"):
        profile("traces")
