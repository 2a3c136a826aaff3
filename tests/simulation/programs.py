"""Random small programs: one process, whose main thread launches everything, so that the order of launches is fixed."""

from __future__ import annotations

import catalogue
from hypothesis import strategies as st
from simulator.program import (
    Call,
    Copy,
    Graph,
    HandOver,
    Launch,
    Memset,
    Process,
    Program,
    Range,
    Record,
    Stream,
    Sync,
    Timing,
    Wait,
    Work,
)

_CAUSES = ("idle_data", "idle_compile", "idle_python", "idle_checkpoint")
_EVENTS = ("a", "b")

streams = st.builds(Stream, st.integers(0, 1), st.sampled_from([7, 20]))
timings = st.builds(Timing, st.integers(1, 60), st.integers(1, 60), st.integers(0, 10))
lengths = st.integers(1, 300)
causes = st.none() | st.sampled_from(_CAUSES)

work = st.builds(Work, lengths, causes)
launch = st.builds(Launch, st.just(catalogue.GEMM), lengths, streams, timings, st.sampled_from([0, 0, 5]))
copy = st.builds(
    Copy, st.sampled_from(["HtoD", "DtoH", "DtoD"]), st.just(1024), lengths, streams, timings, st.booleans()
)
memset = st.builds(Memset, st.just(1024), lengths, streams, timings)
nodes = st.lists(st.tuples(st.just(catalogue.GEMM), lengths), min_size=1, max_size=3).map(tuple)
graph = st.builds(Graph, st.just(3), nodes, streams, timings, st.booleans())
record = st.builds(Record, st.sampled_from(_EVENTS), streams, st.integers(1, 5))
wait = st.builds(Wait, st.sampled_from(_EVENTS), streams, st.integers(1, 5))
sync = st.builds(Sync, streams | st.sampled_from(_EVENTS) | st.integers(0, 1), st.integers(1, 40))
call = st.builds(
    Call, st.just("read"), lengths, st.just("os"), st.just("idle_os")
) | st.builds(Call, st.just("cudaMalloc"), lengths, st.just("runtime"), st.just("idle_allocation"))  # fmt: skip
simple = work | launch | launch | copy | memset | graph | record | wait | sync | call


def _flatten_inner(actions):
    several = st.lists(actions, max_size=6).map(tuple)
    kinds = st.sampled_from(["operator", "annotation"])
    return st.builds(Range, st.just("range"), several, kinds, causes)


actions = st.recursive(simple, _flatten_inner, max_leaves=20)
hand_over = st.builds(HandOver, st.just("autograd"), st.lists(actions, max_size=5).map(tuple), st.integers(1, 30))
programs = st.lists(actions | hand_over, min_size=1, max_size=15).map(
    lambda several: Program((Process((Range("all", tuple(several)), launch_of_last())),))
)


def launch_of_last():
    """Every program launches something, so that there is a device."""
    return Launch(catalogue.ADD, 10)


def flatten_actions(several):
    """Return the actions in the order in which they are executed."""
    for action in several:
        if isinstance(action, Range | HandOver):
            yield from flatten_actions(action.actions)
        else:
            yield action
