"""What blocks.html shows of a flame graph: its data for flame.js, and a table for who has no script."""

from __future__ import annotations

from traceq.common.text import printable, shortened
from traceq.common.units import count, duration, share
from traceq.reports.charts.palette import COLOURS, variable
from traceq.reports.document import Name, Table, make_table
from traceq.reports.flame import Flame, find_hottest
from traceq.reports.renderers.html.packed import packed
from traceq.reports.renderers.html.tracks import called_in_words, kind_in_words

_NAME_LIMIT = 120
_ROWS = 10
# Kinds of frames that no slice has look like some that slices have.
_LOOKS = {"module": "annotation"}


def data(flame: Flame) -> str:
    """The frames for flame.js."""
    called = list(dict.fromkeys((called_in_words(frame), frame.kind) for frame in flame.frames))
    number = {each: place for place, each in enumerate(called)}
    kinds = list(dict.fromkeys(kind for _, kind in called))
    head = {
        "names": [printable(shortened(name, _NAME_LIMIT)) for name, _ in called],
        "kindOf": [kinds.index(kind) for _, kind in called],
        "kinds": [[variable(_looks(kind)), kind_in_words(kind), kind] for kind in kinds],
        "least": share(flame.least_share),
    }
    columns = {
        "parent": [frame.parent for frame in flame.frames],
        "called": [number[called_in_words(frame), frame.kind] for frame in flame.frames],
        "count": [frame.count for frame in flame.frames],
        "host": [frame.host_ns for frame in flame.frames],
        "gpu": [frame.gpu_ns for frame in flame.frames],
    }
    return packed(head, columns, frozenset(("parent",)))


def _looks(kind: str) -> str:
    return _LOOKS.get(kind, kind)


def legend(flame: Flame) -> list[tuple[str, str]]:
    """Every colour that is drawn, and what it stands for."""
    words: dict[str, list[str]] = {}
    for kind in dict.fromkeys(frame.kind for frame in flame.frames):
        words.setdefault(_looks(kind) if _looks(kind) in COLOURS else "other", []).append(kind_in_words(kind))
    return [(kind, ", ".join(each)) for kind, each in words.items()]


def table_of(flame: Flame) -> Table:
    """The names with most time of their own."""
    total = flame.frames[0].host_ns
    columns = {
        "frame": lambda each: Name(each.name),
        "kind": lambda each: kind_in_words(each.kind),
        "calls": lambda each: count(each.count),
        "own host time": lambda each: duration(each.self_ns),
        "share": lambda each: share(each.self_ns / total),
        "with all inside": lambda each: duration(each.host_ns),
        "GPU time launched": lambda each: duration(each.gpu_ns) if each.gpu_ns else "-",
    }
    return make_table(find_hottest(flame, _ROWS), columns, text=(0, 1))
