"""Writes a profile for speedscope.app, in its own format: https://www.speedscope.app/file-format-schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from traceq.common.text import quiet_json
from traceq.common.version import __version__
from traceq.exports.stacks import MEASURE_WORDS, MEASURES, CodeFrame, Measure, Stacks, find_frame, walk_stacks

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(stacks: Stacks, name: str, file: BinaryIO) -> int:
    """Write a profile of each measure that has time, with `name` as their title; return how many samples they have."""
    frames: dict[CodeFrame, int] = {}
    numbers = [frames.setdefault(find_frame(path), len(frames)) for path in stacks.paths]
    head = {"$schema": _SCHEMA, "exporter": f"traceq@{__version__}", "name": name, "activeProfileIndex": 0}
    shared = {"frames": [_describe_frame(frame) for frame in frames]}
    file.write(_encode_json({**head, "shared": shared}).removesuffix(b"}") + b', "profiles": [')
    count = 0
    totals = {measure: total for measure in MEASURES if (total := stacks.sum_time(measure))}
    for place, (measure, total) in enumerate(totals.items()):
        profile = {"type": "sampled", "name": MEASURE_WORDS[measure], "unit": "nanoseconds", "startValue": 0}
        file.write(b",\n" if place else b"\n")
        file.write(_encode_json({**profile, "endValue": total}).removesuffix(b"}") + b', "samples": [')
        weights: list[int] = []
        for weight, sample in _list_samples(stacks, measure, numbers):
            file.write((b",\n" if weights else b"\n") + _encode_json(sample))
            weights.append(weight)
        file.write(b'\n], "weights": ' + _encode_json(weights) + b"}")
        count += len(weights)
    file.write(b"\n]}\n")
    return count


def _list_samples(stacks: Stacks, measure: Measure, numbers: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the time of each call path, ns, and the numbers of its frames from the outermost on."""
    for path, way in walk_stacks(stacks):
        if time := getattr(path, measure):
            yield time, [numbers[place] for place in way]


def _describe_frame(frame: CodeFrame) -> dict[str, object]:
    return {"name": frame.name, "file": frame.file, "line": frame.line} if frame.file else {"name": frame.name}


def _encode_json(value: object) -> bytes:
    return quiet_json(json.dumps(value)).encode()
