"""The cause of a slow step: what it did that its neighbours in the ring did not, as far as samples and collections tell."""

from __future__ import annotations

import sys
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from traceq.capture.ring import KeptStep, StackSpan
from traceq.capture.thread_stacks import name_function

# What takes this part of the extra time is its cause.
_MOST_OF_IT = 0.5

# A single sample while a step is not late yet stands for a long time, and may be chance.
_LEAST_SAMPLES = 3

_OF_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@dataclass(frozen=True)
class SlowCause:
    """The function, or garbage collection, that most of a slow step's extra time went into, and how much of it (ns)."""

    name: str
    extra: int


def find_cause(steps: Sequence[KeptStep], thread: int, usual: int) -> SlowCause | None:
    """Return what took at least half of the time by which the last of the steps is longer than `usual` (ns); None if unknown.

    It is garbage collection, or the innermost function of the program in the training thread (its native id).
    """
    slow, others = steps[-1], steps[:-1]
    wanted = _MOST_OF_IT * (slow.end - slow.begin - usual)
    collected = sum(pause.end - pause.begin for pause in slow.pauses)
    if collected >= wanted:
        return SlowCause("garbage collection", collected)
    usually: dict[tuple[CodeType, ...], float] = defaultdict(float)
    for step in others:
        for calls, spent in _sum_paths(step.spread_samples(thread)).items():
            usually[calls] += spent / len(others)
    spans = slow.spread_samples(thread)
    extra = {calls: spent - usually[calls] for calls, spent in _sum_paths(spans).items()}
    seen = Counter(span.stack[:depth] for span in spans for depth in range(1, len(span.stack) + 1))
    path: tuple[CodeType, ...] = ()
    while True:
        deeper_calls = [call for call in extra if len(call) == len(path) + 1 and call[: len(path)] == path]
        deeper = max(deeper_calls, key=lambda call: extra[call], default=())
        if not deeper or extra[deeper] < wanted or seen[deeper] < _LEAST_SAMPLES:
            break
        path = deeper
    named = [number for number, code in enumerate(path, 1) if code.co_name != "<module>"]
    own = [number for number in named if not path[number - 1].co_filename.startswith(_OF_LIBRARIES)]
    if not named:
        return None
    last = (own or named)[-1]
    folders = [str(Path(folder).absolute()) for folder in sys.path if folder]
    return SlowCause(name_function(path[last - 1], folders), round(extra[path[:last]]))


def _sum_paths(spans: Sequence[StackSpan]) -> dict[tuple[CodeType, ...], int]:
    """Return the time (ns) in each path of calls (outermost first)."""
    found: dict[tuple[CodeType, ...], int] = defaultdict(int)
    for path, begin, end in spans:
        for depth in range(1, len(path) + 1):
            found[path[:depth]] += end - begin
    return found
