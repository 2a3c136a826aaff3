"""Samples of Python stacks, and what is calling what in them."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time

import pytest

from traceq.capture.called_function import name_called_function
from traceq.capture.stack_sampler import StackSampler
from traceq.capture.thread_stacks import prevent_collection

EVENT, LOCK = threading.Event(), threading.Lock()


def wait_for_the_event():
    EVENT.wait(30)


def enter_the_lock():
    with LOCK:
        pass


def sleep_over_lines():
    time.sleep(
        0.5,
    )


def sample(function, *, until):
    """Return the samples of a thread that runs `function` until the call `until` ends it, as (names, ...) of its stacks."""
    sampler = StackSampler(period_s=0.001)
    thread = threading.Thread(target=function, name="worker")
    sampler.begin_sampling()
    thread.start()
    # Not how long sampling takes is tested, but that it happens.
    deadline = time.monotonic() + 20
    while len(sampler._samples) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    until()
    thread.join()
    samples = sampler.end_sampling()
    stacks = dict.fromkeys(stack for native_id, stack, _ in samples["samples"] if native_id == thread.native_id)
    return samples, [[samples["functions"][index] for index in samples["stacks"][stack]] for stack in stacks]


def test_a_thread_is_seen_in_the_function_that_waits():
    EVENT.clear()
    samples, stacks = sample(wait_for_the_event, until=EVENT.set)
    longest = max(stacks, key=len)
    place = f"{__file__}({wait_for_the_event.__code__.co_firstlineno}): wait_for_the_event"
    assert any(place.endswith(name) for name in longest)
    assert longest[-1] == "<built-in method waiter.acquire>"
    own = {samples["functions"][index] for index in samples["own"]}
    assert any(name.endswith(": wait_for_the_event") for name in own)
    assert not any("threading.py" in name or "traceq/" in name for name in own)


@pytest.mark.parametrize(
    ("function", "named"),
    [(enter_the_lock, "<built-in method LOCK.__enter__>"), (sleep_over_lines, "<built-in function time.sleep>")],
)
def test_the_function_written_in_c_is_named(function, named):
    LOCK.acquire()
    _, stacks = sample(function, until=LOCK.release)
    assert named in {stack[-1] for stack in stacks}


def test_times_are_those_of_the_clock():
    EVENT.clear()
    begin = time.time_ns()
    samples, _ = sample(wait_for_the_event, until=EVENT.set)
    end = time.time_ns()
    assert all(begin <= ts <= end for _, _, ts in samples["samples"])


def test_collections_of_garbage_are_noted():
    # A collection of so many objects takes longer than what is left out.
    kept = [[number] for number in range(200_000)]
    sampler = StackSampler(period_s=0.001)
    sampler.begin_sampling()
    time.sleep(0.05)
    gc.collect()
    samples = sampler.end_sampling()
    assert kept
    assert (threading.get_native_id(), 2) in {
        (native, generation) for native, _, _, generation in samples["collections"]
    }
    assert all(begin < end for _, begin, end, _ in samples["collections"])


def test_python_is_left_as_it_was():
    before = sys.getswitchinterval(), list(gc.callbacks), threading.active_count(), gc.isenabled()
    sampler = StackSampler(period_s=0.001)
    sampler.begin_sampling()
    time.sleep(0.05)
    sampler.end_sampling()
    assert (sys.getswitchinterval(), list(gc.callbacks), threading.active_count(), gc.isenabled()) == before
    assert StackSampler().end_sampling() == {}


def test_a_program_that_empties_the_callbacks_of_the_collector_is_not_disturbed(monkeypatch):
    monkeypatch.setattr(gc, "callbacks", [])
    sampler = StackSampler(period_s=0.001)
    sampler.begin_sampling()
    gc.callbacks.clear()
    time.sleep(0.05)
    assert sampler.end_sampling()["samples"]
    assert sampler.end_sampling() == {}


def test_where_no_thread_can_be_started_there_are_no_samples(monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    before = list(gc.callbacks)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    sampler = StackSampler()
    sampler.begin_sampling()
    assert sampler.end_sampling() == {}
    assert gc.callbacks == before


def test_a_child_that_is_forked_while_sampling_has_nothing_of_it():
    before, usual = list(gc.callbacks), sys.getswitchinterval()
    sampler = StackSampler(period_s=0.001)
    sampler.begin_sampling()
    time.sleep(0.05)
    child = os.fork()
    if not child:
        os._exit(0 if gc.callbacks == before and sys.getswitchinterval() == usual and gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert sampler.end_sampling()["samples"]


def test_threads_that_follow_one_another_are_told_apart():
    sampler = StackSampler(period_s=0.001)
    sampler.begin_sampling()
    threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(4)]
    for thread in threads:
        thread.start()
        thread.join()
    sampled = {native_id for native_id, _, _ in sampler.end_sampling()["samples"]}
    assert {thread.native_id for thread in threads} <= sampled


def call_of(code, wanted="CALL"):
    """Return the offset of the last instruction of `code` whose name holds `wanted`."""
    import dis

    return [each.offset for each in dis.get_instructions(code) if wanted in each.opname and "PRE" not in each.opname][
        -1
    ]


def chained(path):
    return open(path).read()  # noqa: PTH123 - it is never run


def subscripted(values):
    return values[0](1)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(chained, "<built-in method read>"), (subscripted, None)],
)
def test_what_has_no_name_is_not_named(function, expected):
    code = function.__code__
    assert name_called_function(code, call_of(code), globals()) == expected


def test_an_instruction_that_calls_nothing_has_no_function():
    code = chained.__code__
    assert name_called_function(code, 0, globals()) is None
    assert name_called_function(code, 10**6, globals()) is None
    code = compile("f(1)", "/nowhere.py", "exec")
    assert name_called_function(code, call_of(code), {}) is None


def test_a_child_that_is_forked_during_a_sample_collects_garbage():
    with prevent_collection():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert gc.isenabled()
