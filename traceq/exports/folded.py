"""Writes folded stacks, one measure a file: `a;b;c 123`, the outermost call first, with the ns of that path."""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO

from traceq.common.text import printable
from traceq.exports.stacks import Measure, Stacks, find_frame, walk_stacks


def write_folded(stacks: Stacks, measure: Measure, file: BinaryIO) -> int:
    """Write a line for each call path with time of this measure, in the order of the text; return how many there are.

    Semicolons in names, which part frames, become colons.
    """
    names = [printable(find_frame(path).short_name).replace(";", ":") for path in stacks.paths]
    found: Counter[str] = Counter()
    for path, way in walk_stacks(stacks):
        if time := getattr(path, measure):
            found[";".join(names[place] for place in way)] += time
    for stack, time in sorted(found.items()):
        file.write(f"{stack} {time}\n".encode())
    return len(found)
