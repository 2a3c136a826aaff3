"""Host and GPU time by call path: frames with the frames inside them, small enough for a page."""

from __future__ import annotations

import msgspec


class Frame(msgspec.Struct, frozen=True):
    """All calls of one call path: a thread, Python frame, module, annotation, operator, runtime call or GPU work.

    `parent` is the place of the frame around it, -1 for the root. `host_ns` is the time of the calls, `gpu_ns` the time
    of the GPU work launched in them, both with all frames inside.
    """

    name: str
    kind: str
    parent: int
    count: int
    host_ns: int
    gpu_ns: int


class FlameGraph(msgspec.Struct, frozen=True):
    """The frames of the counted steps, each after its parent.

    Frames below `least_share` (0..1) of all host time and of all GPU time are merged, as frames of kind "smaller".
    """

    frames: tuple[Frame, ...]
    least_share: float


class Hot(msgspec.Struct, frozen=True):
    """All frames of one name and kind: host time without and with the frames inside, and GPU time, ns.

    Recursive calls are counted once.
    """

    name: str
    kind: str
    count: int
    self_ns: int
    host_ns: int
    gpu_ns: int


def find_hottest(flame: FlameGraph, most: int) -> list[Hot]:
    """Return at most `most` names of frames, first those with most own time on the host."""
    own = [frame.host_ns for frame in flame.frames]
    for frame in flame.frames[1:]:
        own[frame.parent] -= frame.host_ns
    found: dict[tuple[str, str], list[int]] = {}
    around: list[frozenset[tuple[str, str]]] = []
    for frame, self_ns in zip(flame.frames, own, strict=True):
        key = (frame.name, frame.kind)
        outer = around[frame.parent] if frame.parent >= 0 else frozenset()
        around.append(outer if key in outer else outer | {key})
        is_outermost = key not in outer
        sums = found.setdefault(key, [0, 0, 0, 0])
        added = (frame.count, self_ns, frame.host_ns * is_outermost, frame.gpu_ns * is_outermost)
        found[key] = [before + more for before, more in zip(sums, added, strict=True)]
    called = (
        Hot(name, kind, *sums) for (name, kind), sums in found.items() if kind not in ("all", "thread", "smaller")
    )
    return sorted((each for each in called if each.self_ns), key=lambda each: (-each.self_ns, each.name))[:most]
