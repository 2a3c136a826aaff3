"""Call paths with the time of each on the host, on the GPU and idle, which other viewers draw as flame graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import msgspec

# How PyTorch's profiler names a frame of Python: train.py(12): step.
_PYTHON = re.compile(r"(.+)\((\d+)\): (.+)", re.DOTALL)

Measure = Literal["host", "gpu", "idle"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

# What each measure is called in a viewer.
MEASURE_WORDS: dict[Measure, str] = {"host": "host time", "gpu": "GPU time", "idle": "GPU idle time"}


class CallPath(msgspec.Struct, frozen=True):
    """All calls, GPU work or idle time of one path: `parent` is the place of the path around it, None for the outermost.

    Times are ns, without those of the paths inside: of the calls on the host, of the GPU work, and in which a GPU was idle.
    """

    parent: int | None
    kind: str
    name: str
    host: int
    gpu: int
    idle: int


class Stacks(msgspec.Struct, frozen=True):
    """The call paths of the counted steps, parents first; `dur` is the time of the steps, ns, added up over the traces."""

    paths: Sequence[CallPath]
    dur: int

    def sum_time(self, measure: Measure) -> int:
        """Return the time of all paths together, ns."""
        return sum(getattr(path, measure) for path in self.paths)


class CodeFrame(msgspec.Struct, frozen=True):
    """A call path as viewers name it: by function, and for Python also by file and line (elsewhere "" and 0)."""

    name: str
    file: str = ""
    line: int = 0

    @property
    def short_name(self) -> str:
        """The name with the file's own name and the line, which tell functions of the same name apart: step (train.py:12)."""
        return f"{self.name} ({self.file.rpartition('/')[2]}:{self.line})" if self.file else self.name


def find_frame(path: CallPath) -> CodeFrame:
    """Return the frame to draw for a call path."""
    if path.kind == "thread":
        return CodeFrame(f"thread {path.name}")
    if path.kind == "python" and (found := _PYTHON.fullmatch(path.name)):
        return CodeFrame(found[3], found[1], int(found[2]))
    return CodeFrame(path.name)


def walk_stacks(stacks: Stacks) -> Iterator[tuple[CallPath, list[int]]]:
    """Yield each path that has time of its own, with the places of the paths on the way to it, from the outermost on.

    What is inside a path follows it at once, as viewers that draw samples in their order expect.
    """
    inside: dict[int | None, list[int]] = {}
    for place, path in enumerate(stacks.paths):
        inside.setdefault(path.parent, []).append(place)
    waiting = [(place, 0) for place in reversed(inside.get(None, []))]
    way: list[int] = []
    while waiting:
        place, depth = waiting.pop()
        way[depth:] = [place]
        path = stacks.paths[place]
        if path.host or path.gpu or path.idle:
            yield path, way.copy()
        waiting += [(inner, depth + 1) for inner in reversed(inside.get(place, []))]
