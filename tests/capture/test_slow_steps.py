"""traceq.profile(on_slow=...): which steps it writes, what is in the traces, and that nothing ends the training."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_training import list_rows, read_document

import traceq
from traceq import annotate
from traceq.annotate import emit, to_ring
from traceq.capture import ring as rings
from traceq.capture import slow_steps
from traceq.capture.profile import profile
from traceq.capture.ring import KeptStep, Pause, ThreadUse
from traceq.capture.slow_cause import find_cause
from traceq.capture.thread_stacks import read_stacks
from traceq.capture.usual_time import UsualTime

MS = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is told to go on."""
    clock = SimpleNamespace(now=10**15, thread_time_ns=time.thread_time_ns, thread_time=time.thread_time)
    clock.perf_counter_ns = lambda: clock.now
    monkeypatch.setattr(rings, "time", clock)
    return clock


def follow(directory, lengths, clock, **options):
    """Follow steps of these lengths (ms)."""
    with profile(directory, **{"on_slow": 2, "skip": 3, **options}) as run:
        for length in lengths:
            with run.step():
                clock.now += round(length * MS)


def numbers_written(directory):
    names = [path.name for path in directory.glob("*.gz")]
    return sorted(int(name.removeprefix("trace-slow").partition(".")[0]) for name in names)


def steps_in(path):
    return [
        name for (name,) in list_rows(path, "select name from cpu_slice where name like 'traceq.step#%' order by ts")
    ]


def test_twenty_planted_slow_steps_of_200_are_written_and_none_else(tmp_path, clock, capsys):
    planted = {20 + 9 * number for number in range(20)}
    lengths = [500, 90, 60, *(75 if number in planted else 20 + number % 7 for number in range(3, 200))]
    follow(tmp_path, lengths, clock)
    assert numbers_written(tmp_path) == sorted(planted)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21
    assert lines[0] == (
        "traceq: step 20 took 75.00 ms, 3.3 times the usual 23.00 ms; to see why: "
        f"traceq report {tmp_path / 'trace-slow20.rank0.pt.trace.json.gz'}"
    )
    assert lines[-1] == "traceq: 200 steps followed, 20 of them slow; a step usually takes 23.00 ms"


def test_a_trace_holds_the_slow_step_and_those_before_it(tmp_path, clock):
    lengths = [20] * 30
    lengths[25] = 100
    follow(tmp_path, lengths, clock, ring=3)
    (path,) = tmp_path.glob("*.gz")
    assert steps_in(path) == ["traceq.step#23", "traceq.step#24", "traceq.step#25"]
    rows = list_rows(path, "select dur from cpu_slice where name = 'traceq.step#25'")
    assert rows == [(100 * MS,)]
    told = read_document(path)["traceq"]
    assert (told["slow_step"], told["slow_step_ns"], told["usual_step_ns"]) == (25, 100 * MS, 20 * MS)


def test_a_slow_training_from_its_start_is_no_slow_step(tmp_path, clock, capsys):
    follow(tmp_path, [500, 400, 300, *[20] * 40], clock)
    assert numbers_written(tmp_path) == []
    assert capsys.readouterr().err == "traceq: 43 steps followed, none of them slow; a step usually takes 20.00 ms\n"


def test_too_few_steps_to_judge_are_told(tmp_path, clock, capsys):
    follow(tmp_path, [20] * 12, clock)
    assert capsys.readouterr().err == (
        "traceq: no step could be judged: the usual time is known after skip=3 and 10 more steps, and there were 12\n"
    )


@pytest.mark.parametrize(
    ("lengths", "slow"),
    [
        ([20] * 9 + [90], []),  # not yet known
        ([20] * 10 + [40.1], [10]),
        ([20] * 10 + [40], []),
        ([3] * 10 + [12], []),  # not 10 ms longer
        ([3] * 10 + [13.1], [10]),
        ([20] * 10 + [90, 20, 90, 20], [10, 12]),
        ([20] * 10 + [90] * 30, [10, 11, 12, 13, 14]),  # from then on that is usual
        ([20] * 10 + [90] * 15 + [200], [10, 11, 12, 13, 14, 25]),
        ([20 + number for number in range(200)], []),  # slower and slower
    ],
)
def test_a_step_is_slow_by_the_median_of_those_before_it(lengths, slow):
    usual = UsualTime(2)
    assert [number for number, length in enumerate(lengths) if usual.judge_step(round(length * MS)) is not None] == slow


def test_the_usual_time_is_that_of_the_last_101_steps():
    usual = UsualTime(2)
    for length in (*[50 * MS] * 200, *[30 * MS] * 50):
        usual.judge_step(length)
    assert usual.find_usual() == 50 * MS
    usual.judge_step(30 * MS)
    assert (usual.find_usual(), usual.limit) == (30 * MS, 60 * MS)


def test_a_step_that_fails_is_not_judged(tmp_path, clock):
    with profile(tmp_path, on_slow=2, skip=0) as run:
        for number in range(20):
            with suppress(ZeroDivisionError), run.step():
                clock.now += (900 if number == 15 else 20) * MS
                1 // (number - 15)
    assert numbers_written(tmp_path) == []


def write_slowly(seconds):
    time.sleep(seconds)


def test_the_function_that_made_a_step_slow_is_named(tmp_path, capsys):
    with profile(tmp_path, on_slow=3, skip=0, first=100) as run:
        for number in range(24):
            with run.step():
                time.sleep(0.02)
                if number == 20:
                    write_slowly(0.6)
    path = tmp_path / "trace-slow120.rank0.pt.trace.json.gz"
    told = read_document(path)["traceq"]
    assert told["slow_cause"].endswith(": write_slowly")
    assert told["slow_cause_ns"] > told["slow_step_ns"] / 2
    assert " of that in " in capsys.readouterr().err
    query = "select kind, name, dur from cpu_slice where name like '%): write_slowly' order by dur desc limit 1"
    ((kind, name, dur),) = list_rows(path, query)
    assert (kind, name) == ("python", told["slow_cause"])
    assert dur > 300 * MS


def keep_step(begin, end, *samples):
    step = KeptStep(7, begin * MS, ThreadUse(0, 0, 0, 0))
    step.end = end * MS
    step.samples += samples
    return step


def test_collections_are_named_before_the_function_they_interrupt():
    slow = keep_step(0, 300)
    slow.pauses.append(Pause(1, 10, 200 * MS, 2, 0))
    cause = find_cause([slow], thread=1, usual=20 * MS)
    assert (cause.name, cause.extra) == ("garbage collection", 200 * MS - 10)


def test_what_every_step_does_is_no_cause():
    frames = (write_slowly.__code__,)
    usual = keep_step(0, 100, (50 * MS, [(1, frames)]))
    slow = keep_step(100, 250, (150 * MS, [(1, frames)]), (230 * MS, [(1, ())]))
    assert find_cause([usual, slow], thread=1, usual=100 * MS) is None


def test_one_sample_is_no_evidence():
    frames = (write_slowly.__code__,)
    samples = [(number * 10 * MS, [(1, frames)]) for number in range(1, 30)]
    assert find_cause([keep_step(0, 300, samples[0])], thread=1, usual=20 * MS) is None
    assert find_cause([keep_step(0, 300, *samples)], thread=1, usual=20 * MS).name.endswith(": write_slowly")


def test_marks_payload_and_fetches_are_in_the_trace(tmp_path, clock):
    with profile(tmp_path, on_slow=2, skip=0, ring=1) as run:
        for number in run.loader(range(14), "numbers"):
            clock.now += 1 * MS
            with run.step(samples=number):
                with annotate.phase("forward"):
                    clock.now += 10 * MS
                clock.now += (90 if number == 12 else 10) * MS
    (path,) = tmp_path.glob("*.gz")
    query = "select name, dur // 1000000 from cpu_slice where kind = 'annotation' order by ts, dur desc, name"
    assert list_rows(path, query) == [
        ("traceq.fetch#numbers", 0),
        ("traceq.step#12", 100),
        ("traceq.phase#forward", 10),
        ("traceq.payload#samples=12", 0),
    ]


def test_where_marks_are_off_steps_are_marked_all_the_same(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(emit, "_on", False)
    lengths = [20] * 20
    lengths[15] = 90
    follow(tmp_path, lengths, clock, ring=2)
    (path,) = tmp_path.glob("*.gz")
    assert steps_in(path) == ["traceq.step#14", "traceq.step#15"]


def test_advance_ends_a_step(tmp_path, clock):
    with profile(tmp_path, on_slow=2, skip=0) as run:
        for number in range(20):
            clock.now += (90 if number == 15 else 20) * MS
            run.advance()
    assert numbers_written(tmp_path) == [15]


def test_collections_of_the_program_are_in_the_trace(tmp_path):
    with profile(tmp_path, on_slow=1.5, skip=0, ring=1) as run:
        for number in range(16):
            with run.step():
                time.sleep(0.01)
                if number == 15:
                    kept = [[each] for each in range(300_000)]
                    for _ in range(4):
                        gc.collect()
                    del kept
    path = tmp_path / "trace-slow15.rank0.pt.trace.json.gz"
    ((count,),) = list_rows(path, "select count(*) from cpu_slice where name = 'Python GC' and dur > 0")
    assert count >= 4


def test_no_more_files_are_written_than_enough(tmp_path, clock, monkeypatch, capsys):
    monkeypatch.setattr(slow_steps, "_MOST_FILES", 2)
    follow(tmp_path, [*[20] * 20, *[90, 20, 20] * 4], clock)
    assert len(numbers_written(tmp_path)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "no more traces" in line] == [
        "traceq: step 26 took 90.00 ms, 4.5 times the usual 20.00 ms; no more traces are written: 2 or 200 MB are enough"
    ]
    assert lines[-1] == "traceq: 32 steps followed, 4 of them slow; a step usually takes 20.00 ms"


def test_where_nothing_can_be_written_the_training_goes_on(tmp_path, clock, capsys):
    (tmp_path / "file").touch()
    follow(tmp_path / "file", [*[20] * 20, 90, 20, 90], clock)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"traceq: steps are no longer followed: {tmp_path / 'file'}: cannot be written: ")
    assert to_ring.listener is None


def test_a_second_ring_gives_way_to_the_first(tmp_path, clock, capsys):
    with profile(tmp_path / "a", on_slow=2), profile(tmp_path / "b", on_slow=2) as second:
        for _ in range(3):
            with second.step():
                clock.now += MS
    assert "another ring of steps is kept in this process" in capsys.readouterr().err
    assert to_ring.listener is None


def test_nothing_is_left_behind(tmp_path, clock):
    before = (list(gc.callbacks), threading.active_count())
    follow(tmp_path, [20] * 15, clock)
    assert (list(gc.callbacks), threading.active_count(), to_ring.listener) == (*before, None)


def test_fetches_from_a_dataloader_are_marked_once(tmp_path, clock):
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(range(14), batch_size=1)
    with profile(tmp_path, on_slow=2, skip=0, ring=1) as run:
        for batch in run.loader(loader, "train"):
            with run.step():
                clock.now += (90 if int(batch) == 12 else 10) * MS
        for batch in loader:
            with run.step():
                clock.now += (90 if int(batch) == 12 else 10) * MS
    query = "select name from cpu_slice where name like 'traceq.fetch#%'"
    found = [list_rows(tmp_path / f"trace-slow{number}.rank0.pt.trace.json.gz", query) for number in (12, 26)]
    assert found == [[("traceq.fetch#train",)], [("traceq.fetch#loader",)]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_slow": 1}, "on_slow=1: must be more than 1"),
        ({"on_slow": float("nan")}, "on_slow=nan: must be more than 1"),
        ({"on_slow": 2, "ring": 0}, "ring=0: must be at least 1"),
        ({"on_slow": 2, "memory": True}, "on_slow= goes without"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options, words):
    with pytest.raises(ValueError, match=words):
        profile("traces", **options)


FORKS = """
import os, time
from traceq.annotate import to_ring
from traceq.capture.profile import profile

with profile("traces", on_slow=1.5, skip=0) as run:
    for number in range(14):
        with run.step():
            time.sleep(0.4 if number == 12 else 0.01)
        if number == 11:
            child = os.fork()
            if child == 0:
                assert to_ring.listener is None
                for _ in range(3):
                    with run.step():
                        time.sleep(0.4)
                run.__exit__(None, None, None)
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def test_a_forked_child_writes_nothing_and_no_pytorch_is_needed(tmp_path):
    paths = [str(Path(traceq.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "RANK": "3", "WORLD_SIZE": "4"}
    command = [sys.executable, "-c", FORKS]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert all(line.startswith("traceq: rank 3: ") for line in done.stderr.splitlines())
    assert "trace-slow12.rank3.pt.trace.json.gz" in {path.name for path in (tmp_path / "traces").iterdir()}
    assert list_rows(
        tmp_path / "traces" / "trace-slow12.rank3.pt.trace.json.gz", "select rank, world_size from trace"
    ) == [(3, 4)]


def test_stacks_of_other_threads_are_read_and_the_collector_is_left_as_it_was():
    ready, done = threading.Event(), threading.Event()

    def wait_for_it():
        ready.set()
        done.wait()

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    ready.wait()
    try:
        gc.disable()
        stacks = dict(read_stacks(threading.get_ident(), 8))
        assert not gc.isenabled()
    finally:
        gc.enable()
        done.set()
        thread.join()
    assert wait_for_it.__code__ in stacks[thread.native_id]
    assert threading.get_native_id() not in stacks
    read_stacks(threading.get_ident(), 8)
    assert gc.isenabled()
