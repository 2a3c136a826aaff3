"""Marks and forked processes."""

from __future__ import annotations

import os

import lazy_import
import pytest

from traceq import annotate

torch = lazy_import.module("torch")

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*is multi-threaded, use of fork:DeprecationWarning"),
]


def in_child(function):
    """What function() returns, as a number, in a forked child."""
    child = os.fork()
    if not child:
        code = 99
        try:
            code = function()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def marks_of_a_profiler():
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiled, annotate.phase("child"):
        torch.ones(1)
    return sum(event.name == "traceq.phase#child" for event in profiled.events())


def test_a_child_may_profile_itself():
    with annotate.phase("parent"):
        assert in_child(marks_of_a_profiler) == 1


def test_a_child_does_not_fill_the_profiler_it_was_forked_from(profiled):
    """Nobody would ever read it: a worker would only grow."""
    from traceq.annotate import to_torch

    def mark():
        with annotate.phase("child"):
            pass
        return int(to_torch.listens())

    found = []

    def fork():
        with annotate.phase("parent"):
            found.append(in_child(mark))
        with annotate.phase("after"):
            pass

    assert [name for name, _, _ in profiled(fork)] == ["traceq.phase#parent", "traceq.phase#after"]
    assert found == [0]
