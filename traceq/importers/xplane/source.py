"""Recognising an XSpace, which has no magic number, by its first plane; and opening it."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, GZIP, GzipStream
from traceq.importers.xplane.wire import Damaged, Span, fields, text

_SNIFF_BYTES = 4096
_CHUNK = 1 << 22
_PLANE, _PLANE_NAME = 1, 2

_PLANE_NAMES = re.compile(r"/(host|device):[\w:. #/-]+|Task Environment")


def sniff(path: Path) -> bool:
    """Whether the file is an XSpace, plain or gzip'd: its first plane has one of the names that planes have."""
    with path.open("rb") as file:
        head = file.read(_SNIFF_BYTES)
        if head.startswith(GZIP):
            file.seek(0)
            try:
                head = GzipStream(file).read(_SNIFF_BYTES)
            except DAMAGED:
                return False
    return _PLANE_NAMES.fullmatch(_first_name(head)) is not None


def _first_name(head: bytes) -> str:
    """The name of the first plane, of which the beginning is enough; empty where there is none."""
    try:
        number, _, plane = next(fields(head, (0, len(head)), is_cut=True))
        if number == _PLANE:
            for inner, _, part in fields(head, plane, is_cut=True):
                if inner == _PLANE_NAME:
                    return text(head, part)
    except (Damaged, StopIteration):
        pass
    return ""


@contextmanager
def opened(path: Path) -> Iterator[tuple[bytes | mmap.mmap, Span]]:
    """The bytes of the space and where they are; of a plain file only the pages that are read are in memory."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        if packed:
            stream = GzipStream(file)
            try:
                data = b"".join(iter(lambda: stream.read(_CHUNK), b""))
            except DAMAGED as error:
                raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again") from error
            yield data, (0, len(data))
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            yield mapped, (0, len(mapped))
