"""Samples of Python stacks that traceq took while it recorded (traceq.capture.stack_sampler), from the metadata of a trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from traceq.importers.chrome.rows import TrackNumbers
from traceq.importers.rows import Batches, batches_of

KEY = "traceq_samples"

# C functions that wait: of threads beside the one that trains, nothing else is known of such time.
_WAITS = re.compile(
    r"<built-in (function|method) (.*\.)?(acquire|__enter__|wait|select|poll|epoll|recv\w*|accept|join|get|_wait\w*)>"
)
_BUILT_IN = "<built-in "
# Parts of a function, which says more by its name.
_PART = re.compile(r": <(listcomp|dictcomp|setcomp|genexpr|lambda)>$")
_LOADER = re.compile(r"(^|/)torch/utils/data/")
# Functions of PyTorch's files, but for those that save.
_TORCH = re.compile(r"(^|/)torch/(?!serialization\.py|distributed/checkpoint/|utils/tensorboard/)")
# A function that calls PyTorch in so much of its time, or is there in so much of a thread's time, is one around the step.
_MOSTLY_TORCH, _NEARLY_ALWAYS = 0.5, 0.98


# ns since 1970, until the year 2116, and a period of sampling.
_Time = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
_Generation = Annotated[int, msgspec.Meta(ge=0, le=2)]
_T = TypeVar("_T")
# As long as the recorder makes them, at most.
_List = Annotated[list[_T], msgspec.Meta(max_length=100_000 + 16)]
_Period = Annotated[int, msgspec.Meta(ge=1_000, le=60_000_000_000)]


class Samples(msgspec.Struct):
    """Samples of a process as the recorder writes them; times are ns since 1970.

    `own` are indices of the program's own functions, `samples` [native thread id, index of a stack, time], `collections`
    [native thread id, begin, end, generation].
    """

    pid: int
    period_ns: _Period
    functions: list[str]
    own: list[int]
    stacks: list[list[int]]
    samples: _List[tuple[int, int, _Time]]
    collections: _List[tuple[int, _Time, _Time, _Generation]]
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
    if not all(
        0 <= index < len(samples.functions) for stack in (samples.own, *samples.stacks) for index in stack
    ) or not all(0 <= stack < len(samples.stacks) for _, stack, _ in samples.samples):
        notes["metadata_damaged"] += 1
        return None
    return samples


def build_sample_batches(samples: Samples | None, threads: TrackNumbers, utc_origin_ns: int | None) -> Batches:
    """Return rows of staging.python_sample and staging.collection, times as in the trace; none without `utc_origin_ns`.

    Threads that have no other records have no frames while they wait, and are left out if they do nothing else.
    """
    if samples is None or utc_origin_ns is None:
        return []
    around = _find_functions_around(samples)
    waits = [bool(stack) and _WAITS.fullmatch(samples.functions[stack[-1]]) is not None for stack in samples.stacks]
    frames = ["\n".join(choose_frames(stack, samples, around)) for stack in samples.stacks]
    others = {native_id for native_id, _, _ in samples.samples if not threads.has_track(samples.pid, native_id)}
    working = {native_id for native_id, stack, _ in samples.samples if not waits[stack]}
    rows = [
        {
            "thread_id": threads.add_track(samples.pid, native_id, samples.threads.get(native_id)),
            "ts": ts - utc_origin_ns,
            "period_ns": samples.period_ns,
            "frames": "" if waits[stack] and native_id in others else frames[stack],
        }
        for native_id, stack, ts in samples.samples
        if native_id in working or native_id not in others
    ]
    collections = [
        {
            "thread_id": threads.add_track(samples.pid, native_id, samples.threads.get(native_id)),
            "ts": begin - utc_origin_ns,
            "dur": end - begin,
            "generation": generation,
        }
        for native_id, begin, end, generation in samples.collections
    ]
    return batches_of("python_sample", rows) + batches_of("collection", collections)


def choose_frames(stack: Sequence[int], samples: Samples, around: set[int]) -> list[str]:
    """Return the names of those functions of a stack that tell what its time goes into, from the outermost on.

    These are the outermost of the program's own functions that is not `around` the step (in a fetch of a loader also the
    innermost), the first function of a library that it calls, and the innermost one if that is written in C. Where no
    function of the program's own is left: the innermost function, unless it is `around` the step.
    """
    names = [samples.functions[index] for index in stack]
    own = set(samples.own) - around
    begin = max((level + 1 for level, name in enumerate(names) if _LOADER.search(name)), default=0)
    places = [level for level in range(begin, len(stack)) if stack[level] in own and not _PART.search(names[level])]
    last = len(stack) - 1
    if not places:
        return names[last:] if stack and stack[last] not in around else []
    called = next((level for level in range(places[-1] + 1, last + 1) if not _PART.search(names[level])), places[0])
    chosen = {places[0], called}
    if begin:
        chosen.add(places[-1])
    if names[last].startswith(_BUILT_IN):
        chosen.add(last)
    return [names[level] for level in sorted(chosen)]


def _find_functions_around(samples: Samples) -> set[int]:
    """Return the program's own functions that are around its steps: what they do is mostly calling PyTorch, or goes on always.

    What a loader calls to make a batch is not around a step.
    """
    total: Counter[int] = Counter()
    inside: Counter[tuple[int, int]] = Counter()
    of_torch: Counter[tuple[int, int]] = Counter()
    is_torch = [_TORCH.search(name) is not None for name in samples.functions]
    is_loader = [_LOADER.search(name) is not None for name in samples.functions]
    own = set(samples.own)
    counted = Counter((native_id, stack) for native_id, stack, _ in samples.samples)
    for (native_id, stack), count in counted.items():
        total[native_id] += count
        frames = samples.stacks[stack]
        last_torch = max((level for level, index in enumerate(frames) if is_torch[index]), default=-1)
        loader = next((level for level, index in enumerate(frames) if is_loader[index]), len(frames))
        for index in own.intersection(frames[:loader]):
            inside[native_id, index] += count
            if frames.index(index) < last_torch:
                of_torch[native_id, index] += count
    return {
        index
        for (native_id, index), count in inside.items()
        if of_torch[native_id, index] >= _MOSTLY_TORCH * count or count >= _NEARLY_ALWAYS * total[native_id]
    }
