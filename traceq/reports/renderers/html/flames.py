"""A flame graph for blocks.html: its data for flame.js, and a table for who has no script."""

from __future__ import annotations

from traceq.common.text import printable, shortened
from traceq.common.units import count, duration, share
from traceq.reports.charts.palette import COLOURS, css_variable
from traceq.reports.document import Name, Table, make_table
from traceq.reports.flame import FlameGraph, find_hottest
from traceq.reports.renderers.html.packed import pack
from traceq.reports.renderers.html.tracks import kind_in_words, name_in_words

_NAME_LIMIT = 120
_ROWS = 10
# Kinds of frames that no slice has look like some that slices have.
_LOOKS = {"module": "annotation"}


def flame_data(flame: FlameGraph) -> str:
    """Return the flame graph as packed text for flame.js (see pack())."""
    names = list(dict.fromkeys((name_in_words(frame), frame.kind) for frame in flame.frames))
    number = {name: place for place, name in enumerate(names)}
    kinds = list(dict.fromkeys(kind for _, kind in names))
    head = {
        "names": [printable(shortened(name, _NAME_LIMIT)) for name, _ in names],
        "kindOf": [kinds.index(kind) for _, kind in names],
        "kinds": [[css_variable(_LOOKS.get(kind, kind)), kind_in_words(kind), kind] for kind in kinds],
        "least": share(flame.least_share),
    }
    columns = {
        "parent": [frame.parent for frame in flame.frames],
        "called": [number[name_in_words(frame), frame.kind] for frame in flame.frames],
        "count": [frame.count for frame in flame.frames],
        "host": [frame.host_ns for frame in flame.frames],
        "gpu": [frame.gpu_ns for frame in flame.frames],
    }
    return pack(head, columns, frozenset(("parent",)))


def flame_legend(flame: FlameGraph) -> list[tuple[str, str]]:
    """Return (kind that names the colour, names of the kinds of frames in it) for every colour of the flame graph."""
    words: dict[str, list[str]] = {}
    for kind in dict.fromkeys(frame.kind for frame in flame.frames):
        words.setdefault(look if (look := _LOOKS.get(kind, kind)) in COLOURS else "other", []).append(
            kind_in_words(kind)
        )
    return [(kind, ", ".join(names)) for kind, names in words.items()]


def hottest_frames(flame: FlameGraph) -> Table:
    """Return a table of the frames' names with the most own host time in the flame graph, the most first."""
    total = flame.frames[0].host_ns
    columns = {
        "frame": lambda frame: Name(frame.name),
        "kind": lambda frame: kind_in_words(frame.kind),
        "calls": lambda frame: count(frame.count),
        "own host time": lambda frame: duration(frame.self_ns),
        "share": lambda frame: share(frame.self_ns / total),
        "with all inside": lambda frame: duration(frame.host_ns),
        "GPU time launched": lambda frame: duration(frame.gpu_ns) if frame.gpu_ns else "-",
    }
    return make_table(find_hottest(flame, _ROWS), columns, text=(0, 1))
