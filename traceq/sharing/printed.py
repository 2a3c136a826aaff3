"""Carry the values that a run printed over to a part of its trace, or to one without names: they are numbers only."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from traceq.common.files import atomic_write
from traceq.formats.made_with import path_beside, size_of_content
from traceq.formats.printed import SUFFIX, VERSION, values_of
from traceq.loading.printed import read_printed, window_of


def carry_printed(trace: Path, made: Path) -> None:
    """Write a file of printed values beside the file `made`, with those known to be harmless from the one beside `trace`.

    Without such a file nothing is written; an old one beside `made` is deleted. If both have the same, nothing is done.
    """
    target = path_beside(made, SUFFIX)
    if target == path_beside(trace, SUFFIX):
        return
    target.unlink(missing_ok=True)
    with suppress(ValueError, OSError):
        content = read_printed(trace)
        size = size_of_content(made)
        kept = {
            "traceq_printed": VERSION,
            **({} if size is None else {"trace_bytes": size}),
            "window_ns": window_of(content),
            "values": list(values_of(content)),
        }
        with atomic_write(target) as file:
            file.write(json.dumps(kept).encode() + b"\n")
