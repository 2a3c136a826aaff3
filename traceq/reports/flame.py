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


class TimeChange(msgspec.Struct, frozen=True):
    """A time per step on both sides, ns; beyond `noise_ns` the sides differ, None where that is not known."""

    base_ns: int
    new_ns: int
    noise_ns: int | None

    @property
    def delta_ns(self) -> int:
        """The new time less the base's."""
        return self.new_ns - self.base_ns

    @property
    def is_noise(self) -> bool:
        """Whether the sides may differ by chance alone."""
        return self.noise_ns is not None and abs(self.delta_ns) <= self.noise_ns


class FramePair(msgspec.Struct, frozen=True):
    """The frames of one call path on both sides: calls a step, host time, and time of the GPU work launched.

    `parent` is as in Frame.
    """

    name: str
    kind: str
    parent: int
    base_calls: float
    new_calls: float
    host: TimeChange
    gpu: TimeChange


class NamedChange(msgspec.Struct, frozen=True):
    """All frames of one name and kind: their own time, on the host or of GPU work, without that of frames inside."""

    name: str
    kind: str
    own: TimeChange


class FlameDifference(msgspec.Struct, frozen=True):
    """The frames of both sides in one tree, each after its parent, with their times per step.

    Frames below `least_share` (0..1) of all host time and of all GPU time of both sides are merged, as frames of kind
    "smaller". `changed` are the names whose own time changed most, beyond noise where that is known. `level` is the
    accepted rate of differences by chance beyond `noise_ns`.
    """

    frames: tuple[FramePair, ...]
    least_share: float
    changed: tuple[NamedChange, ...]
    level: float


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
