"""Rows of a piece of a trace, before the whole file tells what its threads are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from traceq.importers.chrome.host import RangeEnd
from traceq.importers.rows import Batches

Track = tuple[Any, Any]


@dataclass
class BlockRows:
    """Rows of a block: batches per table, the tracks their thread_id points into, and what needs the whole file.

    Slice ids are numbers of events within the block, thread ids are numbers into `tracks`; `reading` shifts both. A track comes
    with the number of its first event.
    """

    events: int
    batches: Batches = field(default_factory=list)
    tracks: dict[Track, int] = field(default_factory=dict)
    metadata: list[tuple[str, Track, Any]] = field(default_factory=list)
    ranges: list[RangeEnd] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    _numbers: dict[Track, int] = field(default_factory=dict)

    def number(self, track: Track, first: int) -> int:
        """Return the number of a track of which an event has the number `first`."""
        self.tracks[track] = min(first, self.tracks.get(track, first))
        return self._numbers.setdefault(track, len(self._numbers))
