"""Where the time of the counted steps goes by call path, for a flame graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from traceq.reports.flame import Flame, Frame
from traceq.reports.queries import rows

if TYPE_CHECKING:
    import duckdb

# Frames below this share of all host time and of all GPU time are put together, and more of them if there are too many.
_LEAST_SHARE, _FRAMES, _OF_ALL_TRACES = 0.001, 4_000, 16_000


def flame(connection: duckdb.DuckDBPyConnection, trace_id: int, traces: int = 1) -> Flame | None:
    """What the host did in the counted steps, and what the GPU did for it; None without anything. One of `traces` on a page."""
    paths = rows(connection, "flame", trace_id=trace_id)
    if not any(path["host"] for path in paths):
        return None
    return made(_with_totals(paths), min(_FRAMES, _OF_ALL_TRACES // traces))


def made(paths: Sequence[Mapping[str, Any]], most: int) -> Flame:
    """The flame graph of `paths`, each after its parent, with their times and all inside; of at most about `most` frames."""
    share = _LEAST_SHARE
    while len(frames := _frames(paths, share)) > most:
        share *= 1.5
    return Flame(frames, share)


def _with_totals(paths: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the GPU time of each path and all inside it."""
    found = {path["path"]: {**path, "gpu": path["own_gpu"]} for path in paths}
    for path in sorted(found.values(), key=lambda each: -each["level"]):
        if path["parent"] is not None:
            found[path["parent"]]["gpu"] += path["gpu"]
    return list(found.values())


def _frames(paths: Sequence[Mapping[str, Any]], share: float) -> tuple[Frame, ...]:
    outermost = [path for path in paths if path["parent"] is None]
    host, gpu = (sum(path[side] for path in outermost) for side in ("host", "gpu"))
    frames = [Frame("all", "all", -1, 1, host, gpu)]
    numbers: dict[int | None, int] = {None: 0}
    smaller: dict[int, list[int]] = {}
    for path in paths:
        if path["parent"] not in numbers:
            continue  # inside one that is too small
        around = numbers[path["parent"]]
        times = (path["count"], path["host"], path["gpu"])
        if (path["host"] and path["host"] >= share * host) or (path["gpu"] and path["gpu"] >= share * gpu):
            numbers[path["path"]] = len(frames)
            frames.append(Frame(path["name"], path["kind"], around, *times))
        else:
            smaller[around] = [
                before + more for before, more in zip(smaller.get(around, (0, 0, 0)), times, strict=True)
            ]
    frames += [
        Frame("(smaller)", "smaller", around, *times)
        for around, times in sorted(smaller.items())
        if times[1] or times[2]
    ]
    return tuple(frames)
