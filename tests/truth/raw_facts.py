"""Recompute the numbers of the labels from the raw files, and say where a label differs.

No import of traceq. A label says in "check" how its steps, inner levels and window are found; `facts` finds them.

    python tests/truth/raw_facts.py            # compares all labels with their files
    python tests/truth/raw_facts.py --write    # writes the recomputed numbers into the labels
"""

import json
import re
import statistics
import sys
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from pathlib import Path

from raw_files import SHARED, Raw, Slice, read

LABELS = Path(__file__).parent / "traces"

# A stray bit of a start-up: all GPU work before an idle time, where the work is at most this share of the GPU's busy time,
# and the idle time is over this many times as long as the work lasts and over this share of the span of all GPU work.
_STRAY_BUSY = 0.01
_STRAY_TIMES = 20
_STRAY_IDLE = 0.05

# Kinds of captures (docs/decisions/0029-triage.md) whose files have no work of a GPU; all others have some.
_WITHOUT_GPU_WORK = {"nothing_recorded", "host_only"}


def collect_facts(label: dict) -> dict:
    """What the raw file says about the numbers of a label."""
    raw = read(SHARED / label["trace"])
    check = label["check"]
    steps = _count_steps(raw, check.get("steps"))
    unit = {name: steps[name] for name in ("steps", "starts", "gpu_starts", "period_ns", "kernels", "kernels_of_steps")}
    unit["inner"] = [_count_level(raw, level, steps) for level in check.get("inner", [])]
    unit["outer"] = [_count_level(raw, level, steps) for level in check.get("outer", [])]
    every = raw.every()
    run = {
        "start": min((slice_.start for slice_ in every), default=None),
        "end": max((slice_.end for slice_ in every), default=None),
    }
    return {
        "unit": unit,
        "window": _count_window(raw, check["window"], steps, run),
        "run": run,
        "has_gpu_work": bool(raw.gpu),
    }


def list_differences(label: dict) -> list[str]:
    """List where a label and its raw file differ: one line each."""
    found = collect_facts(label)
    lines = [
        f"unit.{name}: label {label['unit'].get(name)}, file {value}"
        for name, value in found["unit"].items()
        if name not in {"inner", "outer"} and label["unit"].get(name) != value
    ]
    for side in ("inner", "outer"):
        for place, level in enumerate(found["unit"][side]):
            told = label["unit"][side][place]
            lines += [
                f"{side} {place} {name}: label {told.get(name)}, file {level[name]}"
                for name in level
                if told.get(name) != level[name]
            ]
    for part in ("window", "run"):
        lines += [
            f"{part}.{name}: label {label[part].get(name)}, file {value}"
            for name, value in found[part].items()
            if label[part].get(name) != value
        ]
    kind = label["capture"]["kind"]
    if (kind in _WITHOUT_GPU_WORK) == found["has_gpu_work"]:
        lines.append(f"capture.kind: label {kind}, file has {'' if found['has_gpu_work'] else 'no '}GPU work")
    return lines


def with_facts(label: dict) -> dict:
    """The label with the numbers of its raw file."""
    found = collect_facts(label)
    for side in ("inner", "outer"):
        found["unit"][side] = [
            told | level for told, level in zip(label["unit"][side], found["unit"][side], strict=True)
        ]
    return label | {part: label[part] | found[part] for part in ("unit", "window", "run")}


def list_kernels(raw: Raw, device: str | None = None) -> list[Slice]:
    """Kernels and graphs in the order of their launch calls (of their starts where there is no call)."""
    found = [
        s for s in raw.gpu if s.kind in {"kernel", "graph"} and (device is None or s.track.startswith(device + "/"))
    ]
    return sorted(found, key=_find_launch)


def count_repeats(names: list, period: int) -> int:
    """Count how many times a pattern of `period` kernels stands after itself, at its longest."""
    longest = length = 0
    for one, other in zip(names, names[period:], strict=False):
        length = length + 1 if one == other else 0
        longest = max(longest, length)
    return (longest + period) // period if longest >= period else 0


def find_marks(
    raw: Raw,
    regex: str,
    innermost: bool = False,
    track: str | None = None,
    least_ns: int = 0,
    inside: str | None = None,
) -> list[Slice]:
    """Ranges of the host whose name matches; `innermost`: only those that hold no other match; `inside` a range of that name."""
    found = [
        s
        for s in raw.host
        if re.search(regex, s.name) and (track is None or s.track == track) and s.end - s.start >= least_ns
    ]
    if innermost:
        found = [
            s
            for s in found
            if not any(s is not o and s.track == o.track and s.start <= o.start and o.end <= s.end for o in found)
        ]
    if inside is not None:
        around = find_marks(raw, inside, track=track)
        found = [s for s in found if any(o.start <= s.start and s.end <= o.end for o in around)]
    return found


def _find_launch(slice_: Slice) -> int:
    return slice_.start if slice_.launch is None else slice_.launch


def _count_steps(raw: Raw, check: dict | None) -> dict:
    if check is None:
        return _summarize_starts([], [], [], None)
    check = dict(check)
    by = check.pop("by")
    return {"marks": _by_marks, "order": _by_order, "kernel": _by_kernel}[by](raw, **check)


def _by_marks(
    raw: Raw,
    device: str | None = None,
    until: str = "next",
    complete: int | None = None,
    close: str | None = None,
    **which,
) -> dict:
    """Steps that marks show; a step lasts until the next mark's start, or (`until` "own") only until its own mark's end.

    `close`: the last step lasts until the last range of that name ends, for marks that stand only at a step's start.
    """
    found = find_marks(raw, **which)[:complete]
    starts = [mark.start for mark in found]
    last = max(mark.end for mark in [*found, *(find_marks(raw, close) if close else [])])
    ends = [*starts[1:], last] if until == "next" else [mark.end for mark in found]
    order = [s for s in list_kernels(raw, device) if s.launch is not None]
    calls = [_find_launch(s) for s in order]
    counts = [bisect_left(calls, end) - bisect_left(calls, start) for start, end in zip(starts, ends, strict=True)]
    return _summarize_starts(starts, _first_starts(order, starts, ends), counts, last, starts)


def _first_starts(order: list[Slice], starts: list[int], ends: list[int]) -> list[int] | None:
    calls = [_find_launch(s) for s in order]
    found = [
        order[i].start
        for i, end in zip([bisect_left(calls, s) for s in starts], ends, strict=True)
        if i < len(calls) and calls[i] < end
    ]
    return found if len(found) == len(starts) else None


def _by_order(raw: Raw, first: int, period: int, count: int, device: str | None = None) -> dict:
    """Steps of `period` kernels each in the order of launches, the first one from kernel `first`."""
    order = list_kernels(raw, device)
    heads = [order[first + place * period] for place in range(count)]
    last = order[first + count * period - 1]
    return _summarize_starts([_find_launch(s) for s in heads], [s.start for s in heads], [period] * count, last.end)


def _by_kernel(raw: Raw, regex: str, offset: int = 0, device: str | None = None, close: str | None = None) -> dict:
    """Steps that start `offset` kernels from each kernel that matches; the last ends with the last `close` match."""
    order = list_kernels(raw, device)
    places = [place + offset for place, s in enumerate(order) if re.search(regex, s.name)]
    last = max((i for i, s in enumerate(order) if close and re.search(close, s.name)), default=places[-1])
    counts = [*(b - a for a, b in pairwise(places)), last + 1 - places[-1]]
    heads = [order[place] for place in places]
    return _summarize_starts([_find_launch(s) for s in heads], [s.start for s in heads], counts, order[last].end)


def _summarize_starts(
    starts: list[int], gpu_starts: list[int] | None, counts: list[int], end: int | None, clock: list[int] | None = None
) -> dict:
    clock = clock or gpu_starts or starts
    counts = counts if any(counts) else []
    common, times = Counter(counts).most_common(1)[0] if counts else (None, 0)
    return {
        "steps": len(starts),
        "starts": starts or None,
        "gpu_starts": gpu_starts or None,
        "period_ns": statistics.median_low(b - a for a, b in pairwise(clock)) if len(starts) > 1 else None,
        "kernels": common if common and times >= 0.9 * len(counts) else None,
        "kernels_of_steps": {str(count): times for count, times in sorted(Counter(counts).items())} or None,
        "end": end,
    }


def _count_level(raw: Raw, check: dict, steps: dict) -> dict:
    """How often an inner or outer level comes in the capture, and how many kernels it has."""
    check = dict(check)
    by = check.pop("by")
    if by == "repeat":
        order = list_kernels(raw, check.get("device"))
        names = [(s.name, s.shape) for s in order]
        return {"per_step": count_repeats(names, check["period"]), "kernels": check["period"]}
    found = {"marks": _by_marks, "kernel": _by_kernel, "order": _by_order}[by](raw, **check)
    count = found["steps"]
    each = count // steps["steps"] if steps["steps"] and count % steps["steps"] == 0 else None
    return {"count": count, "per_step": each, "kernels": found["kernels"]}


def _count_window(raw: Raw, rule: str, steps: dict, run: dict) -> dict:
    if rule == "marks":
        start, end = steps["starts"][0], steps["end"]
        inside = [s.end for s in raw.gpu if s.launch is not None and start <= s.launch < end]
        return {"start": start, "end": max([end, *inside]), "host_end": end}
    if rule == "steps":
        return {"start": steps["starts"][0], "end": steps["end"]}
    if rule in {"gpu", "all"}:
        work = raw.gpu if rule == "all" else without_stray(raw.gpu)
        return {"start": min(map(_find_launch, work)), "end": max(s.end for s in work)}
    return dict(run)


def without_stray(gpu: list[Slice]) -> list[Slice]:
    """GPU work without the stray bits of a start-up: little work, then an idle time far longer than it."""
    total = sum(s.end - s.start for s in gpu)
    span = max(s.end for s in gpu) - gpu[0].start
    first = busy = 0
    end = gpu[0].start
    for place, slice_ in enumerate(gpu):
        idle = slice_.start - end
        long = idle > _STRAY_TIMES * (end - gpu[first].start) and idle > _STRAY_IDLE * span
        if place and long and busy <= _STRAY_BUSY * total:
            first = place
        busy += slice_.end - slice_.start
        end = max(end, slice_.end)
    return gpu[first:]


def render_label(label: dict) -> str:
    """A label as JSON, its lists of numbers each on one line."""
    lines = json.dumps(label, indent=2, ensure_ascii=False)
    return (
        re.sub(
            r"\[[\s\d,-]+\]",
            lambda numbers: re.sub(r"\s+", " ", numbers[0]).replace("[ ", "[").replace(" ]", "]"),
            lines,
        )
        + "\n"
    )


def main() -> int:
    wrong = 0
    for path in sorted(LABELS.glob("*.json")):
        label = json.loads(path.read_text())
        if "--write" in sys.argv:
            path.write_text(render_label(with_facts(label)))
            continue
        lines = list_differences(label)
        wrong += len(lines)
        sys.stdout.writelines(f"{path.stem}: {line}\n" for line in lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
