"""Samples of Python stacks that traceq took while it recorded (traceq.capture.stack_sampler), from the metadata of a trace."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec

from traceq.importers.chrome.rows import TrackNumbers
from traceq.importers.rows import Batches, batches_of

KEY = "traceq_samples"

# C functions that wait: of threads beside the one that trains, nothing else is known of such time.
_WAITS = re.compile(
    r"<built-in (function|method) (.*\.)?(acquire|__enter__|wait|sleep|select|poll|epoll|recv\w*|accept|join|get|read|_wait\w*)>"
)


class Samples(msgspec.Struct):
    """What the sampler writes; times are ns since 1970.

    `runs` are [native thread id, index of a stack, first and last time], `collections` [native thread id, begin, end, generation].
    """

    pid: int
    period_ns: int
    functions: list[str]
    stacks: list[list[int]]
    runs: list[tuple[int, int, int, int]]
    collections: list[tuple[int, int, int, int]]
    threads: dict[int, str]


def read_samples(members: dict[str, Any], notes: Counter[str]) -> Samples | None:
    """Return the samples among the members of a file's outermost object; None where there are none, or damaged ones (noted)."""
    if KEY not in members:
        return None
    try:
        samples = msgspec.convert(members[KEY], Samples, strict=False)
    except msgspec.ValidationError:
        notes["metadata_damaged"] += 1
        return None
    if not all(0 <= index < len(samples.functions) for stack in samples.stacks for index in stack) or not all(
        0 <= run[1] < len(samples.stacks) for run in samples.runs
    ):
        notes["metadata_damaged"] += 1
        return None
    return samples


def build_sample_batches(
    samples: Samples | None, threads: TrackNumbers, utc_origin_ns: int | None
) -> Batches:
    """Return rows of staging.python_run and staging.collection, times as in the trace; none without `utc_origin_ns`.

    Of threads that have no other records only runs that do not wait are kept.
    """
    if samples is None or utc_origin_ns is None:
        return []
    stacks = [[samples.functions[index] for index in stack] for stack in samples.stacks]
    waits = [bool(stack) and _WAITS.fullmatch(stack[-1]) is not None for stack in stacks]
    runs = [
        {
            "thread_id": threads.add(samples.pid, native_id, samples.threads.get(native_id)),
            "ts": first - utc_origin_ns,
            "ts_last": last - utc_origin_ns,
            "period_ns": samples.period_ns,
            "frames": stacks[stack],
        }
        for native_id, stack, first, last in samples.runs
        if not waits[stack] or threads.has(samples.pid, native_id)
    ]
    collections = [
        {
            "thread_id": threads.add(samples.pid, native_id, samples.threads.get(native_id)),
            "ts": begin - utc_origin_ns,
            "dur": end - begin,
            "generation": generation,
        }
        for native_id, begin, end, generation in samples.collections
    ]
    return batches_of("python_run", runs) + batches_of("collection", collections)
