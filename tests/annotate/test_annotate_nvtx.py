"""Marks as a tool for NVTX gets them through the nvtx package, with no fakes in between."""

from __future__ import annotations

import json

import pytest
from nvtx_tool import build, render_shape, run

TRAINING = """
for number in range(2):
    with annotate.step(number, samples=32):
        with annotate.phase("forward"):
            pass
"""
ONE_STEP = ["mark traceq.payload#samples=32", "push traceq.phase#forward", "pop", "pop"]


@pytest.fixture(scope="module", params=["knows", "refuses", "lacks"])
def library(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("tool"), request.param)


@pytest.fixture(scope="module")
def any_library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("tool"), "refuses")


def test_marks_arrive_whether_or_not_the_tool_can_be_asked_if_it_listens(library, tmp_path):
    calls = run(TRAINING, library, tmp_path / "log")
    assert render_shape(calls) == ["push traceq.step#0", *ONE_STEP, "push traceq.step#1", *ONE_STEP]
    assert {call.domain for call in calls} == {"traceq"}


def test_a_name_that_repeats_is_registered_once(any_library, tmp_path):
    calls = run(TRAINING, any_library, tmp_path / "log")
    registered = [call.text for call in calls if call.kind == "string"]
    assert registered.count("traceq.phase#forward") == 1
    # Numbers hardly repeat: they are registered each time, and forgotten.
    assert registered.count("traceq.payload#samples=32") == 2


def test_phases_have_colours(any_library, tmp_path):
    code = 'for label in ("forward", "backward", "other", "another"):\n with annotate.phase(label): pass'
    colours = {call.text: call.colour for call in run(code, any_library, tmp_path / "log") if call.kind == "push"}
    assert colours["traceq.phase#forward"] != colours["traceq.phase#backward"]
    assert colours["traceq.phase#other"] == colours["traceq.phase#another"]
    assert all(colour.startswith("ff") for colour in colours.values())


CROSSING = """
import asyncio, threading
async def task(label):
    with annotate.phase(label):
        await asyncio.sleep(0)
async def both():
    await asyncio.gather(task("a"), task("b"))
asyncio.run(both())
thread = threading.Thread(target=lambda: annotate.phase("thread").__enter__())
with annotate.phase("main"):
    thread.start()
    thread.join()
"""


def test_ranges_that_cross_are_no_stack(any_library, tmp_path):
    calls = run(CROSSING, any_library, tmp_path / "log")
    starts = ["start traceq.phase#a", "start traceq.phase#b", "end 1", "end 2"]
    assert render_shape(calls) == [*starts, "push traceq.phase#main", "push traceq.phase#thread", "pop"]
    main, thread, popped = calls[-4].thread, calls[-2].thread, calls[-1].thread
    assert main == popped != thread


@pytest.mark.parametrize(
    "variables", [{"TRACEQ_ANNOTATE": "off"}, {"TRACEQ_ANNOTATE": "torch"}, {"NVTX_DISABLE": "1"}], ids=str
)
def test_whoever_asks_for_silence_gets_it(any_library, tmp_path, variables):
    assert run(TRAINING, any_library, tmp_path / "log", **variables) == []


def test_switching_marks_on_wins_over_the_environment(any_library, tmp_path):
    calls = run(f"annotate.enable()\n{TRAINING}", any_library, tmp_path / "log", TRACEQ_ANNOTATE="off")
    assert render_shape(calls)[0] == "push traceq.step#0"


FORKING = """
import os
with annotate.step(0):
    with annotate.phase("parent"):
        child = os.fork()
        if not child:
            with annotate.phase("child"):
                pass
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_does_not_pop_what_its_parent_pushed(any_library, tmp_path):
    calls = run(FORKING, any_library, tmp_path / "log")
    threads = {call.text: call.thread for call in calls}
    parent, child = threads["traceq.step#0"], threads["traceq.phase#child"]
    of_parent = [call for call in calls if call.thread == parent]
    of_child = [call for call in calls if call.thread == child]
    assert render_shape(of_parent) == ["push traceq.step#0", "push traceq.phase#parent", "pop", "pop"]
    assert render_shape(of_child) == ["push traceq.phase#child", "pop"]


BOTH = """
import torch
from torch.profiler import ProfilerActivity, profile
model = torch.nn.Sequential(torch.nn.Linear(2, 2))
annotate.model(model)
optimizer = annotate.optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
with profile(activities=[ProfilerActivity.CPU]) as profiled:
    for batch in annotate.loader([torch.ones(1, 2)], "train"):
        with annotate.step(7, samples=1, loss_scale=0.5):
            model(batch).sum().backward()
            optimizer.step()
profiled.export_chrome_trace(OUT)
"""


@pytest.mark.slow
def test_names_are_the_same_in_both_tools(any_library, tmp_path):
    pytest.importorskip("torch")
    trace = tmp_path / "trace.json"
    code = BOTH.replace("OUT", repr(str(trace)))
    calls = run(code, any_library, tmp_path / "log")
    of_nvtx = [call.text for call in calls if call.kind in ("push", "start", "mark")]
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["name"].startswith("traceq.")]
    of_torch = [event["name"] for event in sorted(events, key=lambda event: (event["ts"], -event["dur"]))]
    assert of_torch == of_nvtx
    assert of_nvtx == [
        "traceq.fetch#train",
        "traceq.step#7",
        "traceq.payload#samples=1,loss_scale=0.5",
        "traceq.module#Sequential",
        "traceq.module#0",
        "traceq.phase#optimizer",
        "traceq.fetch#train",
    ]
