"""Grow a trace of the PyTorch profiler by repetition.

Every copy comes after the one before it, and has ids and step numbers of its own. Memory depends on the source only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import megabytes, tell

# What links events to each other: these must not be the same in two copies.
_IDS = (
    b"id|correlation|External id|external id|Ev Idx|Sequence number|Record function id|Python id|Python parent id"
    b"|wait_on_cuda_event_record_corr_id"
)
_ID = re.compile(rb'("(?:' + _IDS + rb')"\s*:\s*"?)(\d+)(?=\s*[",}])')
_STEP = re.compile(rb"(ProfilerStep#)(\d+)")
_TS = re.compile(rb'("ts"\s*:\s*"?)(\d+)')
_DUR = re.compile(rb'("dur"\s*:\s*"?)(\d+)')
# Names of operators and kernels, in the order in which PyTorch writes the keys.
_NAME = re.compile(rb'("cat"\s*:\s*"(?:cpu_op|kernel)"\s*,\s*"name"\s*:\s*"(?:[^"\\]|\\.)*)')
_ODD_TS = re.compile(rb'"ts"\s*:(?!\s*"?\d+(?:\.\d+)?"?\s*[,}])')
_END_OF_EVENTS = re.compile(rb"\}\s*\](?=\s*[,}])")

# No byte of UTF-8 text is 0xFF: it marks the places that differ from copy to copy, the byte after it says which.
_MARK = b"\xff"
_COPY_NUMBER = _MARK + b"\x00"
_MOST_DIGITS = 18


@dataclass(frozen=True)
class Text:
    """A trace as text: what stands before its events, the events without the brackets, what stands after."""

    head: bytes
    events: bytes
    tail: bytes


@dataclass(frozen=True)
class Template:
    """The events with marks: `_COPY_NUMBER` is the number of the copy, others are numbers that it is added to."""

    events: bytes
    added_to: dict[bytes, int]

    def copy(self, number: int) -> bytes:
        """The events of a copy, from 1."""
        events = self.events.replace(_COPY_NUMBER, b"%d" % number)
        for mark, first in self.added_to.items():
            events = events.replace(mark, b"%d" % (first + number))
        return events


def grow(source: Path, target_bytes: int, output: Path, *, new_names: bool = False) -> int:
    """Write `source` repeated until it has at least `target_bytes`, uncompressed; the number of copies, at least 1.

    With `new_names` operators and kernels have other names in each copy.
    """
    text = split(source)
    template = make_template(_NAME.sub(rb"\1 " + _COPY_NUMBER, text.events) if new_names else text.events)
    with output.open("wb") as out:
        written = out.write(text.head) + out.write(text.events)
        copies = 1
        while written + len(text.tail) < target_bytes:
            written += out.write(b",\n") + out.write(template.copy(copies))
            copies += 1
        out.write(text.tail)
    return copies


def split(source: Path) -> Text:
    """Take a trace apart at the brackets of its events. SystemExit when it is not whole."""
    data = source.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    start, end = _brackets(data, source)
    events = data[start:end].strip()
    if _ODD_TS.search(events) or _MARK in events or not events:
        raise SystemExit(f"{source}: has no events, or times or bytes that cannot be shifted; take another trace")
    return Text(data[:start], events, data[end:])


def _brackets(data: bytes, source: Path) -> tuple[int, int]:
    if data.lstrip().startswith(b"["):
        return data.index(b"[") + 1, data.rindex(b"]")
    start = data.find(b"[", data.find(b'"traceEvents"')) + 1
    for end in _END_OF_EVENTS.finditer(data, start):
        # It may also be the end of a list inside an event; then the rest is no JSON.
        if _is_rest_of_object(data[end.end() :]):
            return start, end.end() - 1
    raise SystemExit(f"{source}: neither an object with traceEvents nor an array, or cut short; take another trace")


def _is_rest_of_object(rest: bytes) -> bool:
    try:
        json.loads(b'{"":0' + rest)
    except ValueError:
        return False
    return True


def make_template(events: bytes) -> Template:
    """Mark what differs between copies.

    Ids: the number of the copy, followed by the id with as many digits as the longest has. Times: the leading digits of
    all times of a copy are one number or two neighbours; the copy's number is added to these.
    """
    width = max((len(number) for _, number in _ID.findall(events)), default=1)
    if width > _MOST_DIGITS - len("1000"):
        raise SystemExit("the trace has ids that are too long to be shifted; take another trace")
    low_digits = _digits_of_span(events)
    events = _ID.sub(lambda match: match[1] + _shifted_id(match, width), events)
    steps = max((len(number) for _, number in _STEP.findall(events)), default=1)
    events = _STEP.sub(lambda match: match[1] + _COPY_NUMBER + match[2].zfill(steps), events)
    return _mark_times(events, low_digits)


def _shifted_id(match: re.Match[bytes], width: int) -> bytes:
    # 0 stands for "none", but the first flow has it for a number.
    is_none = match[2] == b"0" and not match[1].startswith(b'"id"')
    return match[2] if is_none else _COPY_NUMBER + match[2].zfill(width)


def _digits_of_span(events: bytes) -> int:
    """Digits of the microseconds from one copy to the next: a power of ten above what the trace spans."""
    times = [time for match in _TS.finditer(events) if (time := int(match[2]))]
    longest = max((int(match[2]) for match in _DUR.finditer(events)), default=0)
    return len(str(max(times, default=0) - min(times, default=0) + longest + 1))


def _mark_times(events: bytes, low_digits: int) -> Template:
    marks: dict[int, bytes] = {}

    def mark(match: re.Match[bytes]) -> bytes:
        high, low = divmod(int(match[2]), 10**low_digits)
        if not (high or low):
            return match[0]
        place = marks.setdefault(high, _MARK + bytes([len(marks) + 1]))
        return match[1] + place + b"%0*d" % (low_digits, low)

    marked = _TS.sub(mark, events)
    return Template(marked, {place: high for high, place in marks.items()})


def compressed_size(path: Path, level: int = 9) -> int:
    """Bytes of a file after gzip; level 9 is what PyTorch's export_chrome_trace writes. Nothing is stored."""
    count = _Count()
    with gzip.GzipFile(fileobj=count, mode="wb", compresslevel=level) as packed:
        for chunk in _chunks(path):
            packed.write(chunk)
    return count.size


class _Count:
    """A file that only counts what is written to it."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: bytes) -> int:
        """Count the bytes."""
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="trace, .json or .json.gz, an object or an array")
    parser.add_argument(
        "target_mb", type=float, help="size to reach, in MB of 10^6 bytes; at least one copy is written"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="file to write, not compressed")
    parser.add_argument("--new-names", action="store_true", help="operators and kernels of each copy have other names")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    copies = grow(arguments.source, int(arguments.target_mb * 1e6), arguments.output, new_names=arguments.new_names)
    seconds, size = time.perf_counter() - begin, arguments.output.stat().st_size
    tell(f"{arguments.output}: {copies} copies, {megabytes(size)} at {size / seconds / 1e6:.0f} MB/s")


if __name__ == "__main__":
    main()
