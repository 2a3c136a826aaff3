"""The sampled stacks of a DataLoader's worker processes, as a file beside the trace of the process that trains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

SUFFIX = ".workers.json"
VERSION = 1

# Of a worker, the most frequent ones: the others are a sample each.
MOST_STACKS = 200
# A machine has no more cores for them; a function's name is a path and two words.
_MOST_WORKERS, _LONGEST_NAME = 1024, 1000

_FETCH = re.compile(r"(?:^|/)torch/utils/data/_utils/fetch\.py\(\d+\): fetch$")
_WAIT = re.compile(r"(?:^|/)multiprocessing/(?:queues\.py\(\d+\): get|connection\.py\(\d+\): (?:poll|wait|_poll))$")
# Not functions that anybody wrote as such: the one around them is meant.
_INNER = re.compile(r": <(?:listcomp|setcomp|dictcomp|genexpr)>$")


class WorkerSample(NamedTuple):
    """A stack of a worker, and how often it was sampled: `frames` are functions FILE(LINE): NAME from the outermost on.

    `state` is fetch (it makes a batch), wait (for the next batch to make) or other; `function` is the innermost function of the
    program in a fetch, that of a library where it has none, and None in other states.
    """

    pid: int
    worker: int | None
    state: str
    function: str | None
    frames: tuple[str, ...]
    samples: int


def samples_of(content: dict[str, Any]) -> Iterator[WorkerSample]:
    """Yield the stacks in the JSON object of such a file; what is no worker or no stack in it is left out."""
    listed = content.get("workers")
    for worker in listed[:_MOST_WORKERS] if isinstance(listed, list) else ():
        if isinstance(worker, dict) and _is_number(worker.get("pid")):
            yield from _samples_of_worker(worker)


def _samples_of_worker(worker: dict[str, Any]) -> Iterator[WorkerSample]:
    names, own, stacks = (_list_in(worker, key) for key in ("functions", "own", "stacks"))
    number = worker["worker"] if _is_number(worker.get("worker")) else None
    for stack in stacks[:MOST_STACKS]:
        match stack:
            case [samples, [*places]] if (
                _is_number(samples) and samples and all(_is_number(place) and place < len(names) for place in places)
            ):
                frames = [str(names[place])[:_LONGEST_NAME] for place in places]
                start = next((place for place, name in enumerate(frames, 1) if _FETCH.search(name)), None)
                if start is not None:
                    state, function = (
                        "fetch",
                        _find_function(frames[start:], [place in own for place in places[start:]]),
                    )
                else:
                    state, function = "wait" if any(map(_WAIT.search, frames)) else "other", None
                yield WorkerSample(worker["pid"], number, state, function, tuple(frames), samples)


def _find_function(frames: Sequence[str], are_own: Sequence[bool]) -> str | None:
    """Return the innermost function of the program among the frames within a fetch, else that of a library."""
    named = [(name, is_own) for name, is_own in zip(frames, are_own, strict=True) if not _INNER.search(name)]
    own = [name for name, is_own in named if is_own]
    return own[-1] if own else named[-1][0] if named else None


def _list_in(worker: dict[str, Any], key: str) -> list[Any]:
    found = worker.get(key)
    return found if isinstance(found, list) else []


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 31
