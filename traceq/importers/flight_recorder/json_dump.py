"""Dumps in JSON; PyTorch writes no stacks into them."""

from __future__ import annotations

from typing import Any

import msgspec

from traceq.importers.flight_recorder.entries import EntryRows, make_frame
from traceq.importers.pickled import Malformed


def read_json(content: bytes, entries: EntryRows) -> dict[str, Any]:
    """Add the rows of a dump's entries to `entries`; return the rest of the dump. Raises Malformed."""
    try:
        whole = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"it is no whole JSON ({error}); copy it again") from None
    if not isinstance(whole, dict):
        raise Malformed("it is no JSON object")
    listed = whole.pop("entries", [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise Malformed("'entries' is no list of objects")
    for entry in listed:
        frames = entry.get("frames")
        if isinstance(frames, list) and all(isinstance(frame, dict) for frame in frames):
            entry["frames"] = tuple(make_frame(frame) for frame in frames)
        entries.add_entry(entry)
    return whole
