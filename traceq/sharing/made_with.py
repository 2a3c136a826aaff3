"""Carry the snapshot of a run (made_with) over to a part of its trace, or to one without names: they are of the same run."""

from __future__ import annotations

import json
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from traceq.common.files import atomic_write
from traceq.formats.made_with import VERSION, path_beside, size_of_content
from traceq.loading.made_with import facts_of, read

# A checksum of the command line tells nobody what it was, but that two runs had the same.
TELLING = frozenset(("command_line",))


def carry(trace: Path, made: Path, without: Container[str] = ()) -> None:
    """Write an environment snapshot beside the file `made`, with the harmless facts of the snapshot beside `trace`.

    Facts whose names are in `without` are left out. Without a snapshot nothing is written; an old snapshot beside `made`
    is deleted. If both files have the same snapshot, nothing is done.
    """
    target = path_beside(made)
    if target == path_beside(trace):
        return
    target.unlink(missing_ok=True)
    topics: dict[str, dict[int, dict[str, str]]] = {}
    with suppress(ValueError, OSError):
        for fact in facts_of(read(trace)):
            if fact.name not in without:
                topics.setdefault(fact.topic, {}).setdefault(fact.instance, {})[fact.name] = fact.value
    if topics:
        size = size_of_content(made)
        content = {
            "traceq_made_with": VERSION,
            **({} if size is None else {"trace_bytes": size}),
            **{topic: list(things.values()) for topic, things in topics.items()},
        }
        with atomic_write(target) as file:
            file.write(json.dumps(content, indent=1).encode() + b"\n")
